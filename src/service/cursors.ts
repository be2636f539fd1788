/** Where a page ends, as a text that nobody but us reads. */
import { Refused } from './problems.js'

/** A place as a cursor. */
export const cursorOf = (...place: readonly string[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url')

/** The place of a cursor of ours, of so many parts. */
export function placeOf(cursor: string | undefined, parts: number): readonly string[] | undefined {
  if (cursor === undefined) return undefined
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(place) && place.length === parts && place.every((part) => typeof part === 'string')) return place
  } catch {
    // Told below.
  }
  throw wrongCursor()
}

/** The same for a place that is one whole number. */
export function numberOf(cursor: string | undefined): bigint | undefined {
  const [text] = placeOf(cursor, 1) ?? []
  if (text === undefined) return undefined
  if (!/^\d{1,18}$/u.test(text)) throw wrongCursor()
  return BigInt(text)
}

/** What is said of a cursor that is none of ours. */
export const wrongCursor = (): Refused =>
  new Refused('BadRequest', 'cursor is not the `next` of a page before', { field: 'cursor' })
