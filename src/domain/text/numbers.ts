/**
 * Finds the numbers in a text, in normal form: 1,000, 1’000 and 1 000 become 1000, 1.50 becomes 1.5, ２０ becomes 20, 3万
 * becomes 30000, 12k becomes 12000. Dates and times are unchanged. A single digit counts only with a currency, a scale
 * or a percent sign, since list numbers carry no information. Numbers in words (`three`, `三百`) are not found, and
 * neither are parts of versions, hashes and other identifiers.
 */

export interface FoundNumber {
  /** The normal form. */
  readonly value: string
  /** As written in the text. */
  readonly text: string
  /** Its index in the text. */
  readonly at: number
}

const NUMBER = new RegExp(
  String.raw`(?<![\p{sc=Latin}\p{sc=Cyrillic}\p{N}_.,#/:\\-])` +
    // Plain spaces group digits where that is sure: "100 200 300" may be three numbers, "1 000 000" and "12 500" are
    // one.
    String.raw`(?:(?<when>\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}(?::\d{2})?)|(?<thousands>\d{1,3}(?:[,'’\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}|(?<!\d )(?:\d{1,2}(?: \d{3})+|\d{3}(?: \d{3})* 000)(?:[.,]\d{1,2})?(?! ?\d))|(?<plain>\d+(?:[.,]\d+)?))` +
    String.raw`(?![.,:/-]?\d|[\p{sc=Latin}_]{0,3}\d|\p{sc=Latin}{4}|_)` +
    String.raw`(?:\s?(?<scale>[万萬亿億만억]|[kK](?![\p{L}\p{N}])))?(?<percent>\s?%)?`,
  'gu',
)
const CURRENCY = /[$€£¥₩₹]\s?$/u
const SCALES: Readonly<Partial<Record<string, number>>> = {
  k: 1e3,
  万: 1e4,
  萬: 1e4,
  만: 1e4,
  亿: 1e8,
  億: 1e8,
  억: 1e8,
}

/** Converts full-width digits and symbols to ASCII. */
const narrow = (text: string): string =>
  text.replaceAll(/[０-９．，％：￥]/gu, (wide) =>
    wide === '￥' ? '¥' : String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
  )

/** Digits without grouping, with a point before the decimals. */
function ungrouped(digits: string): string {
  // If spaces group the digits, a comma separates the decimals.
  if (/ /u.test(digits)) return digits.replaceAll(' ', '').replace(',', '.')
  const dots = digits.split('.').length - 1
  return digits.replaceAll(dots > 1 ? /[.,'’\u00a0\u2009\u202f]/gu : /[,'’\u00a0\u2009\u202f]/gu, '')
}

function written(digits: string, grouped: boolean, scale: string | undefined): string {
  const plain = grouped ? ungrouped(digits) : digits.replace(',', '.')
  const factor = scale === undefined ? undefined : SCALES[scale.toLowerCase()]
  if (factor !== undefined) return String(Number((Number(plain) * factor).toPrecision(15)))
  return plain.includes('.') ? plain.replace(/\.?0+$/u, '') : plain
}

/** The numbers in a text, in order. */
export function numbersIn(text: string): FoundNumber[] {
  const read = narrow(text)
  return Array.from(read.matchAll(NUMBER)).flatMap((match) => {
    const { when, thousands, plain = '', scale, percent } = match.groups ?? {}
    if (when !== undefined) return [{ value: when, text: when, at: match.index }]
    const isSignificant =
      plain.length > 1 ||
      thousands !== undefined ||
      scale !== undefined ||
      percent !== undefined ||
      CURRENCY.test(read.slice(Math.max(0, match.index - 2), match.index))
    if (!isSignificant) return []
    return [
      {
        value: `${written(thousands ?? plain, thousands !== undefined, scale)}${percent === undefined ? '' : '%'}`,
        text: match[0].trim(),
        at: match.index,
      },
    ]
  })
}
