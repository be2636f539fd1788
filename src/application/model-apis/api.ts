/**
 * The interface to an API: it reads requests and answers into messages of the ledger, and writes a context of the ledger
 * as a request. Each file in `apis/` implements one API; no other module depends on the fields of an API.
 */
import { isRecord } from '../../lib/is-record.js'
import { hash } from 'node:crypto'
import { recordable } from '../../lib/json.js'
import type { SentEvent } from '../../domain/text/sent-events.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { foreignMessage } from '../../domain/values/foreign-messages.js'
import type { ChatMessage, IdentityInput, MessageInput } from '../../domain/values/message.js'
import { parseMessage } from '../../domain/values/parse-message.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { fieldsOf, jsonText, listOf, numberOf, parseJson, textOf, withoutFields, type Fields } from './json.js'

/** A message of a request in the ledger's form, with the elements of the request that it was read from. */
export interface SourceMessage {
  /** In the ledger's form, without an id. */
  readonly input: MessageInput
  /** Identifies the message in later requests: it is the same for every way to write the message. */
  readonly hash: string
  /** The elements of the request, unchanged. */
  readonly raw: readonly unknown[]
  /** The message replaces messages that a provider compacted, in a form that only the provider can read. */
  readonly isCompaction?: true
  /** The client wrote the text of this result as the only part of a list. The ledger records the text alone. */
  readonly isInParts?: boolean | undefined
  /** The recorded message, if the client cleared it in this list. `hash` is that of the recorded message. */
  readonly clearedFrom?: ClearableMessage | undefined
}

/** A recorded message. Clients clear tool results, and the arguments in answers that call tools. */
export interface ClearableMessage {
  /** Id of the recorded message; undefined for the text of a client's own compaction. */
  readonly id: string | undefined
  /** Does not change when a client clears the message. Undefined for a message that clients do not clear. */
  readonly outline: string | undefined
  /** Characters of the content of a result, or of the arguments of an answer's calls. */
  readonly size: number
  /** As in `Said`; undefined if it was read from the ledger, which does not record this. */
  readonly isInParts: boolean | undefined
}

/** The history that upstream stores. The request then contains only new messages. */
export interface UpstreamHistory {
  readonly kind: 'response' | 'conversation' | 'reference'
  readonly id: string
}

/** A model request. */
export interface ProxyRequest {
  /** Instructions before the conversation, wherever the API has them. */
  readonly instructions: readonly SourceMessage[]
  /** The conversation. */
  readonly messages: readonly SourceMessage[]
  readonly model: string | undefined
  readonly tools: readonly unknown[]
  /** The maximum number of tokens of the answer, if the request sets one. */
  readonly maxTokens: number | undefined
  /** All other fields of the request: temperature, reasoning, formats. */
  readonly parameters: Fields
  readonly upstreamHistory: UpstreamHistory | undefined
}

/** The answer to a request. */
export interface Answer {
  /** Undefined if the model sent nothing. */
  readonly message: MessageInput | undefined
  /** The elements of the answer in its API: a message, blocks, items. */
  readonly raw: readonly unknown[]
  /** Elements in which the provider compacted the conversation. They are no part of the message. */
  readonly compactions?: readonly unknown[]
  /** The answer is complete: the stream was not cut off. */
  readonly isComplete: boolean
  readonly responseId: string | undefined
  readonly model: string | undefined
  readonly usage: Fields | undefined
  readonly finish: string | undefined
  /** The error that upstream sent instead of an answer, or within one. */
  readonly error: unknown
}

/** Reads a streamed answer from its events. */
export interface AnswerReader {
  take(event: SentEvent): void
  /** The answer so far. */
  answer(): Answer
}

/** A message that goes upstream: as the client sent it, or as the ledger's context has it. */
export interface OutgoingMessage {
  readonly chat: ChatMessage
  /** The message of the client's list; undefined for one that only the context has (the view, a placeholder). */
  readonly source: SourceMessage | undefined
  /** The message is sent as the client wrote it: not shortened, joined or marked. */
  readonly isUnchanged: boolean
}

/** A tool call that the proxy runs. */
export interface AnsweredCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** An API of a model provider. */
export interface Api {
  readonly name: 'chat-completions' | 'messages' | 'responses'
  /** Whether the request has a separate field for instructions. */
  readonly hasSeparateInstructions: boolean
  /** Whether a POST to this path is a model request. */
  matches(path: string): boolean
  /** Undefined if the body is not a request of this API: upstream then returns the error. */
  readRequest(body: Fields): ProxyRequest | undefined
  /** Reads an answer that was not streamed. */
  readAnswer(body: unknown): Answer
  /** Creates a reader for a streamed answer. */
  createAnswerReader(): AnswerReader
  /** The request with these messages instead of its own. Its other fields do not change. */
  writeRequest(body: Fields, outgoing: readonly OutgoingMessage[]): Fields
  /** The request with an additional tool. */
  withTool(
    body: Fields,
    tool: { readonly name: string; readonly description: string; readonly parameters: Fields },
  ): Fields
  /** The request that follows an answer whose calls the proxy ran. */
  withToolResults(
    body: Fields,
    answer: Answer,
    results: readonly { readonly call: AnsweredCall; readonly text: string }[],
  ): Fields
  /** The body of an error of the proxy in the format of this API. */
  errorBody(message: string, kind: string): Fields
}

/** Fields with a meaning in the ledger. A provider's field of the same name is recorded in `as_sent`. */
const LEDGER_FIELDS = new Set(['id', 'pinned', 'attributes', 'answers', 'created_at', 'kind', 'is_error'])

/**
 * A message in the ledger's form.
 * @param unknown fields that the ledger does not define: they are recorded unchanged
 */
export function toLedgerMessage(known: MessageInput, unknown: Fields = {}): MessageInput {
  return mergeUnknownFields(recordable(known), recordable(unknown))
}

function mergeUnknownFields(known: MessageInput, unknown: Fields): MessageInput {
  const names = Object.keys(unknown)
  // Each request is read completely, so only messages with unknown fields are validated.
  if (names.length === 0) return known
  const fields = { ...known, ...unknown, ...known }
  // If a field could be mistaken for one of the ledger's, all unknown fields are recorded together in `as_sent`.
  const isPlain =
    !names.some((name) => LEDGER_FIELDS.has(name) || name in known) && parseMessage(fields)._tag === 'Right'
  return isPlain ? fields : ({ ...known, as_sent: unknown } as MessageInput)
}

/** A content part for the ledger. A part that the ledger would misread is wrapped. */
export function toLedgerPart(part: unknown): { readonly type: string; readonly [field: string]: unknown } {
  const type = isRecord(part) ? textOf(part['type']) : undefined
  if (!isRecord(part) || type === undefined || isTooDeep(part, MAX_LEVELS - 2))
    return { type: 'as_sent', as_sent: isTooDeep(part, MAX_LEVELS - 2) ? '[nested too deep]' : part }
  return foreignMessage({ content: [part] }) === undefined ? { ...part, type } : { type: 'as_sent', as_sent: part }
}

/** The types of reasoning parts. They are not hashed, since a client may send them back or omit them. */
const REASONING = new Set(['thinking', 'redacted_thinking', 'reasoning', 'reasoning_text'])

/**
 * A header that Claude Code writes into its instructions. It identifies the program to the provider, changes with each
 * run, and has no meaning for the model.
 */
const BILLING_HEADER = 'x-anthropic-billing-header:'

/** A value with the keys of its objects in one order: a client may read a value and write it again in another one. */
function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder)
  if (!isRecord(value)) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, field]) => [name, inKeyOrder(field)]))
}

const normalValue = (value: unknown): unknown => (isTooDeep(value, MAX_LEVELS) ? value : inKeyOrder(value))

/** A provider's compaction is identified by its content: a client may omit its other fields. */
const OTHER_FIELDS_OF_COMPACTION = new Set(['id', 'status', 'created_by', 'cache_control'])
const CACHE_MARK = new Set(['cache_control'])

function normalPart(part: unknown): unknown {
  const fields = fieldsOf(part)
  const text = textOf(fields['text'])
  if (text !== undefined && (textOf(fields['type']) ?? '').includes('text')) return text
  const element = fieldsOf(fields['as_sent'])
  if (isCompactionElement(element)) return normalValue(withoutFields(element, OTHER_FIELDS_OF_COMPACTION))
  return normalValue(withoutFields(fields, CACHE_MARK))
}

/** A part that a program adds to a message of the user. Qwen Code writes others into the same message later. */
const REMINDER = /^\s*<system-reminder>[^]*<\/system-reminder>\s*$/u

function normalContent(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  const parts = listOf(content)
    .filter((part) => !REASONING.has(textOf(fieldsOf(part)['type']) ?? ''))
    .map(normalPart)
    .filter((part) => part !== '' && !(typeof part === 'string' && part.startsWith(BILLING_HEADER)))
  const withoutReminders = parts.filter((part) => !(typeof part === 'string' && REMINDER.test(part)))
  return withoutReminders.length === 0 ? parts : withoutReminders
}

/** Characters of the texts by which a content is identified. */
export const comparedLength = (content: unknown): number =>
  normalContent(content).reduce<number>((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0)

function normalCall(call: unknown): unknown {
  const { id, function: named, custom } = fieldsOf(call)
  const { name, arguments: text } = fieldsOf(named)
  return { id, name, custom, arguments: normalValue(parseJson(textOf(text) ?? '') ?? text) }
}

/** The fields that identify a message, in the names of the hash: ids derive from it, so names and order stay. */
type Hashed = Readonly<Record<Exclude<IdentityInput, 'tool_calls'> | 'calls', unknown>>

/**
 * The hash that identifies a message in later requests. It does not depend on whether a text is a string or a part, on
 * spaces in arguments, on the order of keys, on reasoning, on reminders of a program in the message of the user, or on
 * prompt cache marks.
 */
export function messageHash({ role, content, tool_calls, tool_call_id, name }: Fields): string {
  const normal: Hashed = {
    role: role === 'developer' ? 'system' : role,
    name,
    content: normalContent(content),
    calls: listOf(tool_calls).map(normalCall),
    tool_call_id,
  }
  return hash('sha256', jsonText(normal), 'base64url').slice(0, 24)
}

/** Redacts a value as the ledger does before it records it. */
export type Redact = <Value>(value: Value) => Value

/** A message with the hash of its recorded form. */
export function asRecorded(message: SourceMessage, redact: Redact): SourceMessage {
  const redacted = redact(message.input)
  return redacted === message.input ? message : { ...message, hash: messageHash({ ...redacted }) }
}

/** A message with its hash. */
export const sourceMessage = (input: MessageInput, raw: readonly unknown[]): SourceMessage => ({
  input,
  raw,
  hash: messageHash({ ...input }),
})

/** A provider's compaction of the messages before it, as a message of its own. */
export const compactionMessage = (element: unknown): SourceMessage => ({
  ...sourceMessage(toLedgerMessage({ role: 'user', content: contentOf([{ type: 'as_sent', as_sent: element }]) }), [
    element,
  ]),
  isCompaction: true,
})

/** Whether an element of an answer is a provider's compaction. */
export const isCompactionElement = (element: unknown): boolean => fieldsOf(element)['type'] === 'compaction'

/**
 * Turns tool results without an open call in the list into user messages: a result must follow its call, and each call
 * has one result.
 */
export function withUnmatchedResultsAsText(messages: readonly SourceMessage[]): SourceMessage[] {
  const open = new Set<string>()
  return messages.map((message) => {
    const { input } = message
    for (const call of listOf(input.tool_calls)) {
      const id = textOf(fieldsOf(call)['id'])
      if (id !== undefined) open.add(id)
    }
    if (input.role !== 'tool') return message
    const id = input.tool_call_id ?? ''
    if (open.delete(id)) return message
    const { tool_call_id: _id, ...rest } = input
    return sourceMessage(
      toLedgerMessage({ ...rest, role: 'user', content: input.content ?? '' }, { tool_result_for: id }),
      message.raw,
    )
  })
}

/** The calls as the field of a ledger message; no field if there are none. */
export const toolCallsField = (calls: readonly Fields[]): Pick<MessageInput, 'tool_calls'> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the callers have checked each call
  calls.length === 0 ? {} : { tool_calls: calls as unknown as NonNullable<MessageInput['tool_calls']> }

/** A tool result of a request, which may have its text as the only part of a list. */
export const sourceResult = (input: MessageInput, raw: Fields, content: unknown): SourceMessage => ({
  ...sourceMessage(input, [raw]),
  isInParts: Array.isArray(content) && typeof input.content === 'string',
})

/** Splits a list into its leading instructions and the other messages. */
export function splitInstructions(list: readonly SourceMessage[]): Pick<ProxyRequest, 'instructions' | 'messages'> {
  const first = list.findIndex(({ input: { role } }) => role !== 'system' && role !== 'developer')
  const leading = first === -1 ? list.length : first
  return { instructions: list.slice(0, leading), messages: list.slice(leading) }
}

/** The content of a message of a context as parts. */
export const chatParts = (content: ChatMessage['content'] | undefined): readonly unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)

/** The calls of a message of a context. */
export const chatCalls = (chat: ChatMessage): readonly Fields[] =>
  listOf('tool_calls' in chat ? chat.tool_calls : undefined).map(fieldsOf)

/** The body of an error of the proxy in OpenAI's format. */
export const openaiErrorBody = (message: string, kind: string): Fields => ({
  error: { message, type: 'context_ledger_error', param: null, code: kind },
})

/** Content as a string if it is a single text part without other fields. */
export function contentOf(parts: readonly unknown[]): MessageInput['content'] {
  const [only] = parts
  if (parts.length === 0) return ''
  if (parts.length === 1 && isRecord(only) && only['type'] === 'text' && Object.keys(only).length === 2) {
    const text = textOf(only['text'])
    if (text !== undefined) return text
  }
  return parts.map(toLedgerPart)
}

/** The text of a content, to search it for a summary. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(fieldsOf(part)['text']) ?? '')
    .join('\n')
}

/** Token usage with the field names of the ledger. */
export const usageOf = (
  input: number | undefined,
  output: number | undefined,
  cacheRead: number | undefined,
  cacheWrite: number | undefined,
  reasoning: number | undefined,
): Fields | undefined => {
  const usage = withoutUndefined({
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
  })
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Token usage as OpenAI reports it; its two APIs name the fields differently. */
export function openAiUsage(
  value: unknown,
  input: 'prompt' | 'input',
  output: 'completion' | 'output',
): Fields | undefined {
  if (!isRecord(value)) return undefined
  return usageOf(
    numberOf(value[`${input}_tokens`]),
    numberOf(value[`${output}_tokens`]),
    numberOf(fieldsOf(value[`${input}_tokens_details`])['cached_tokens']),
    undefined,
    numberOf(fieldsOf(value[`${output}_tokens_details`])['reasoning_tokens']),
  )
}

/** The function calls of an answer. */
export const callsOf = ({ message }: Answer): AnsweredCall[] =>
  listOf(message?.tool_calls).flatMap((call) => {
    const { id, function: named } = fieldsOf(call)
    const { name, arguments: args } = fieldsOf(named)
    return typeof id === 'string' && typeof name === 'string' ? [{ id, name, arguments: textOf(args) ?? '' }] : []
  })
