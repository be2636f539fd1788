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

/** The 230 most frequent pairs of letters in the words of code and documentation. */
const PAIRS: ReadonlySet<string> = new Set(
  (
    'abacadagaiakalamanaparasatauavaybabebiblbobrbsbucacccechcickclcocrctcudadddedidodrdsdueaecedeeefegeielemenepeqeres' +
    'etevewexfafefffiflfofrfugageghgigngrgsguhahehihohriaibicidieifigiliminioipirisitivizjekekikslaldlelilllolsltlulyma' +
    'mbmemimmmompmsmunancndnenfngninnnonsntnunvoaobocodogoiokolomonoooporosotouovowpapepiplpoppprpsptpuqurarcrdrergrirk' +
    'rmrnrorrrsrtrurvrysascseshsislsospssstsutatctethtitltotrtstttutyuaubucudueuiulumunupurusutvaveviwawewhwiwnwowrxpxt' +
    'ypze'
  ).match(/../gu),
)
/** Words of code have more frequent pairs: 1 of 150 words has fewer, and 59 of 60 random texts of letters. */
const FREQUENT = 0.65
const FREQUENT_IN_WORDS = 0.7
/** Changes between small letters and capitals; a name in code has at most one in three letters. */
const IRREGULAR = 0.36

/** The share of frequent pairs of letters. */
function frequencyOf(letters: string): number {
  const small = letters.toLowerCase()
  let frequent = 0
  for (let at = 1; at < small.length; at += 1) if (PAIRS.has(small.slice(at - 1, at + 1))) frequent += 1
  return frequent / (small.length - 1)
}

/** A word of a name in code. */
const isWord = (letters: string): boolean => letters.length >= 5 && frequencyOf(letters) > FREQUENT_IN_WORDS

/** Letters that are no words, such as a generated password: seldom pairs, or capitals in irregular places. */
function isRandomLetters(value: string): boolean {
  const letters = value.replaceAll(/[^A-Za-z]/gu, '')
  if (letters.length < 6 || value.length < 8) return false
  if (frequencyOf(letters) < FREQUENT) return true
  return caseChanges(letters) / letters.length > IRREGULAR && !(value.match(/[A-Z]?[a-z]+/gu) ?? []).some(isWord)
}

/** Code or a variable instead of a value. */
const EXPRESSION =
  /^(?:\$[A-Za-z_{(]|%[A-Za-z_]{2,}%|[<({]|[\w$.]+\(|\w+\[|(?:process|import|os|self|this|config|settings|env|req|request|ctx|options|args|params|props|user|data|body)\.|(?:new|await|typeof|async|function|return)$)/u
/** A placeholder in capitals. */
const CAPITALS = /^@?[A-Z]+(?:_[A-Z0-9]+)*$/u

/** A longer text with `%s` in it is no format. */
const LONGEST_FORMAT = 8

/** The text after the name of a secret in a position that only a value can have: on a command line, in a header, in a file of settings. */
const isNamed = (value: string): boolean =>
  !PLACEHOLDER.test(value.length > LONGEST_FORMAT ? value.replaceAll('%s', '') : value) &&
  !value.startsWith('[secret:') &&
  !EXPRESSION.test(value) &&
  !(CAPITALS.test(value) && !isRandomLetters(value)) &&
  !/[(){}…]|=>|\.{3}/u.test(value)

/** As `isNamed`, but words alone may be prose or code. */
const isNamedNoWords = (value: string): boolean =>
  isNamed(value) &&
  (isRandomLetters(value) || (!CODE_NAME.test(value) && (HAS_LETTER.test(value) || /^\d{6,}$/u.test(value))))

/** Base64 of a name and a password, as registries store it. */
const isLogin = (value: string): boolean =>
  /^[\x20-\x7e]{1,128}:[\x20-\x7e]{2,}$/u.test(Buffer.from(value, 'base64').toString('latin1'))

/** Cookies with values: at least one is no placeholder. */
const isCookie = (value: string): boolean =>
  value
    .split(';')
    .map((each) => each.slice(each.indexOf('=') + 1).trim())
    .some((each) => each.length >= 4 && isNamed(each) && !/^(?:value\d*|name|foo|bar|baz|abc|deleted)$/iu.test(each))

/** A random token of these lengths has at least this many different characters. */
const hasVariety = (value: string): boolean => new Set(value.slice(-64)).size >= Math.min(7, value.length / 2)

const isPassword = (value: string): boolean =>
  !PLACEHOLDER.test(value) && !value.startsWith('[secret:') && !/^[$%{]/u.test(value)

/** A value after a name such as `password`: words alone are code, but a digit or a sign among them is a password. */
const isAssignedPassword = (value: string): boolean =>
  (isPassword(value) && isRandomLetters(value)) ||
  (isPassword(value) && HAS_LETTER.test(value) && !CODE_NAME.test(value) && !NUMBERS.test(value))

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
  named: isNamed,
  namedNoWords: isNamedNoWords,
  login: isLogin,
  cookie: isCookie,
} as const
