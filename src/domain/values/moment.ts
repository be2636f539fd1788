/**
 * A moment in a conversation's life, as somebody asks for it: a revision, an instant by the ledger's clock, or a
 * message.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'

/** A revision, an instant in milliseconds since 1970, or the id of a message, which means right behind it. */
export type Moment = { readonly revision: bigint } | { readonly time: number } | { readonly messageId: string }

export type BadMoment = { readonly kind: 'BadInput'; readonly field: string; readonly detail: string }

// Seconds may be left out; a zone may not.
const instant = z.union([z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })])

/** Begins the id of a message that looks like something else. */
const MESSAGE = 'message:'
const DATE = /^[+-]?\d{4,6}-\d{2}(?:-|$)/u

const bad = (field: string, detail: string): E.Either<BadMoment, never> => E.left({ kind: 'BadInput', field, detail })
const isInstant = (text: string): boolean => instant.safeParse(text).success
const lacksZone = (text: string): boolean => isInstant(`${text}Z`)

/** Parses an instant alone: a `Date`, or an ISO 8601 time with its zone. In milliseconds since 1970. */
export function parseInstant(field: string, given: string | Date): E.Either<BadMoment, number> {
  if (given instanceof Date)
    return Number.isNaN(given.getTime()) ? bad(field, 'is no valid time') : E.right(given.getTime())
  // Whoever does not use TypeScript may give anything.
  const text = typeof given === 'string' ? given.trim() : ''
  if (isInstant(text)) return E.right(Date.parse(text))
  if (lacksZone(text)) return bad(field, `names no time zone: ${text}Z is the time in UTC`)
  const said = typeof given === 'string' ? `, and is "${given}"` : ''
  return bad(field, `must be a time such as 2026-03-01T12:30:00Z${said}`)
}

/**
 * Parses a moment: a `bigint` or a text of digits is a revision, a `Date` or an ISO 8601 time with its zone an instant;
 * any other text is the id of a message, and so is whatever stands behind `message:`. A time without a zone is refused
 * and not guessed: an hour's difference shows another context, and nothing would tell so.
 * @param field what it was given as, for the sentence about it
 */
export function parseMoment(field: string, given: bigint | string | Date): E.Either<BadMoment, Moment> {
  if (typeof given === 'bigint') return E.right({ revision: given })
  const asTime = (): E.Either<BadMoment, Moment> => E.map((time: number) => ({ time }))(parseInstant(field, given))
  if (given instanceof Date) return asTime()
  // Whoever does not use TypeScript may give anything.
  if (typeof given !== 'string')
    return bad(field, `must be a revision (a bigint), a time (a Date) or a text of either, and is a ${typeof given}`)
  const text = given.trim()
  if (/^-?\d+$/u.test(text)) return E.right({ revision: BigInt(text) })
  if (isInstant(text) || lacksZone(text)) return asTime()
  if (given.startsWith(MESSAGE) && given.length > MESSAGE.length)
    return E.right({ messageId: given.slice(MESSAGE.length) })
  if (text === '' || DATE.test(text))
    return bad(
      field,
      `must be a revision, a time such as 2026-03-01T12:30:00Z or the id of a message, and is "${given}"`,
    )
  return E.right({ messageId: given })
}
