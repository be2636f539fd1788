/** Cursors of pages, as opaque texts. */
import { parseRevision } from '../../domain/values/revision.js'
import { Refused } from './problems.js'

/** A place as a cursor. */
export const cursorOf = (...place: readonly string[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url')

/** The parts of a cursor; throws unless there are this many. */
export function placeOf(cursor: string | undefined, parts: number): readonly string[] | undefined {
  if (cursor === undefined) return undefined
  try {
    const decoded: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(decoded) && decoded.length === parts && decoded.every((part) => typeof part === 'string'))
      return decoded
  } catch {
    // Reported below.
  }
  throw wrongCursor()
}

/** The same for a place that is one whole number. */
export function numberOf(cursor: string | undefined): number | undefined {
  const [text] = placeOf(cursor, 1) ?? []
  if (text === undefined) return undefined
  const revision = parseRevision(text)
  if (revision === undefined) throw wrongCursor()
  return revision
}

/** The error for an invalid cursor. */
export const wrongCursor = (): Refused =>
  new Refused('BadRequest', 'cursor is not the `next` of a page before', { field: 'cursor' })
