/** Parts of another program's messages that have no place of their own in a chat message, kept as they came. */
import { exactText } from '../domain/text/json.js'
import { foreignMessage } from '../domain/values/foreign-messages.js'
import type { ContentPart } from '../domain/values/message.js'
import { isTooDeep, MOST_LEVELS } from '../domain/values/nesting.js'
import { isFields } from './bodies.js'

/** Levels that a part may have, so that the content around it is not too deep. */
const LEVELS = MOST_LEVELS - 10

const isPart = (value: unknown): value is ContentPart =>
  isFields(value) && typeof value['type'] === 'string' && foreignMessage({ content: [value] }) === undefined

/** A value as JSON text, however deep it is. */
function textOf(value: unknown): string {
  try {
    return exactText(value) ?? 'null'
  } catch {
    return 'nested too deeply to be written as JSON'
  }
}

/**
 * A part as a content can hold it: as it came where it has a type of its own. What is no part, and what a chat message
 * refuses, is put whole into one of the type `other`.
 */
export function keptPart(value: unknown): ContentPart {
  if (isTooDeep(value, LEVELS)) return { type: 'other', json: textOf(value) }
  return isPart(value) ? value : { type: 'other', value }
}

/** A text as a part. */
export const textPart = (text: string): ContentPart => ({ type: 'text', text })

/** What a tool is called with, as JSON text: a text stays as it is. */
export const argumentsOf = (value: unknown): string =>
  typeof value === 'string' ? value : isTooDeep(value, LEVELS) ? JSON.stringify(textOf(value)) : textOf(value ?? {})
