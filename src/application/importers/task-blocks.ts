/**
 * Converts the messages of Cline and Roo Code to chat messages. Both store what they send: blocks of Anthropic's API,
 * or in newer versions of Roo parts of the AI SDK. One record with the role user may contain the results of several
 * calls and additional text.
 */
import { authorOfMessage, hasUserTag, isResultText } from '../../domain/text/authorship.js'
import { isRecord } from '../../lib/is-record.js'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { isTooDeep } from '../../lib/nesting.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, jsonText, roundedText, type Fields } from './bodies.js'
import type { ContentId } from './content-id.js'
import { argumentsOf, isData, toContentPart } from './content-part.js'

/** One message of a record. */
export interface RecordMessage {
  readonly body: MessageBody
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
}

/** Maximum nesting depth of the extra fields of a call, out of the depth that a message may have. */
const CALL_LEVELS = 150

/** A value as JSON text; a fixed text if it is nested too deeply. */
function textOf(value: unknown, write = jsonText): string {
  try {
    return write(value)
  } catch {
    return '[nested too deeply]'
  }
}

/** A call before its id is made unique in the message. */
interface RawCall {
  readonly id: unknown
  readonly name: unknown
  readonly input: unknown
  /** Other fields of the call: a signature, the provider's own id. */
  readonly more?: Fields | undefined
}

/** Converts calls to the chat format. @param fallback prefix of the id of a call without one */
function callsOf(calls: readonly RawCall[], fallback: string): readonly ToolCall[] {
  const usedIds = new Set<string>()
  return calls.map(({ id, name, input, more }, at) => {
    const callId = textIn(id) ?? `${fallback}-call-${String(at + 1)}`
    const unique = usedIds.has(callId) ? `${callId}-${String(at + 1)}` : callId
    usedIds.add(unique)
    return {
      ...(more === undefined || isTooDeep(more, CALL_LEVELS) ? {} : more),
      id: unique,
      type: 'function',
      function: { name: textIn(name) ?? 'unknown', arguments: argumentsOf(input) },
    }
  })
}

const isCall = (block: unknown): block is Fields =>
  isRecord(block) && /^(?:(?:server_|mcp_)?tool_use|tool-call)$/u.test(textIn(block['type']) ?? '')
const isResult = (block: unknown): block is Fields =>
  isRecord(block) && /^(?:(?:\w+_)?tool_result|tool-result)$/u.test(textIn(block['type']) ?? '')

const rawCall = (block: Fields): RawCall => {
  const { type: _type, id, toolCallId, name, toolName, input, ...more } = block
  return { id: id ?? toolCallId, name: name ?? toolName, input, more }
}

/**
 * The message of a result. Anthropic's API has the value in `content`; the AI SDK has it in `output`, with its type.
 */
function resultOf(block: Fields): Omit<RecordMessage, 'byProgram'> & { readonly callId: string | undefined } {
  const output = block['output']
  const value = block['content'] ?? (isRecord(output) && 'value' in output ? output['value'] : output)
  const isText = value === undefined || value === null || value === ''
  const content = isText
    ? ''
    : Array.isArray(value) && !isData(value)
      ? contentOf(value.map(toContentPart))
      : textOf(value)
  const isError =
    block['is_error'] === true ||
    (isRecord(output) && /^(?:error|execution-denied)/u.test(textIn(output['type']) ?? '')) ||
    // Roo marks failed results with this prefix, because its AI SDK parts have no field for it.
    (block['type'] === 'tool-result' && typeof content === 'string' && content.trimStart().startsWith('[ERROR]'))
  const callId = textIn(block['tool_use_id']) ?? textIn(block['toolCallId'])
  return {
    callId,
    body: { role: 'tool', content, toolCallId: callId },
    ...(isError ? { isError } : {}),
  }
}

const textsIn = (parts: readonly ContentPart[]): readonly string[] =>
  parts.flatMap((part) => textIn(part['text']) ?? [])

/**
 * Whether the program generated all of these texts. Without native tool calls, both programs send results as texts of the
 * user, each in several parts, and mark the user's own text with tags.
 */
function isProgramText(parts: readonly ContentPart[]): boolean {
  const [first, ...others] = textsIn(parts)
  if (first === undefined) return false
  return (
    (isResultText(first) && !others.some(hasUserTag)) || authorOfMessage({ role: 'user', content: parts }) === 'program'
  )
}

/** The tag in which Cline's command line stores the user's words. It sends them without it. */
const STORED_INPUT = /<user_input\b[^<>]*>([^]*?)<\/user_input>/gu

const asSent = (part: ContentPart): ContentPart =>
  typeof part['text'] === 'string' ? { ...part, text: part['text'].replaceAll(STORED_INPUT, '$1') } : part

const messageOf = (body: MessageBody, isByProgram = false): RecordMessage => ({
  body,
  ...(isByProgram ? { byProgram: true } : {}),
})

const ROLES = new Set(['user', 'assistant', 'system', 'tool'])

/**
 * The messages of one record: first one message for each result, then the rest. Empty if the record contains nothing
 * for the model, or has an unsupported role.
 * @param fallback prefix of the ids of calls without one
 */
export function messagesIn(
  role: string,
  content: unknown,
  extra: Fields | undefined,
  fallback: string,
): readonly RecordMessage[] {
  if (!ROLES.has(role)) return []
  const blocks: readonly unknown[] = Array.isArray(content)
    ? content
    : content === undefined || content === null
      ? []
      : [content]
  const parts = blocks.filter((block) => !isCall(block) && !isResult(block)).map(toContentPart)
  const results = blocks.filter(isResult).map(resultOf)
  const calls = role === 'assistant' ? callsOf(blocks.filter(isCall).map(rawCall), fallback) : []
  const tools = results.map(({ callId, body, isError }): RecordMessage => {
    // A result without a call id is recorded as a text.
    if (callId === undefined) return messageOf({ role: 'user', content: body.content }, true)
    return { body, isError }
  })
  if (role === 'assistant') {
    if (parts.length === 0 && calls.length === 0 && extra === undefined) return tools
    const answer = messageOf({
      role,
      content: parts.length === 0 && calls.length > 0 ? null : contentOf(parts),
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
      ...(extra === undefined ? {} : { extra }),
    })
    // The result of a tool that the provider runs is in the answer itself.
    return [answer, ...tools]
  }
  if (parts.length === 0) return tools
  const rest = contentOf(role === 'user' ? parts.map(asSent) : parts)
  if (role === 'system') return [...tools, messageOf({ role, content: rest })]
  return [...tools, messageOf({ role: 'user', content: rest }, isProgramText(parts) || role === 'tool')]
}

/**
 * Derives ids from the content of records without one. The id does not depend on the record's index, since these
 * programs insert summaries between records. Equal records are numbered.
 */
export function createContentIds(contentId: ContentId): (record: unknown) => string {
  const counts = new Map<string, number>()
  return (record) => {
    const id = contentId(textOf(record, roundedText))
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return count === 1 ? id : `${id}-${String(count)}`
  }
}
