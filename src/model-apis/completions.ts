/**
 * Reads the result of a model call: a completion of OpenAI's chat API, a message of Anthropic, or a result of the AI SDK.
 */
import { isRecord } from '../lib/is-record.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import { toLedger, type SdkMessage } from './ai-sdk-messages.js'
import { anthropicMessages } from './anthropic-messages.js'
import { contentText, usageOf, type Answer } from './api.js'
import { chatCompletions } from './chat-completions.js'
import { fieldsOf, listOf, numberOf, textOf, type Fields } from './json.js'

/** A completion of OpenAI's chat API, not streamed. */
export interface OpenAiCompletion {
  /** The answers. The first one is recorded as the message. */
  readonly choices: readonly { readonly message: object }[]
}

/** A message of Anthropic's API, not streamed. */
export interface AnthropicMessage {
  /** Always `message`. */
  readonly type: 'message'
  /** The blocks of the answer. */
  readonly content: readonly object[]
}

/** A result of the AI SDK: of `generateText`, or of `streamText`, whose end is then awaited. */
export interface AiSdkResult {
  /** The model calls, each with its messages and token usage. */
  readonly steps: readonly object[] | PromiseLike<readonly object[]>
}

/** The result of a model call in one of three APIs. */
export type Completion = OpenAiCompletion | AnthropicMessage | AiSdkResult

/** A call of a tool. */
export interface RequestedCall {
  /** The id that the result names. */
  readonly id: string
  /** The name of the tool. */
  readonly name: string
  /** The arguments as the model wrote them: JSON, or the text of a custom tool. */
  readonly arguments: string
  /** If true, the arguments are the text of a custom tool, not JSON. */
  readonly isText: boolean
}

/** The messages of a completion, the answer first. */
export interface CompletionMessages {
  readonly messages: readonly MessageInput[]
  /** The error that the API sent instead of an answer. */
  readonly error?: unknown
}

function messagesOfAnswer({ message, model, responseId, finish, usage, error }: Answer): CompletionMessages {
  if (message === undefined) return { messages: [], error }
  const attributes = withoutUndefined({ model, responseId, finishReason: finish, usage })
  return { messages: [{ ...message, attributes: { ...message.attributes, ...attributes } }] }
}

/** The usage of a step with the field names of the ledger. */
function usageOfStep(value: unknown): Fields | undefined {
  const { inputTokens, outputTokens, inputTokenDetails, outputTokenDetails } = fieldsOf(value)
  const input = fieldsOf(inputTokenDetails)
  return usageOf(
    numberOf(inputTokens),
    numberOf(outputTokens),
    numberOf(input['cacheReadTokens']),
    numberOf(input['cacheWriteTokens']),
    numberOf(fieldsOf(outputTokenDetails)['reasoningTokens']),
  )
}

/** The messages of a step of the AI SDK: the answer with its attributes, and the results of tools that the SDK ran. */
export function messagesOfStep(step: unknown): MessageInput[] {
  const { model, finishReason, usage, response } = fieldsOf(step)
  const { id, messages } = fieldsOf(response)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the messages of a result of the AI SDK
  const [first, ...rest] = (listOf(messages) as readonly SdkMessage[]).flatMap(toLedger)
  if (first === undefined) return []
  if (first.role !== 'assistant') return [first, ...rest]
  const attributes = withoutUndefined({
    model: textOf(fieldsOf(model)['modelId']),
    responseId: textOf(id),
    finishReason: textOf(finishReason),
    usage: usageOfStep(usage),
  })
  return [{ ...first, attributes }, ...rest]
}

/** Reads a completion; undefined if the value is not one of the three APIs. */
export async function readCompletion(completion: unknown): Promise<CompletionMessages | undefined> {
  if (!isRecord(completion)) return undefined
  if (Array.isArray(completion['choices'])) return messagesOfAnswer(chatCompletions.readAnswer(completion))
  if (completion['type'] === 'message' && Array.isArray(completion['content']))
    return messagesOfAnswer(anthropicMessages.readAnswer(completion))
  if ('steps' in completion) return { messages: listOf(await completion['steps']).flatMap(messagesOfStep) }
  // Compatible servers send an error with the status of a success.
  return 'error' in completion ? { messages: [], error: completion['error'] } : undefined
}

/** The calls in these messages that none of them answers. */
export function openCalls(messages: readonly MessageInput[]): RequestedCall[] {
  const answered = new Set(messages.map(({ tool_call_id: id }) => id))
  return messages
    .flatMap(({ tool_calls: calls }) => calls ?? [])
    .filter(({ id }) => !answered.has(id))
    .map((call) => ({
      id: call.id,
      name: call.function?.name ?? call.custom?.name ?? '',
      arguments: call.function?.arguments ?? call.custom?.input ?? '',
      isText: call.function === undefined,
    }))
}

/** The text of the answers in these messages. */
export const answerText = (messages: readonly MessageInput[]): string =>
  messages
    .filter(({ role }) => role === 'assistant')
    .map(({ content }) => contentText(content))
    .filter((text) => text !== '')
    .join('\n')
