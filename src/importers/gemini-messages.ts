/**
 * The messages of Gemini CLI as chat messages. A record of the model holds its thoughts, its text, its calls and, once
 * they are there, the results of the calls. Contents are parts of Gemini's API, which tell by a field of their own what
 * they are, or a text alone.
 */
import { z } from 'zod'
import { sha256 } from '../domain/values/hash.js'
import type { ContentPart, MessageBody, ToolCall } from '../domain/values/message.js'
import { contentOf, countIn, isFields, roundedText, textIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'
import type { Usage } from './transcript.js'

type Content = MessageBody['content']

/** The result of a call, as far as it is there. */
interface Result {
  readonly content: Exclude<Content, null>
  readonly isError: boolean
}

/** A call of a tool, and its result. */
export interface Call {
  readonly call: ToolCall
  readonly result: Result | undefined
}

/** What a record says. */
export interface GeminiMessage {
  readonly id: string
  readonly at: string | undefined
  readonly role: 'user' | 'assistant'
  /** Undefined where it says nothing beside calls and results. */
  readonly content: Exclude<Content, null> | undefined
  /** By what the content is the same one in another form. */
  readonly print: string
  readonly calls: readonly Call[]
  /** Results that stand in a record of the user, by the ids of their calls. */
  readonly results: readonly (Result & { readonly callId: string })[]
  readonly isByProgram: boolean
  readonly model: string | undefined
  readonly usage: Usage | undefined
}

const text = z.string().optional().catch(undefined)
const recordSchema = z.looseObject({ id: z.string().min(1), type: z.enum(['user', 'gemini']), timestamp: text })

const listOf = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content : content === undefined || content === null || content === '' ? [] : [content]

const fieldOf = (part: unknown, name: string): Fields | undefined => {
  const value = isFields(part) ? part[name] : undefined
  return isFields(value) ? value : undefined
}

/** A part of Gemini's API: it has no type, and one field that says what it is. */
function partOf(part: unknown): ContentPart {
  if (typeof part === 'string') return textPart(part)
  if (!isFields(part) || typeof part['type'] === 'string') return keptPart(part)
  if (typeof part['text'] === 'string')
    return keptPart({ type: part['thought'] === true ? 'thought' : 'text', ...part })
  const [name] = Object.keys(part)
  return keptPart(name === undefined ? part : { type: name, ...part })
}

const isCall = (part: unknown): boolean => fieldOf(part, 'functionCall') !== undefined
const isResponse = (part: unknown): boolean => fieldOf(part, 'functionResponse') !== undefined

/** What a response says: its output or its error, and otherwise all of it. */
function responseOf(part: unknown): { readonly parts: readonly ContentPart[]; readonly isError: boolean } {
  const given = fieldOf(part, 'functionResponse')
  const response = given?.['response']
  const { output, error } = isFields(response) ? response : {}
  const isError = error !== undefined && error !== null
  const said = isError ? error : output
  const words = said === undefined || said === null ? response : said
  return {
    parts: [...(words === undefined ? [] : [textPart(argumentsOf(words))]), ...listOf(given?.['parts']).map(partOf)],
    isError,
  }
}

/**
 * The result of a call. What was masked later holds the responses to all calls of its turn, and the parts beside them,
 * which are taken with the first.
 */
function resultOf(result: unknown, callId: string, status: unknown): Result | undefined {
  const parts = listOf(result)
  if (parts.length === 0) return undefined
  const responses = parts.filter(isResponse)
  const idOf = (part: unknown): unknown => fieldOf(part, 'functionResponse')?.['id']
  const named = responses.filter((part) => idOf(part) === callId)
  const own = named.length === 0 ? responses.filter((part) => idOf(part) === undefined) : named
  const isFirst = responses.length === 0 || own.includes(responses[0]) || named.length === 0
  const said = (own.length === 0 && named.length === 0 ? responses : own).map(responseOf)
  const beside = isFirst ? parts.filter((part) => !isResponse(part)).map(partOf) : []
  return {
    content: contentOf([...said.flatMap((response) => response.parts), ...beside]),
    isError: status === 'error' || status === 'cancelled' || said.some(({ isError }) => isError),
  }
}

const callOf = (id: string, name: unknown, args: unknown): ToolCall => ({
  id,
  type: 'function',
  function: { name: textIn(name) ?? 'unknown', arguments: argumentsOf(args ?? {}) },
})

/** The calls of a record, each once: the history that a compression writes has them among the parts as well. */
function callsOf(record: Fields, id: string): readonly Call[] {
  const calls = new Map<string, Call>()
  for (const [at, given] of listOf(record['toolCalls']).entries()) {
    if (!isFields(given)) continue
    const callId = textIn(given['id']) ?? `${id}-call-${String(at + 1)}`
    calls.set(callId, {
      call: callOf(callId, given['name'], given['args']),
      result: resultOf(given['result'], callId, given['status']),
    })
  }
  const isKnown = calls.size > 0
  for (const [at, part] of listOf(record['content']).entries()) {
    const given = fieldOf(part, 'functionCall')
    // Without an id, a call among the parts cannot be told from those that the record names.
    const callId = textIn(given?.['id']) ?? (isKnown ? undefined : `${id}-part-${String(at + 1)}`)
    if (given !== undefined && callId !== undefined && !calls.has(callId))
      calls.set(callId, { call: callOf(callId, given['name'], given['args']), result: undefined })
  }
  return [...calls.values()]
}

// What Gemini CLI puts in the place of the user.
const OF_PROGRAM =
  /^\s*(?:<session_context>|<hook_context>|<state_snapshot>|This is the Gemini CLI\. We are setting up the context|Here is (?:the user's editor context|a summary of changes in the user's editor))/u

function usageOf(tokens: unknown): Usage | undefined {
  if (!isFields(tokens)) return undefined
  return {
    inputTokens: countIn(tokens['input']),
    outputTokens: countIn(tokens['output']),
    cacheReadTokens: countIn(tokens['cached']),
    reasoningTokens: countIn(tokens['thoughts']),
  }
}

const thoughtOf = (thought: unknown): ContentPart =>
  keptPart(isFields(thought) ? { ...thought, type: 'thought' } : { type: 'thought', thought })

/** A print of a value, by which another one is the same. */
export function printOf(value: unknown): string {
  try {
    return sha256(value === undefined ? '' : roundedText(value)).slice(0, 16)
  } catch {
    return 'nested too deeply'
  }
}

/**
 * A print of what parts say. The history that a compression writes has a text in several parts, with the signatures of
 * the thoughts, and not the thoughts.
 */
function wordsPrint(parts: readonly ContentPart[]): string {
  const words = parts.map((part) => (part.type === 'text' ? (textIn(part['text']) ?? '') : '')).join('')
  return printOf([words.trim(), parts.filter(({ type }) => type !== 'text' && type !== 'thought')])
}

/** What a record says; undefined where it is no message of the conversation. */
export function messageIn(value: unknown): GeminiMessage | undefined {
  const record = recordSchema.safeParse(value).data
  if (record === undefined || !isFields(value)) return undefined
  const { id, type, timestamp } = record
  const isAnswer = type === 'gemini'
  const given = listOf(value['content'])
  const words = given.filter((part) => !isCall(part) && !isResponse(part))
  const parts = [...(isAnswer ? listOf(value['thoughts']).map(thoughtOf) : []), ...words.map(partOf)]
  const [first] = parts
  const results = given.filter(isResponse).flatMap((part) => {
    const callId = textIn(fieldOf(part, 'functionResponse')?.['id'])
    if (callId === undefined) return []
    const response = responseOf(part)
    return [{ callId, content: contentOf(response.parts), isError: response.isError }]
  })
  return {
    id,
    at: timeIn(timestamp),
    role: isAnswer ? 'assistant' : 'user',
    content: parts.length === 0 ? undefined : contentOf(parts),
    print: wordsPrint(parts),
    calls: isAnswer ? callsOf(value, id) : [],
    results,
    isByProgram: !isAnswer && OF_PROGRAM.test(textIn(first?.['text']) ?? ''),
    model: textIn(value['model']),
    usage: isAnswer ? usageOf(value['tokens']) : undefined,
  }
}
