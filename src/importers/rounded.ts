/**
 * Up to 0.9.0 a whole number of many digits was recorded as the one that a double comes to. The file that it was read
 * from is imported again when it has grown, and says the number with all its digits by now: that is the same message.
 */
import { isFields } from './bodies.js'

/** A double ends at 309 digits. */
const DIGITS = /(\d{16,309})/u

const isRoundedTo = (now: string, recorded: string): boolean => String(Number(now)) === recorded

/** Texts that differ in nothing but such numbers. */
function isRoundedText(recorded: string, now: string): boolean {
  const before = recorded.split(DIGITS)
  const after = now.split(DIGITS)
  return (
    before.length === after.length &&
    before.every((piece, at) => piece === after[at] || (at % 2 === 1 && isRoundedTo(after[at] ?? '', piece)))
  )
}

/** Whether a value was recorded for another one whose numbers have more digits. */
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
  if (!isFields(now) || !isFields(recorded)) return false
  const names = Object.keys(now).filter((name) => now[name] !== undefined)
  return names.length === Object.keys(recorded).length && names.every((name) => wasRounded(recorded[name], now[name]))
}
