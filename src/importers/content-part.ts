/** Converts parts of another program's messages to content parts, without loss. */
import { isRecord } from '../lib/is-record.js'
import { exactText } from '../lib/json.js'
import { foreignMessage } from '../domain/values/foreign-messages.js'
import type { ContentPart } from '../domain/values/message.js'
import { isTooDeep, MAX_LEVELS } from '../lib/nesting.js'

/** Maximum nesting depth of a part, so that the content that contains it stays below the limit. */
const LEVELS = MAX_LEVELS - 10

const isPart = (value: unknown): value is ContentPart =>
  isRecord(value) && typeof value['type'] === 'string' && foreignMessage({ content: [value] }) === undefined

/** A value as JSON text; a fixed text if it is nested too deeply. */
function textOf(value: unknown): string {
  try {
    return exactText(value) ?? 'null'
  } catch {
    return 'nested too deeply to be written as JSON'
  }
}

/** Whether a list has values that are no parts: the data that a tool gave, which a program sends as JSON. */
export const isData = (values: readonly unknown[]): boolean =>
  values.some((value) => typeof value !== 'string' && !(isRecord(value) && typeof value['type'] === 'string'))

/**
 * A value as a content part: unchanged if it is a valid part with a type, and its text or its JSON if it has no type. Any
 * other value is wrapped in a part of type `other`.
 */
export function toContentPart(value: unknown): ContentPart {
  if (isTooDeep(value, LEVELS)) return { type: 'other', json: textOf(value) }
  if (isPart(value)) return value
  if (typeof value === 'string') return textPart(value)
  return isData([value]) ? textPart(textOf(value)) : { type: 'other', value }
}

/** A text as a part. */
export const textPart = (text: string): ContentPart => ({ type: 'text', text })

/** Tool arguments as JSON text; a string is returned unchanged. */
export const argumentsOf = (value: unknown): string =>
  typeof value === 'string' ? value : isTooDeep(value, LEVELS) ? JSON.stringify(textOf(value)) : textOf(value ?? {})

/** A value as a content part; of a text part, only the text. */
export const contentPart = (value: unknown): ContentPart =>
  isRecord(value) && value['type'] === 'text' && typeof value['text'] === 'string'
    ? textPart(value['text'])
    : toContentPart(value)

/** The parts of a content in the form of the chat API: a text, a list, or nothing. */
export function contentParts(content: unknown): readonly ContentPart[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [textPart(content)]
  if (Array.isArray(content) && isData(content)) return [textPart(textOf(content))]
  return (Array.isArray(content) ? content : [content]).map(contentPart)
}
