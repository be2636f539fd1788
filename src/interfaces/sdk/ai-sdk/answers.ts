/** Converts a model's answer to a message, complete or streamed. */
import type { LanguageModelMiddleware } from 'ai'
import type { MessageInput } from '../../../domain/values/chat-message.js'
import { inputOf, toLedger, type SdkPart } from '../../../application/model-apis/ai-sdk-messages.js'

type WrapGenerate = NonNullable<LanguageModelMiddleware['wrapGenerate']>
type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>
/** A complete answer of a model. */
export type Generated = Awaited<ReturnType<WrapGenerate>>
/** A streamed answer of a model. */
export type Streamed = Awaited<ReturnType<WrapStream>>
/** A part of a streamed answer. */
export type StreamPart = Streamed['stream'] extends ReadableStream<infer Part> ? Part : never

type Content = Generated['content'][number]

/** The attributes of a recorded answer. */
export interface AnswerMetadata {
  readonly model?: string | undefined
  readonly responseId?: string | undefined
  readonly finishReason?: string | undefined
  readonly usage?: Generated['usage'] | undefined
  /** The stream ended before the answer was complete. */
  readonly interrupted?: boolean | undefined
}

const definedFields = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))

/** Token usage with the field names of the ledger. */
function usageOf(usage: Generated['usage'] | undefined): Record<string, unknown> | undefined {
  if (usage === undefined) return undefined
  const { inputTokens, outputTokens } = usage
  const tokens = definedFields({
    inputTokens: inputTokens?.total,
    outputTokens: outputTokens?.total,
    cacheReadTokens: inputTokens?.cacheRead,
    cacheWriteTokens: inputTokens?.cacheWrite,
    reasoningTokens: outputTokens?.reasoning,
  })
  return Object.keys(tokens).length === 0 ? undefined : tokens
}

/** The prompt part for a part of an answer; undefined if there is none. */
function partOf(part: Content): SdkPart | undefined {
  const providerOptions = part.providerMetadata
  switch (part.type) {
    case 'source':
    case 'tool-approval-request':
      return undefined
    case 'text':
      return part.text === '' && providerOptions === undefined
        ? undefined
        : { type: 'text', text: part.text, providerOptions }
    case 'reasoning':
      return { type: 'reasoning', text: part.text, providerOptions }
    case 'custom':
      return { type: 'custom', kind: part.kind, providerOptions }
    case 'file':
    case 'reasoning-file':
      return { type: part.type, mediaType: part.mediaType, data: part.data, providerOptions }
    case 'tool-call':
      return {
        type: 'tool-call',
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        input: inputOf(part.input),
        providerExecuted: part.providerExecuted,
        providerOptions,
      }
    case 'tool-result': {
      const isText = typeof part.result === 'string'
      const type = part.isError === true ? 'error-json' : isText ? 'text' : 'json'
      return {
        type: 'tool-result',
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        output: { type, value: part.result },
        providerOptions,
      }
    }
  }
}

/** The message to record for an answer; undefined if the answer has no content. */
export function answerOf(
  content: readonly Content[],
  metadata: AnswerMetadata,
  answers: MessageInput['answers'],
): MessageInput | undefined {
  const parts = content.flatMap((part) => partOf(part) ?? [])
  const [message] = parts.length === 0 ? [] : toLedger({ role: 'assistant', content: parts })
  if (message === undefined) return undefined
  const attributes = definedFields({ ...metadata, usage: usageOf(metadata.usage) })
  return {
    ...message,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(answers === undefined ? {} : { answers }),
  }
}

/** Assembles an answer from the parts of its stream. */
export class StreamedAnswer {
  private readonly content: Content[] = []
  private readonly open = new Map<string, Extract<Content, { type: 'text' | 'reasoning' }>>()
  private metadata: AnswerMetadata = { interrupted: true }

  take(part: StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning'
        const content = {
          type,
          text: '',
          ...(part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata }),
        } as const
        this.content.push(content)
        this.open.set(`${type} ${part.id}`, content)
        return
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end': {
        const key = `${part.type.startsWith('text') ? 'text' : 'reasoning'} ${part.id}`
        const content = this.open.get(key)
        if (content === undefined) return
        if ('delta' in part) content.text += part.delta
        else this.open.delete(key)
        if (part.providerMetadata !== undefined) content.providerMetadata = part.providerMetadata
        return
      }
      case 'response-metadata':
        this.metadata = { ...this.metadata, model: part.modelId, responseId: part.id }
        return
      case 'finish':
        this.metadata = {
          ...this.metadata,
          finishReason: part.finishReason.unified,
          usage: part.usage,
          interrupted: undefined,
        }
        return
      case 'custom':
      case 'file':
      case 'reasoning-file':
      case 'tool-call':
        this.content.push(part)
        return
      case 'tool-result':
        if (part.preliminary !== true) this.content.push(part)
        return
      // Metadata parts, and deltas of a tool call that arrives complete later. Both are ignored.
      case 'error':
      case 'ping':
      case 'raw':
      case 'source':
      case 'stream-start':
      case 'tool-approval-request':
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
    }
  }

  /** The message of the answer so far. */
  answer(answers: MessageInput['answers']): MessageInput | undefined {
    return answerOf(this.content, this.metadata, answers)
  }
}
