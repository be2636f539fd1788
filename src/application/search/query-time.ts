/**
 * Finds the times that a query names, and how well a message's time fits them.
 *
 * People report an event on the same day or in the days after: a message of Sunday may describe Saturday.
 */
const TIME_BOOST = 1
const DAY_BOOST = 2
/** The days after a named day fit too, each with a lower weight, up to this many. */
const DAYS_AFTER = 2
const MS_A_DAY = 86_400_000
/** A leap year, so that every day exists. */
const ANY_YEAR = 2024

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
// Three letters distinguish the months and are the usual abbreviation.
const LETTERS_OF_MONTH = 3
const monthNamed = (name: string): number =>
  MONTHS.findIndex((month) => month.startsWith(name.slice(0, LETTERS_OF_MONTH).toLowerCase()))

// An abbreviated month counts only with a day or a year: "Jan" and "mar" are other words too.
const aMonth = `(?:${MONTHS.join('|')}|${MONTHS.map((month) => month.slice(0, LETTERS_OF_MONTH)).join('|')}|sept)`
const aDay = String.raw`(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?!\d)`
const dayBeforeMonth = new RegExp(String.raw`${aDay}(?: of)? (${aMonth})\b`, 'giu')
const dayAfterMonth = new RegExp(String.raw`\b(${aMonth})\.? ${aDay}`, 'giu')
const monthOfYear = new RegExp(String.raw`\b(${aMonth})\.?,? (?:19|20)\d\d(?!\d)`, 'giu')
const aloneMonth = new RegExp(
  String.raw`\b(${MONTHS.filter((month) => month !== 'may' && month !== 'march').join('|')})\b`,
  'giu',
)
// May and march are also verbs. As months they have a capital inside the sentence, or follow a preposition or adjective
// of time.
const mayOrMarch =
  /(?<=\S )(May|March)\b|(?<=\b(?:in|of|since|last|this|next|by|until|till|during|from|before|after|early|late|mid)[ -])(may|march)\b/gu
const numberedMonth = /(?<!\d)(\d{1,2})[月월]|(?<=(?:19|20)\d\d-)(\d\d)(?!\d)/gu
// 号 is the spoken day in Chinese, 日 the written one.
const numberedDay = /(?<!\d)(\d{1,2})[月월] ?(\d{1,2})[日号號일]|(?<=(?:19|20)\d\d-)(\d\d)-(\d\d)(?!\d)/gu

/** A day of the year as one number. */
const dayOf = (month: number, day: number): number => month * 100 + day

export interface QueryTime {
  readonly months: ReadonlySet<number>
  readonly years: ReadonlySet<number>
  /** Each by `100 * month + day`. */
  readonly days: ReadonlySet<number>
}

/**
 * Months, years and days that a query names: English names, `2023`, `5月`, `2023年`, `2023-05`, `Aug 2023`, `7 May`,
 * `May 7th`, `Aug. 7`, `5月7日`, `5月7号`, `5월 7일`, `2023-05-07`. Months count from 0.
 */
export function queryTime(query: string): QueryTime {
  const numbered = [...query.matchAll(numberedMonth)].map(([, month, iso]) => Number(month ?? iso) - 1)
  const ofYear = [...query.matchAll(monthOfYear)].map(([, month = '']) => monthNamed(month))
  const named = [...query.matchAll(aloneMonth), ...query.matchAll(mayOrMarch)].map(([month]) => monthNamed(month))
  const years = [...query.matchAll(/(?<!\d)(?:19|20)\d\d(?!\d)/gu)].map(([year]) => Number(year))
  const days = [
    ...[...query.matchAll(dayBeforeMonth)].map(([, day, month = '']) => ({ month: monthNamed(month), day })),
    ...[...query.matchAll(dayAfterMonth)].map(([, month = '', day]) => ({ month: monthNamed(month), day })),
    ...[...query.matchAll(numberedDay)].map(([, month, day, isoMonth, isoDay]) => ({
      month: Number(month ?? isoMonth) - 1,
      day: day ?? isoDay,
    })),
  ]
  return {
    months: new Set([...named, ...numbered, ...ofYear, ...days.map(({ month }) => month)]),
    years: new Set(years),
    days: new Set(days.map(({ month, day }) => dayOf(month, Number(day)))),
  }
}

/** The named days and the days after them, with how well they fit: from 1 downwards. */
function fittingDays(days: ReadonlySet<number>): ReadonlyMap<number, number> {
  const fitting = new Map<number, number>()
  for (const named of days) {
    const time = Date.UTC(ANY_YEAR, Math.floor(named / 100), named % 100)
    for (let after = 0; after <= DAYS_AFTER; after += 1) {
      const date = new Date(time + after * MS_A_DAY)
      const day = dayOf(date.getUTCMonth(), date.getUTCDate())
      fitting.set(day, Math.max(fitting.get(day) ?? 0, 1 - after / (DAYS_AFTER + 1)))
    }
  }
  return fitting
}

/** The factor for a message by its time, in milliseconds since 1970; 1 if the time does not fit. */
export function timeFactor({ months, years, days }: QueryTime): (time: number) => number {
  if (months.size === 0 && years.size === 0) return () => 1
  const fitting = fittingDays(days)
  return (time) => {
    const date = new Date(time)
    const month = date.getUTCMonth()
    const fits = fitting.get(dayOf(month, date.getUTCDate())) ?? 0
    return (
      (months.has(month) || fits > 0 ? 1 + TIME_BOOST : 1) *
      (years.has(date.getUTCFullYear()) ? 1 + TIME_BOOST : 1) *
      (1 + DAY_BOOST * fits)
    )
  }
}
