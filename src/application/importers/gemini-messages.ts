/**
 * Converts the messages of Gemini CLI to chat messages. A record of the model contains its thoughts, its text, its
 * calls and, later, the results of the calls. Contents are parts of Gemini's API, which have one field that names their
 * type, or a plain string.
 */
import { authorOfMessage } from '../../domain/text/authorship.js'
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { sha256 } from '../../domain/values/hash.js'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, roundedText, timeIn, type Fields } from './bodies.js'
import { argumentsOf, toContentPart, textPart } from './content-part.js'
import type { Usage } from './transcript.js'

type Content = MessageBody['content']

/** The result of a call, as far as it is known. */
interface Result {
  readonly content: Exclude<Content, null>
  readonly isError: boolean
}

/** A tool call and its result. */
export interface Call {
  readonly call: ToolCall
  readonly result: Result | undefined
  /** The call is a part of the content, which never has a result. */
  readonly isPart?: true
}

/** The message of a record. */
export interface GeminiMessage {
  readonly id: string
  readonly at: string | undefined
  readonly role: 'user' | 'assistant'
  /** Undefined if the record contains only calls and results. */
  readonly content: Exclude<Content, null> | undefined
  /** Hash of the content, equal for the same content in another form. */
  readonly fingerprint: string
  readonly calls: readonly Call[]
  /** Results in a record of the user, by the ids of their calls. */
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
  const value = isRecord(part) ? part[name] : undefined
  return isRecord(value) ? value : undefined
}

/** A part of Gemini's API. It has no type; the name of its only field is its type. */
function partOf(part: unknown): ContentPart {
  if (typeof part === 'string') return textPart(part)
  if (!isRecord(part) || typeof part['type'] === 'string') return toContentPart(part)
  if (typeof part['text'] === 'string')
    return toContentPart({ type: part['thought'] === true ? 'thought' : 'text', ...part })
  const [name] = Object.keys(part)
  return toContentPart(name === undefined ? part : { type: name, ...part })
}

const isCall = (part: unknown): boolean => fieldOf(part, 'functionCall') !== undefined
const isResponse = (part: unknown): boolean => fieldOf(part, 'functionResponse') !== undefined

/** The content of a response: its output or its error, otherwise the whole response. */
function responseOf(part: unknown): { readonly parts: readonly ContentPart[]; readonly isError: boolean } {
  const functionResponse = fieldOf(part, 'functionResponse')
  const response = functionResponse?.['response']
  const { output, error } = isRecord(response) ? response : {}
  const isError = error !== undefined && error !== null
  const reply = isError ? error : output
  const words = reply === undefined || reply === null ? response : reply
  return {
    parts: [
      ...(words === undefined ? [] : [textPart(argumentsOf(words))]),
      ...listOf(functionResponse?.['parts']).map(partOf),
    ],
    isError,
  }
}

/**
 * The result of a call. A result that was masked later contains the responses to all calls of its turn, and other
 * parts, which are assigned to the first call.
 */
function resultOf(result: unknown, callId: string, status: unknown): Result | undefined {
  const parts = listOf(result)
  if (parts.length === 0) return undefined
  const responses = parts.filter(isResponse)
  const idOf = (part: unknown): unknown => fieldOf(part, 'functionResponse')?.['id']
  const named = responses.filter((part) => idOf(part) === callId)
  const responsesOfCall = named.length === 0 ? responses.filter((part) => idOf(part) === undefined) : named
  const isFirst = responses.length === 0 || responsesOfCall.includes(responses[0]) || named.length === 0
  const outputs = (responsesOfCall.length === 0 && named.length === 0 ? responses : responsesOfCall).map(responseOf)
  const otherParts = isFirst ? parts.filter((part) => !isResponse(part)).map(partOf) : []
  return {
    content: contentOf([...outputs.flatMap((response) => response.parts), ...otherParts]),
    isError: status === 'error' || status === 'cancelled' || outputs.some(({ isError }) => isError),
  }
}

const callOf = (id: string, name: unknown, args: unknown): ToolCall => ({
  id,
  type: 'function',
  function: { name: textIn(name) ?? 'unknown', arguments: argumentsOf(args ?? {}) },
})

/** The calls of a record, each once: in a history that a compression wrote, the parts repeat them. */
function callsOf(record: Fields, id: string): readonly Call[] {
  const calls = new Map<string, Call>()
  for (const [at, toolCall] of listOf(record['toolCalls']).entries()) {
    if (!isRecord(toolCall)) continue
    const callId = textIn(toolCall['id']) ?? `${id}-call-${String(at + 1)}`
    calls.set(callId, {
      call: callOf(callId, toolCall['name'], toolCall['args']),
      result: resultOf(toolCall['result'], callId, toolCall['status']),
    })
  }
  const isKnown = calls.size > 0
  for (const [at, part] of listOf(record['content']).entries()) {
    const functionCall = fieldOf(part, 'functionCall')
    // Without an id, a call among the parts cannot be distinguished from those in `toolCalls`.
    const callId = textIn(functionCall?.['id']) ?? (isKnown ? undefined : `${id}-part-${String(at + 1)}`)
    if (functionCall !== undefined && callId !== undefined && !calls.has(callId))
      calls.set(callId, {
        call: callOf(callId, functionCall['name'], functionCall['args']),
        result: undefined,
        isPart: true,
      })
  }
  return [...calls.values()]
}

function usageOf(tokens: unknown): Usage | undefined {
  if (!isRecord(tokens)) return undefined
  return {
    inputTokens: countIn(tokens['input']),
    outputTokens: countIn(tokens['output']),
    cacheReadTokens: countIn(tokens['cached']),
    reasoningTokens: countIn(tokens['thoughts']),
  }
}

const thoughtOf = (thought: unknown): ContentPart =>
  toContentPart(isRecord(thought) ? { ...thought, type: 'thought' } : { type: 'thought', thought })

/** A fingerprint of a value: equal values have the same one. */
export function fingerprintOf(value: unknown): string {
  try {
    return sha256(value === undefined ? '' : roundedText(value)).slice(0, 16)
  } catch {
    return 'nested too deeply'
  }
}

/**
 * A fingerprint of the texts in parts. A history that a compression wrote splits a text into several parts, and
 * contains the signatures of the thoughts but not the thoughts.
 */
function textFingerprint(parts: readonly ContentPart[]): string {
  const words = parts.map((part) => (part.type === 'text' ? (textIn(part['text']) ?? '') : '')).join('')
  return fingerprintOf([words.trim(), parts.filter(({ type }) => type !== 'text' && type !== 'thought')])
}

/** The message of a record; undefined if the record is not a message of the conversation. */
export function messageIn(value: unknown): GeminiMessage | undefined {
  const record = recordSchema.safeParse(value).data
  if (record === undefined || !isRecord(value)) return undefined
  const { id, type, timestamp } = record
  const isAnswer = type === 'gemini'
  const content = listOf(value['content'])
  const words = content.filter((part) => !isCall(part) && !isResponse(part))
  const parts = [...(isAnswer ? listOf(value['thoughts']).map(thoughtOf) : []), ...words.map(partOf)]
  const results = content.filter(isResponse).flatMap((part) => {
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
    fingerprint: textFingerprint(parts),
    calls: isAnswer ? callsOf(value, id) : [],
    results,
    isByProgram: !isAnswer && authorOfMessage({ role: 'user', content: parts }) !== 'user',
    model: textIn(value['model']),
    usage: isAnswer ? usageOf(value['tokens']) : undefined,
  }
}
