/** A point in the history of a conversation: a revision, a time by the ledger's clock, or a message. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { LAST_REVISION } from './revision.js'

/** A revision, a time in milliseconds since 1970, or a message id, which means right after that message. */
export type Moment = { readonly revision: number } | { readonly time: number } | { readonly messageId: string }

export type BadMoment = { readonly kind: 'BadInput'; readonly field: string; readonly detail: string }

// Seconds are optional; a time zone is required.
const instant = z.union([z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })])

/** Prefix for a message id that looks like a revision or a time. */
const MESSAGE = 'message:'
const DATE = /^[+-]?\d{4,6}-\d{2}(?:-|$)/u

const bad = (field: string, detail: string): E.Either<BadMoment, never> => E.left({ kind: 'BadInput', field, detail })
const isInstant = (text: string): boolean => instant.safeParse(text).success
const lacksZone = (text: string): boolean => isInstant(`${text}Z`)

/** Parses a `Date`, or an ISO 8601 time with a zone, to milliseconds since 1970. */
export function parseInstant(field: string, input: string | Date): E.Either<BadMoment, number> {
  if (input instanceof Date)
    return Number.isNaN(input.getTime()) ? bad(field, 'is no valid time') : E.right(input.getTime())
  // JavaScript callers may pass any type.
  const text = typeof input === 'string' ? input.trim() : ''
  if (isInstant(text)) return E.right(Date.parse(text))
  if (lacksZone(text)) return bad(field, `names no time zone: ${text}Z is the time in UTC`)
  const received = typeof input === 'string' ? `, and is "${input}"` : ''
  return bad(field, `must be a time such as 2026-03-01T12:30:00Z${received}`)
}

/** A revision that a caller gave; a negative one is rejected where the conversation is known. */
const revisionGiven = (field: string, revision: number, shown = String(revision)): E.Either<BadMoment, Moment> =>
  Number.isSafeInteger(revision)
    ? E.right({ revision })
    : bad(field, `must be a revision (a whole number up to ${String(LAST_REVISION)}), and is ${shown}`)

/**
 * Parses a point in history. A number or a text of digits is a revision; a `Date` or an ISO 8601 time with a zone is
 * a time; any other text, and any text after `message:`, is a message id. A time without a zone is an error: a wrong
 * guess would silently show another context.
 * @param field name of the option, for error messages
 */
export function parseMoment(field: string, input: number | string | Date): E.Either<BadMoment, Moment> {
  if (typeof input === 'number') return revisionGiven(field, input)
  const asTime = (): E.Either<BadMoment, Moment> => E.map((time: number) => ({ time }))(parseInstant(field, input))
  if (input instanceof Date) return asTime()
  // JavaScript callers may pass any type.
  if (typeof input !== 'string')
    return bad(
      field,
      `must be a revision (a whole number), a time (a Date) or a text of either, and is a ${typeof input}`,
    )
  const text = input.trim()
  if (/^-?\d+$/u.test(text)) return revisionGiven(field, Number(text), text)
  if (isInstant(text) || lacksZone(text)) return asTime()
  if (input.startsWith(MESSAGE) && input.length > MESSAGE.length)
    return E.right({ messageId: input.slice(MESSAGE.length) })
  if (text === '' || DATE.test(text))
    return bad(
      field,
      `must be a revision, a time such as 2026-03-01T12:30:00Z or the id of a message, and is "${input}"`,
    )
  return E.right({ messageId: input })
}
