/** Whether a text mentions a day, in words or digits: “March 15, 2024”, “15. März”, “3月15日”, “15/03”. */

/** Month names differ by language; Chinese, Japanese and Korean write digits. */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ru']
const DAY = /^\d{4}-(\d{2})-(\d{2})$/u

/** The names of a month (1 to 12) in each language, long and short, in the form that stands with a day. */
function namesOf(month: number): readonly string[] {
  const date = new Date(Date.UTC(2000, month - 1, 15))
  const names = LANGUAGES.flatMap((language) =>
    (['long', 'short'] as const).flatMap((form) =>
      new Intl.DateTimeFormat(language, { day: 'numeric', month: form, timeZone: 'UTC' })
        .formatToParts(date)
        .flatMap(({ type, value }) => (type === 'month' ? [value.toLowerCase().replace(/\.$/u, '')] : [])),
    ),
  )
  return [...new Set(names)]
}

/** A day of a month next to the month, in either order. */
function patternOf(month: number, day: number): RegExp {
  const name = `(?<!\\p{L})(?:${namesOf(month).join('|')})(?!\\p{L})\\.?`
  const [m, d] = [`0?${String(month)}`, `0?${String(day)}`]
  const forms = [
    String.raw`${name}\s+${d}(?:st|nd|rd|th)?(?!\d)`,
    String.raw`(?<!\d)${d}(?:st|nd|rd|th|er|\.|º)?\s+(?:of |de |di )?${name}`,
    String.raw`(?<!\d)${m}\s?[月월]\s?${d}\s?[日일號号]?(?!\d)`,
    String.raw`(?<![\d/.-])(?:${m}[/-]${d}|${d}[/-]${m}|${d}\.${m}\.)(?![\d])`,
  ]
  return new RegExp(forms.join('|'), 'iu')
}

/**
 * Whether a text mentions a day, with or without its year.
 * @param date `YYYY-MM-DD`; anything else is mentioned nowhere
 */
export function mentionsDay(text: string, date: string): boolean {
  const [, month, day] = DAY.exec(date) ?? []
  if (month === undefined || day === undefined) return false
  return patternOf(Number(month), Number(day)).test(text)
}
