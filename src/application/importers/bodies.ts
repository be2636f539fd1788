/** Helpers for importers: times, contents, and whether the ledger accepts a message body. */
import { either as E } from 'fp-ts'
import { fileURLToPath } from 'node:url'
import { isRecord } from '../../lib/is-record.js'
import { exactText, recordable } from '../../lib/json.js'
import { inputOf, type ContentPart, type MessageBody } from '../../domain/values/message.js'
import { parseMessage } from '../../domain/values/parse-message.js'
import { withinValues } from './content-part.js'
import type { SourceLocation } from './transcript.js'

export type Fields = Readonly<Record<string, unknown>>

/** A count: a finite number, not negative; undefined for any other value. */
export const countIn = (value: unknown): number | undefined =>
  typeof value === 'bigint'
    ? countIn(Number(value))
    : typeof value === 'number' && Number.isFinite(value) && value >= 0
      ? value
      : undefined

/** A field of an object, and of the objects in it; undefined if one of them is absent. */
export const inside = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((found, field) => (isRecord(found) ? found[field] : undefined), value)

/** The exit code of a command; undefined for any other value, for example -1 while the command runs. */
export const exitCodeIn = (value: unknown): number | undefined => {
  const code = countIn(value)
  return Number.isInteger(code) ? code : undefined
}

/**
 * A time as ISO 8601 with a zone; undefined if the value is not a time. A time without a zone counts as UTC, and a
 * number as milliseconds.
 */
export function timeIn(value: unknown): string | undefined {
  if (typeof value !== 'number' && (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/u.test(value)))
    return undefined
  const hasZone = typeof value === 'number' || /(?:Z|[+-]\d\d:?\d\d)$/iu.test(value)
  const time = new Date(hasZone ? value : `${value}Z`)
  if (Number.isNaN(time.getTime())) return undefined
  const text = time.toISOString()
  return /^\d{4}-/u.test(text) ? text : undefined
}

/** A Unix time as ISO 8601: seconds, with or without a fraction, or milliseconds. */
export function unixTime(value: unknown): string | undefined {
  const count = countIn(value)
  // As milliseconds, a smaller number lies before 1974.
  return timeIn(count === undefined ? undefined : Math.round(count < 100_000_000_000 ? count * 1000 : count))
}

const isBareText = (part: ContentPart): boolean => part.type === 'text' && Object.keys(part).length === 2

/** Parts in the simplest equivalent form: a string if there is no part, or only one plain text. */
export function contentOf(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [first] = parts
  if (first === undefined) return ''
  return parts.length === 1 && isBareText(first) && typeof first['text'] === 'string' ? first['text'] : parts
}

/** A value as JSON text; a string is returned unchanged. */
export const jsonText = (value: unknown): string => (typeof value === 'string' ? value : (exactText(value) ?? 'null'))

/**
 * A value as JSON text with integers rounded to doubles. Used for ids, so that ids from earlier versions do not change.
 */
export const roundedText = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? Number(item) : item)) ?? 'null'

/** Why the ledger would reject a body; undefined if it accepts it. */
export function refusalOf(body: MessageBody): string | undefined {
  const parsed = parseMessage(recordable(inputOf(withinValues(body))))
  return E.isLeft(parsed) ? `${parsed.left.field} ${parsed.left.detail}` : undefined
}

/** A list; empty for any other value. */
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The path in a `file:` address; another text unchanged. */
export function pathOfUri(uri: string): string {
  try {
    return uri.startsWith('file://') ? fileURLToPath(uri) : uri
  } catch {
    return uri
  }
}

/** The name of a file without its directory and its extension. */
export const stemOf = (path: string): string => (path.split(/[\\/]/u).at(-1) ?? path).replace(/\.\w+$/u, '')

/** The line of a record, and its index in the line if that is not 1. */
export const linePlace = ({ line, record }: SourceLocation): string | undefined =>
  line === undefined ? undefined : record === undefined ? String(line) : `${String(line)}.${String(record)}`
