/**
 * Up to 0.9.0 an integer with many digits was recorded after rounding to a double. A file that has grown is imported
 * again, and now yields the integer with all its digits: that is the same message.
 */
import { isRecord } from '../../lib/is-record.js'

/** A double has at most 309 digits. */
const DIGITS = /(\d{16,309})/u

const isRoundedTo = (now: string, recorded: string): boolean => String(Number(now)) === recorded

/** Whether two texts differ only in such numbers. */
function isRoundedText(recorded: string, now: string): boolean {
  const before = recorded.split(DIGITS)
  const after = now.split(DIGITS)
  return (
    before.length === after.length &&
    before.every((piece, at) => piece === after[at] || (at % 2 === 1 && isRoundedTo(after[at] ?? '', piece)))
  )
}

/** Whether a recorded value is the rounded form of the current one. */
export function wasRounded(recorded: unknown, now: unknown): boolean {
  if (recorded === now) return true
  if (typeof now === 'string')
    return typeof recorded === 'number'
      ? /^-?\d{16,309}$/u.test(now) && Number(now) === recorded
      : typeof recorded === 'string' && isRoundedText(recorded, now)
  if (Array.isArray(now))
    return (
      Array.isArray(recorded) &&
      recorded.length === now.length &&
      now.every((item, at) => wasRounded(recorded[at], item))
    )
  if (!isRecord(now) || !isRecord(recorded)) return false
  const names = Object.keys(now).filter((name) => now[name] !== undefined)
  return names.length === Object.keys(recorded).length && names.every((name) => wasRounded(recorded[name], now[name]))
}
