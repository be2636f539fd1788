/** Times as people write them: `yesterday`, `monday`, `3d`, `2026-03-01`. Days are those of the local time zone. */
import { either as E } from 'fp-ts'
import { nearest } from '../../domain/text/edit-distance.js'
import { parseInstant } from '../../domain/values/moment.js'
import { LedgerError } from '../../lib/ledger-error.js'

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** The start of the day that was this number of days ago. */
const startOfDay = (now: Date, daysAgo: number): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo)

/** Examples of times in words. */
const TIME_EXAMPLES = 'yesterday, monday, "last tuesday", "last week", 3d, 2026-03-01'

/** The time that a word means: a day means its start. Other texts, such as ISO times, are returned unchanged. */
export function timeInWords(text: string, now: Date): Date | string {
  const words = text.trim().toLowerCase()
  if (words === 'now') return now
  if (words === 'today') return startOfDay(now, 0)
  if (words === 'yesterday') return startOfDay(now, 1)
  const {
    day,
    last,
    number = '',
    unit = '',
    date,
  } = /^(?:(?<last>last )?(?:this )?(?<day>[a-z]{3,})|(?<number>\d{1,6})\s?(?<unit>[mhdw])(?: ago)?|(?<date>\d{4}-\d{2}-\d{2}))$/u.exec(
    words,
  )?.groups ?? {}
  if (date !== undefined) return dateAtMidnight(date) ?? text
  if (day === undefined) return unit === '' ? text : new Date(now.getTime() - Number(number) * (UNIT_MS[unit] ?? 0))
  const monday = (now.getDay() + 6) % 7
  if (words === 'this week') return startOfDay(now, monday)
  if (words === 'last week') return startOfDay(now, monday + 7)
  const weekday = DAYS.findIndex((name) => name === day || name.slice(0, 3) === day)
  if (weekday === -1) return text
  const daysAgo = (now.getDay() - weekday + 7) % 7
  return startOfDay(now, daysAgo === 0 && last !== undefined ? 7 : daysAgo)
}

/** The time that a flag means. Throws an error with examples if it is none. */
export function timeOfFlag(name: string, value: string, now: Date): Date | string {
  const time = timeInWords(value, now)
  const parsed = parseInstant(`--${name}`, time)
  if (E.isRight(parsed)) return time
  const near = nearest(value.trim().toLowerCase(), [...DAYS, 'today', 'yesterday'])
  throw new LedgerError(
    'Usage',
    `--${name} ${parsed.left.detail}${near === undefined ? `; or a word: ${TIME_EXAMPLES}` : `: did you mean ${near}?`}`,
  )
}

/** The time range of one day. */
export function dayOfFlag(name: string, value: string, now: Date): { readonly since: Date; readonly until: Date } {
  const since = timeOfFlag(name, value, now)
  if (typeof since === 'string' || since.getTime() !== startOfDay(since, 0).getTime() || / week$/iu.test(value.trim()))
    throw new LedgerError('Usage', `--${name} needs a day, such as yesterday, monday, "last tuesday" or 2026-03-01`)
  return { since, until: startOfDay(since, -1) }
}

/** The start of a date in local time; undefined if the month does not have that day. */
function dateAtMidnight(date: string): Date | undefined {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const midnight = new Date(year, month - 1, day)
  return midnight.getMonth() === month - 1 && midnight.getDate() === day ? midnight : undefined
}

const two = (number: number): string => String(number).padStart(2, '0')

/** A time for people, in local time: `Tue 2026-03-03 14:05`. */
export function localTime(iso: string): string {
  const time = new Date(iso)
  const weekday = (DAYS[time.getDay()] ?? '').slice(0, 3)
  const date = `${String(time.getFullYear())}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  return `${weekday.slice(0, 1).toUpperCase()}${weekday.slice(1)} ${date} ${two(time.getHours())}:${two(time.getMinutes())}`
}
