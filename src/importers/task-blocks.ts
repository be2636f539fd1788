/**
 * The messages of Cline and of Roo Code as chat messages. Both keep what they send: blocks of Anthropic's API, in newer
 * versions of Roo parts of the AI SDK. One record of a user may hold the results of several calls and a text beside
 * them.
 */
import { sha256 } from '../domain/values/hash.js'
import type { ContentPart, MessageBody, ToolCall } from '../domain/values/message.js'
import { isTooDeep } from '../domain/values/nesting.js'
import { contentOf, isFields, jsonText, roundedText, textIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'

/** One message that a record says. */
export interface Said {
  readonly body: MessageBody
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
}

/** Of the levels that a message may be nested, those that what is kept with a call may take. */
const CALL_LEVELS = 150

/** A value as JSON text. What is nested so deeply that JSON cannot say it is named, and not said. */
function textOf(value: unknown, write = jsonText): string {
  try {
    return write(value)
  } catch {
    return '[nested too deeply]'
  }
}

const partOf = (value: unknown): ContentPart => (typeof value === 'string' ? textPart(value) : keptPart(value))

/** A call before it has an id that no other call of its message has. */
interface GivenCall {
  readonly id: unknown
  readonly name: unknown
  readonly input: unknown
  /** What else the program keeps with the call: a signature, the provider's own id. */
  readonly more?: Fields | undefined
}

/** Calls as a chat message has them. @param fallback begins the id of a call that has none */
function callsOf(given: readonly GivenCall[], fallback: string): readonly ToolCall[] {
  const taken = new Set<string>()
  return given.map(({ id, name, input, more }, at) => {
    const own = textIn(id) ?? `${fallback}-call-${String(at + 1)}`
    const unique = taken.has(own) ? `${own}-${String(at + 1)}` : own
    taken.add(unique)
    return {
      ...(more === undefined || isTooDeep(more, CALL_LEVELS) ? {} : more),
      id: unique,
      type: 'function',
      function: { name: textIn(name) ?? 'unknown', arguments: argumentsOf(input) },
    }
  })
}

const isCall = (block: unknown): block is Fields =>
  isFields(block) && /^(?:(?:server_|mcp_)?tool_use|tool-call)$/u.test(textIn(block['type']) ?? '')
const isResult = (block: unknown): block is Fields =>
  isFields(block) && /^(?:(?:\w+_)?tool_result|tool-result)$/u.test(textIn(block['type']) ?? '')

const givenCall = (block: Fields): GivenCall => {
  const { type: _type, id, toolCallId, name, toolName, input, ...more } = block
  return { id: id ?? toolCallId, name: name ?? toolName, input, more }
}

/** What a result says: Anthropic has it in `content`, the AI SDK in `output`, as a value with the type of it. */
function resultOf(block: Fields): Omit<Said, 'byProgram'> & { readonly callId: string | undefined } {
  const output = block['output']
  const given = block['content'] ?? (isFields(output) && 'value' in output ? output['value'] : output)
  const content =
    given === undefined || given === null ? '' : Array.isArray(given) ? contentOf(given.map(partOf)) : textOf(given)
  const isError =
    block['is_error'] === true ||
    (isFields(output) && /^(?:error|execution-denied)/u.test(textIn(output['type']) ?? '')) ||
    // Roo marks so what failed: its parts of the AI SDK have no field for it.
    (block['type'] === 'tool-result' && typeof content === 'string' && content.trimStart().startsWith('[ERROR]'))
  const callId = textIn(block['tool_use_id']) ?? textIn(block['toolCallId'])
  return {
    callId,
    body: { role: 'tool', content, toolCallId: callId },
    ...(isError ? { isError } : {}),
  }
}

// Without calls of the provider's own, both programs say results of tools and reminders as texts of the user, and mark
// with tags what the user wrote.
const OF_PROGRAM =
  /^\s*(?:\[[^\]\n]+\] Result:|<environment_details>|<explicit_instructions|<mode_notice|<system-reminder>|\[ERROR\]|\[TASK RESUMPTION\])/u
const OF_PERSON = /<(?:task|feedback|user_message|user_input|answer)\b/u

const textsIn = (parts: readonly ContentPart[]): readonly string[] =>
  parts.flatMap((part) => textIn(part['text']) ?? [])

/** Whether no person wrote any of these texts. */
function isOfProgram(texts: readonly string[]): boolean {
  const [first] = texts
  return first !== undefined && OF_PROGRAM.test(first) && !texts.some((text) => OF_PERSON.test(text))
}

const said = (body: MessageBody, isByProgram = false): Said => ({ body, ...(isByProgram ? { byProgram: true } : {}) })

const ROLES = new Set(['user', 'assistant', 'system', 'tool'])

/**
 * The messages of one record: results first, each as its own, then what stands beside them. None where the record holds
 * nothing that a model reads, or has a role that no message has.
 * @param fallback begins the ids of calls that have none
 */
export function saidIn(role: string, content: unknown, extra: Fields | undefined, fallback: string): readonly Said[] {
  if (!ROLES.has(role)) return []
  const blocks: readonly unknown[] = Array.isArray(content)
    ? content
    : content === undefined || content === null
      ? []
      : [content]
  const parts = blocks.filter((block) => !isCall(block) && !isResult(block)).map(partOf)
  const results = blocks.filter(isResult).map(resultOf)
  const calls = role === 'assistant' ? callsOf(blocks.filter(isCall).map(givenCall), fallback) : []
  const tools = results.map(({ callId, body, isError }): Said => {
    // A result that names no call is a text like others.
    if (callId === undefined) return said({ role: 'user', content: body.content }, true)
    return { body, isError }
  })
  if (role === 'assistant') {
    if (parts.length === 0 && calls.length === 0 && extra === undefined) return tools
    const answer = said({
      role,
      content: parts.length === 0 && calls.length > 0 ? null : contentOf(parts),
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
      ...(extra === undefined ? {} : { extra }),
    })
    // A provider's own tool has its result in the answer itself.
    return [answer, ...tools]
  }
  if (parts.length === 0) return tools
  const rest = contentOf(parts)
  if (role === 'system') return [...tools, said({ role, content: rest })]
  return [...tools, said({ role: 'user', content: rest }, isOfProgram(textsIn(parts)) || role === 'tool')]
}

/**
 * Gives ids to records that have none, from what they say: the same record has the same id however many stand before
 * it, since these programs put summaries between others. Of several that say the same, each is counted.
 */
export function createContentIds(): (record: unknown) => string {
  const seen = new Map<string, number>()
  return (record) => {
    const id = sha256(textOf(record, roundedText)).slice(0, 16)
    const count = (seen.get(id) ?? 0) + 1
    seen.set(id, count)
    return count === 1 ? id : `${id}-${String(count)}`
  }
}
