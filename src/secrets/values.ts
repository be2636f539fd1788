/** Decides whether a value with the shape of a secret is one, or an example, a word or code. */

/** Example values in documentation and in templates. */
const PLACEHOLDER =
  /^(?:.*(?:placeholder|your[-_]|[-_]here$|change[-_]?me|redacted|\*\*\*|x{5,}|\.\.\.|%s|1234567890abcdef)|(?:my[-_]?)?(?:pass(?:word|wd)?|pwd|secret|user|username|token|test|example|changeit|undefined|null|none|true|false|string|required|optional)\d{0,3}$)/iu

/** A name in code: words that are joined by capitals, hyphens, dots or underscores, without a run of digits in a word. */
const CODE_NAME = /^[$_]?[A-Za-z]+\d{0,2}(?:[-_./:]+[A-Za-z]+\d{0,2})*[-_./:]?$/u
/** Versions, numbers, times, sizes and lists of them. */
const NUMBERS = /^[\d.,:+/_-]+[a-z]{0,2}$/iu
/** A file with a directory. */
const FILE = /^[\w.-]*\/[\w./-]+\.[a-z]{2,5}$/u
const HAS_DIGIT = /\d/u
const HAS_LETTER = /[A-Za-z]/u

/** The entropy of a text in bits for each character. */
function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

/** A random token of these lengths has at least this many different characters. */
const hasVariety = (value: string): boolean => new Set(value.slice(-64)).size >= Math.min(7, value.length / 2)

const isPassword = (value: string): boolean =>
  !PLACEHOLDER.test(value) && !value.startsWith('[secret:') && !/^[$%{]/u.test(value)

/** A value after a name such as `password`: words alone are code, but a digit or a sign among them is a password. */
const isAssignedPassword = (value: string): boolean =>
  isPassword(value) && HAS_LETTER.test(value) && !CODE_NAME.test(value) && !NUMBERS.test(value)

const isAssigned = (value: string): boolean =>
  isPassword(value) &&
  HAS_DIGIT.test(value) &&
  HAS_LETTER.test(value) &&
  !CODE_NAME.test(value) &&
  !NUMBERS.test(value) &&
  !FILE.test(value) &&
  entropy(value) >= 3.3

/** The text between the lines of a key: at least one line of Base64. */
const hasKeyMaterial = (value: string): boolean => /[A-Za-z0-9+/=]{32}/u.test(value) && new Set(value).size > 20

/** How often small letters and capitals follow each other. */
const caseChanges = (value: string): number => (value.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/gu) ?? []).length

/** The beginning of a secret. It is shorter than the whole, so it has to look more like a random text. */
export function isUnfinishedSecret(cut: string): boolean {
  const value = cut.replace(/\.+$/u, '')
  const variety = new Set(value).size
  if (!isPassword(value) || NUMBERS.test(value) || !HAS_LETTER.test(value) || variety < 5) return false
  if (HAS_DIGIT.test(value) && !CODE_NAME.test(value)) return true
  return value.length >= 10 && variety >= 8 && (caseChanges(value) >= 5 || /^[A-Z\d]+$/u.test(value))
}

/** Tests of values, by the name that a rule gives. */
export const VALUE_TESTS = {
  keyMaterial: hasKeyMaterial,
  urlPassword: isPassword,
  token: hasVariety,
  password: isAssignedPassword,
  assigned: isAssigned,
} as const
