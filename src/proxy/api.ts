/**
 * What the proxy knows of an API: how a request and an answer are read into messages of the ledger, and how a context
 * of the ledger is written as a request. A file an API under `apis/`; nobody else knows their words.
 */
import { hash } from 'node:crypto'
import { recordable } from '../domain/text/json.js'
import type { SentEvent } from '../domain/text/sent-events.js'
import { given } from '../domain/values/given.js'
import { foreignMessage } from '../domain/values/foreign-messages.js'
import { parseMessage, type ChatMessage, type MessageInput } from '../domain/values/message.js'
import { isTooDeep, MOST_LEVELS } from '../domain/values/nesting.js'
import { fieldsOf, isFields, jsonText, listOf, parseJson, textOf, type Fields } from './json.js'

/** A message of a request, in the ledger's form, with what it was made of. */
export interface Said {
  /** In the ledger's form, without an id. */
  readonly input: MessageInput
  /** By which it is known again: the same however its API lets a client write it. */
  readonly hash: string
  /** The elements of the request that say it, as they came. */
  readonly raw: readonly unknown[]
  /** It stands in the place of what a provider compacted, in a form that only the provider reads. */
  readonly isCompaction?: true
}

/** Where upstream keeps the history itself, and the request has only what is new. */
export interface HeldUpstream {
  readonly kind: 'response' | 'conversation' | 'reference'
  readonly id: string
}

/** A request, read. */
export interface Asked {
  /** Instructions in front of the conversation, wherever the API has them. */
  readonly instructions: readonly Said[]
  /** The conversation. */
  readonly messages: readonly Said[]
  readonly model: string | undefined
  readonly tools: readonly unknown[]
  /** The most that the answer may take, where the request says it. */
  readonly maxTokens: number | undefined
  /** Whatever else the request says: temperature, reasoning, formats. */
  readonly parameters: Fields
  readonly held: HeldUpstream | undefined
}

/** What came of a request. */
export interface Answer {
  /** Undefined where nothing came that a model said. */
  readonly message: MessageInput | undefined
  /** The elements of its API that say it: a message, blocks, items. */
  readonly raw: readonly unknown[]
  /** The model came to its end: nothing is missing. */
  readonly isComplete: boolean
  readonly responseId: string | undefined
  readonly model: string | undefined
  readonly usage: Fields | undefined
  readonly finish: string | undefined
  /** The error that came in the place of an answer, or in the middle of one. */
  readonly error: unknown
}

/** Reads an answer from its events. */
export interface AnswerReader {
  take(event: SentEvent): void
  /** What came so far. */
  answer(): Answer
}

/** A message of a context that goes upstream: as the client sent it, or as the ledger shows it. */
export interface Shown {
  readonly chat: ChatMessage
  /** The message of the client's list that it is; undefined for what is only shown (the view, a placeholder). */
  readonly said: Said | undefined
  /** It is shown as it is, and not shortened. */
  readonly isWhole: boolean
}

/** A tool call of an answer, as whoever answers it needs it. */
export interface CallMade {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** One API. */
export interface Api {
  readonly name: 'chat-completions' | 'messages' | 'responses'
  /** Whether a POST to this path asks a model for an answer. */
  matches(path: string): boolean
  /** Undefined where the body is none of this API; upstream says what is wrong with it. */
  read(body: Fields): Asked | undefined
  /** Reads a whole answer. */
  answerOf(body: unknown): Answer
  /** Reads a streamed one. */
  reader(): AnswerReader
  /** The request with this context in the place of its conversation; everything else stays as it is. */
  write(body: Fields, shown: readonly Shown[]): Fields
  /** The request with a tool of the ledger's own among its tools. */
  offer(
    body: Fields,
    tool: { readonly name: string; readonly description: string; readonly parameters: Fields },
  ): Fields
  /** The request that goes on from an answer whose calls were answered here. */
  follow(body: Fields, answer: Answer, results: readonly { readonly call: CallMade; readonly text: string }[]): Fields
  /** A refusal of the proxy's own, in the shape of this API's errors. */
  refusal(sentence: string, kind: string): Fields
}

/** Fields that mean something to the ledger; what a provider has under the same name is kept beside them. */
const OWN = new Set(['id', 'pinned', 'attributes', 'answers', 'created_at', 'kind', 'is_error'])

/**
 * A message in the ledger's form.
 * @param unknown fields that the ledger has no word for: they are kept as they came
 */
export function saidInput(known: MessageInput, unknown: Fields = {}): MessageInput {
  return joined(recordable(known), recordable(unknown))
}

function joined(known: MessageInput, unknown: Fields): MessageInput {
  const names = Object.keys(unknown)
  // A list is read with each request, all of it: only what the ledger may misunderstand is held against its schema.
  if (names.length === 0) return known
  const fields = { ...known, ...unknown, ...known }
  // A field that would be taken for one of ours, or for a misspelt one, is kept in one place with all of them.
  const isPlain = !names.some((name) => OWN.has(name) || name in known) && parseMessage(fields)._tag === 'Right'
  return isPlain ? fields : ({ ...known, as_sent: unknown } as MessageInput)
}

/** A content part as it came; one that the ledger would take for something else is wrapped. */
export function keptPart(part: unknown): { readonly type: string; readonly [field: string]: unknown } {
  const type = isFields(part) ? textOf(part['type']) : undefined
  if (!isFields(part) || type === undefined || isTooDeep(part, MOST_LEVELS - 2))
    return { type: 'as_sent', as_sent: isTooDeep(part, MOST_LEVELS - 2) ? '[nested too deep]' : part }
  return foreignMessage({ content: [part] }) === undefined ? { ...part, type } : { type: 'as_sent', as_sent: part }
}

/** What reasoning is called: a client may send it back or leave it out, and it is the same message. */
const REASONING = new Set(['thinking', 'redacted_thinking', 'reasoning', 'reasoning_text'])

/**
 * A header that Claude Code writes into its instructions. It tells the provider which program asks, changes with each
 * run of it, and tells the model nothing.
 */
const BILLING = 'x-anthropic-billing-header:'

function normalPart(part: unknown): unknown {
  const fields = fieldsOf(part)
  const text = textOf(fields['text'])
  if (text !== undefined && (textOf(fields['type']) ?? '').includes('text')) return text
  const { cache_control: _mark, ...rest } = fields
  return rest
}

function normalContent(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  return listOf(content)
    .filter((part) => !REASONING.has(textOf(fieldsOf(part)['type']) ?? ''))
    .map(normalPart)
    .filter((part) => part !== '' && !(typeof part === 'string' && part.startsWith(BILLING)))
}

function normalCall(call: unknown): unknown {
  const { id, function: named, custom } = fieldsOf(call)
  const { name, arguments: text } = fieldsOf(named)
  return { id, name, custom, arguments: parseJson(textOf(text) ?? '') ?? text }
}

/**
 * The hash by which a message is known again when a client sends its list once more: a text as a part or as itself,
 * arguments with or without spaces, with and without reasoning, wherever the marks of the prompt cache stand.
 */
export function saidHash({ role, content, tool_calls, tool_call_id, name }: Fields): string {
  const normal = {
    role: role === 'developer' ? 'system' : role,
    name,
    content: normalContent(content),
    calls: listOf(tool_calls).map(normalCall),
    tool_call_id,
  }
  return hash('sha256', jsonText(normal), 'base64url').slice(0, 24)
}

/** A message with its hash. */
export const said = (input: MessageInput, raw: readonly unknown[]): Said => ({
  input,
  raw,
  hash: saidHash({ ...input }),
})

/**
 * Results that answer no call of the list, or one that is answered already, are told as texts: they have no call to
 * stand behind.
 */
export function withCalls(messages: readonly Said[]): Said[] {
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
    return said(
      saidInput({ ...rest, role: 'user', content: input.content ?? '' }, { tool_result_for: id }),
      message.raw,
    )
  })
}

/** Calls as a message of the ledger has them, where there are any. */
export const madeCalls = (calls: readonly Fields[]): Pick<MessageInput, 'tool_calls'> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whoever made them looked at each
  calls.length === 0 ? {} : { tool_calls: calls as unknown as NonNullable<MessageInput['tool_calls']> }

/** A list whose leading messages are the instructions. */
export function withInstructions(list: readonly Said[]): Pick<Asked, 'instructions' | 'messages'> {
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

/** A refusal of the proxy's own, in the shape of OpenAI's errors. */
export const openaiRefusal = (sentence: string, kind: string): Fields => ({
  error: { message: sentence, type: 'context_ledger_error', param: null, code: kind },
})

/** Content as one text where it is nothing but one. */
export function contentOf(parts: readonly unknown[]): MessageInput['content'] {
  const [only] = parts
  if (parts.length === 0) return ''
  if (parts.length === 1 && isFields(only) && only['type'] === 'text' && Object.keys(only).length === 2) {
    const text = textOf(only['text'])
    if (text !== undefined) return text
  }
  return parts.map(keptPart)
}

/** The text of what a message says, for who looks for a summary in it. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(fieldsOf(part)['text']) ?? '')
    .join('\n')
}

/** Usage in the words of the ledger. */
export const usageOf = (
  input: number | undefined,
  output: number | undefined,
  cacheRead: number | undefined,
  cacheWrite: number | undefined,
  reasoning: number | undefined,
): Fields | undefined => {
  const usage = given({
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
  })
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** The calls of an answer. */
export const callsOf = ({ message }: Answer): CallMade[] =>
  listOf(message?.tool_calls).flatMap((call) => {
    const { id, function: named } = fieldsOf(call)
    const { name, arguments: args } = fieldsOf(named)
    return typeof id === 'string' && typeof name === 'string' ? [{ id, name, arguments: textOf(args) ?? '' }] : []
  })
