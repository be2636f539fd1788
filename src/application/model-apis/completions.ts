/**
 * Reads the result of a model call: a completion of OpenAI's chat API, a response of its Responses API, a message of
 * Anthropic, a stream of one of these, or a result of the AI SDK.
 */
import { isRecord } from '../../lib/is-record.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { MessageInput } from '../../domain/values/chat-message.js'
import { toLedger, type SdkMessage } from './ai-sdk-messages.js'
import { anthropicMessages } from './anthropic-messages.js'
import { contentText, usageOf, type Answer, type Api } from './api.js'
import { chatCompletions } from './chat-completions.js'
import { fieldsOf, listOf, numberOf, parseJson, textOf, type Fields } from './json.js'
import { openaiResponses } from './openai-responses.js'

/** A completion of OpenAI's chat API, not streamed. */
export interface OpenAiCompletion {
  /** The answers. The first one is recorded as the message. */
  readonly choices: readonly { readonly message: object }[]
}

/** A response of OpenAI's Responses API, not streamed. */
export interface OpenAiResponse {
  /** Always `response`. */
  readonly object: 'response'
  /** The items of the answer. They are recorded as one message. */
  readonly output: readonly object[]
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

/**
 * A stream of one of these APIs: what `create({ stream: true })` of its client returns, which is read to its end, or what
 * `stream()` returns: then its final completion is awaited.
 */
export type CompletionStream =
  | AsyncIterable<object>
  | { finalChatCompletion(): PromiseLike<OpenAiCompletion> }
  | { finalResponse(): PromiseLike<OpenAiResponse> }
  | { finalMessage(): PromiseLike<AnthropicMessage> }

/** The result of a model call. */
export type Completion = OpenAiCompletion | OpenAiResponse | AnthropicMessage | AiSdkResult | CompletionStream

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

/** The messages of an answer. Throws if it ended early. */
function messagesOfWhole(answer: Answer): CompletionMessages {
  if (answer.isComplete) return messagesOfAnswer(answer)
  if (answer.error !== undefined) return { messages: [], error: answer.error }
  throw new Error(`it is not complete${answer.finish === undefined ? '' : ` (${answer.finish})`}`)
}

/** The API of a chunk of a stream. */
function apiOfChunk(chunk: unknown): Api | undefined {
  const { choices, type } = fieldsOf(chunk)
  if (Array.isArray(choices)) return chatCompletions
  if (typeof type !== 'string') return undefined
  return type.startsWith('response.') ? openaiResponses : anthropicMessages
}

/** Reads a stream to its end; undefined if the API of its first chunk is unknown. */
async function readStream(chunks: AsyncIterable<unknown>): Promise<CompletionMessages | undefined> {
  let reader: ReturnType<Api['createAnswerReader']> | undefined
  for await (const chunk of chunks) {
    reader ??= apiOfChunk(chunk)?.createAnswerReader()
    if (reader === undefined) return undefined
    reader.take({ event: 'message', data: JSON.stringify(chunk) })
  }
  if (reader === undefined) throw new Error('the stream has no chunks, or was read before')
  // The clients of the providers remove this line.
  reader.take({ event: 'message', data: '[DONE]' })
  return messagesOfWhole(reader.answer())
}

/** Fields that the streams of OpenAI's client add to a completion. */
const ADDED_BY_CLIENT = new Set(['parsed', 'parsed_arguments', 'output_parsed'])

const asProvided = (completion: unknown): unknown =>
  parseJson(JSON.stringify(completion, (key, value: unknown) => (ADDED_BY_CLIENT.has(key) ? undefined : value)))

/** The final completion of a client's stream. The first method that a stream has is the one of its API. */
async function finalCompletion(stream: Fields): Promise<unknown> {
  const { finalChatCompletion, finalResponse, finalMessage } = stream
  for (const final of [finalChatCompletion, finalResponse])
    if (typeof final === 'function') return asProvided(await final.call(stream))
  return typeof finalMessage === 'function' ? await finalMessage.call(stream) : undefined
}

const isAsyncIterable = (value: object): value is AsyncIterable<unknown> => Symbol.asyncIterator in value

/** Reads a completion; undefined if the API of the value is unknown. */
export async function readCompletion(completion: unknown): Promise<CompletionMessages | undefined> {
  if (!isRecord(completion)) return undefined
  if (Array.isArray(completion['choices'])) return messagesOfAnswer(chatCompletions.readAnswer(completion))
  if (completion['object'] === 'response') return messagesOfWhole(openaiResponses.readAnswer(completion))
  if (completion['type'] === 'message' && Array.isArray(completion['content']))
    return messagesOfAnswer(anthropicMessages.readAnswer(completion))
  const final = await finalCompletion(completion)
  if (final !== undefined) return await readCompletion(final)
  if ('steps' in completion) return { messages: listOf(await completion['steps']).flatMap(messagesOfStep) }
  if (isAsyncIterable(completion)) return await readStream(completion)
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
