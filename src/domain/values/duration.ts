/**
 * Durations of retention rules: days, weeks, months and years of the calendar, in UTC. Laws count months, which have no
 * fixed number of milliseconds. A duration is recorded in the form of ISO 8601, such as `P6M`.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'

const UNITS = { D: 'day', W: 'week', M: 'month', Y: 'year' } as const
type Unit = keyof typeof UNITS

const RECORDED = /^P([1-9]\d{0,4})([DWMY])$/u
const WORDS = /^([1-9]\d{0,4})\s*(days?|d|weeks?|w|months?|mo|years?|y)$/u
/** Later times have no four-digit year. */
const MOST_YEARS = 1_000
const DAYS_OF: Readonly<Record<Unit, number>> = { D: 1, W: 7, M: 30, Y: 365 }

/** A duration as it is recorded. */
export const durationSchema = z.string().regex(RECORDED, 'must be a duration such as P6M')

const partsOf = (duration: string): { readonly amount: number; readonly unit: Unit } => {
  const [, amount, unit] = RECORDED.exec(duration) ?? []
  if (amount === undefined || unit === undefined) throw new Error(`"${duration}" is no recorded duration`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the pattern has only the letters of the units
  return { amount: Number(amount), unit: unit as Unit }
}

/** Parses `6 months`, `180 days`, `26 weeks`, `1 year`, or ISO 8601 with one unit (`P6M`), to the recorded form. */
export function parseDuration(
  field: string,
  given: unknown,
): E.Either<{ readonly kind: 'BadInput'; readonly field: string; readonly detail: string }, string> {
  const no = (detail: string) => E.left({ kind: 'BadInput', field, detail } as const)
  const text = typeof given === 'string' ? given.trim() : ''
  const [, amount = '', word = ''] = WORDS.exec(text.toLowerCase()) ?? []
  const duration = amount === '' ? text.toUpperCase() : `P${amount}${word.charAt(0).toUpperCase()}`
  if (!RECORDED.test(duration))
    return no(
      `must be a duration such as "6 months", "180 days", "26 weeks", "1 year" or P6M${typeof given === 'string' ? `, and is "${given}"` : ''}`,
    )
  const parts = partsOf(duration)
  return parts.amount * DAYS_OF[parts.unit] > MOST_YEARS * DAYS_OF.Y
    ? no(`must be at most ${String(MOST_YEARS)} years`)
    : E.right(duration)
}

/** A duration for people: `6 months`. */
export function durationText(duration: string): string {
  const { amount, unit } = partsOf(duration)
  return `${String(amount)} ${UNITS[unit]}${amount === 1 ? '' : 's'}`
}

/**
 * The time after a duration has passed, in milliseconds since 1970. Months end on their last day if they lack the day: a
 * month after 31 January is 28 February.
 */
export function afterDuration(time: number, duration: string): number {
  const { amount, unit } = partsOf(duration)
  const date = new Date(time)
  if (unit === 'D' || unit === 'W') date.setUTCDate(date.getUTCDate() + amount * DAYS_OF[unit])
  else {
    const day = date.getUTCDate()
    date.setUTCDate(1)
    date.setUTCMonth(date.getUTCMonth() + amount * (unit === 'Y' ? 12 : 1))
    const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
    date.setUTCDate(Math.min(day, lastDay))
  }
  return date.getTime()
}
