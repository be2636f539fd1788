/**
 * Splits text into search terms. Stored texts and queries use the same tokenizer, independent of any database's
 * dictionary, so the same text has the same terms on every server.
 *
 * Words of scripts with spaces become their stems. Scripts without spaces (Chinese, Japanese, Korean, Thai, …) become
 * overlapping pairs of letters and the single letters, without a word list. Function words (`the`, `did`, `的`) are not
 * terms: they would be half of the index, and on labelled questions they did not improve results.
 */
import type { CodeCounts } from './codes.js'
import { stemOf } from './stem.js'
import { createVocabulary, HASH_START, hashed, type Counted } from './vocabulary.js'

/** Increase it when the terms of a text change: stored terms of another version do not match. */
export const TERMS_VERSION = 2

/** The longest term, in letters. Longer runs are keys, hashes and encoded bytes; their beginning distinguishes them. */
const MAX_TERM_LETTERS = 48

/**
 * The maximum number of distinct terms of a text. A person's message has 10 to 200; a printed file of 80,000 characters
 * about 2,500. Text after the last of them is in the log but cannot be found by its words.
 */
export const MAX_DISTINCT_TERMS = 3_000

/** The maximum number of characters that are read. A text of a megabyte would block the next ones for a second. */
const MAX_TEXT_LENGTH = 200_000

const unspaced = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]`
const startsUnspaced = new RegExp(`^${unspaced}`, 'u')
const startsSpaced = new RegExp(String.raw`^(?!${unspaced})[\p{L}\p{N}\p{M}]`, 'u')
const accented = /(\p{Script=Latin})\p{M}+/gu

// The kinds of letters.
const NONE = 1
const SPACED = 2
const UNSPACED = 3
const kindOf = (letter: string): number =>
  startsSpaced.test(letter) ? SPACED : startsUnspaced.test(letter) ? UNSPACED : NONE

/** The kind of each code unit, 0 if not yet computed. Surrogates stay 0. */
const kinds = new Uint8Array(0x10000)

function kindAt(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  const known = kinds[unit]
  if (known !== undefined && known !== 0) return known
  if (unit < 0xd800 || unit > 0xdfff) return (kinds[unit] = kindOf(String.fromCharCode(unit)))
  // A surrogate pair is classified each time, since few texts have one. A lone surrogate has no kind.
  const letter = text.codePointAt(unit < 0xdc00 ? at : at - 1) ?? 0
  return letter > 0xffff ? kindOf(String.fromCodePoint(letter)) : NONE
}

// English words without content: articles, pronouns, auxiliaries, prepositions, conjunctions, question words, and
// fillers of chats. "may" is omitted because it is also a month.
const FUNCTION_WORDS = `
a about above after again against all am an and any are as at be because been before being below between both but by can could did do does
doing down during each few for from further had has have having he her here hers herself him himself his how i if in into is it its itself
just me might more most must my myself no nor not now of off on once only or other our ours ourselves out over own same shall she should so
some such than that the their theirs them themselves then there these they this those through to too under until up very was we were what
when where which while who whom whose why will with would you your yours yourself yourselves
s t d m ll re ve don didn doesn isn wasn aren weren won wouldn couldn shouldn hasn haven hadn cannot
also still even ever really actually yes yeah yep nope okay ok oh hey hi hello wow haha hmm well please thanks thank sure maybe perhaps
quite rather many much lot lots thing things something anything everything nothing someone anyone everyone one ones like get got let us
upon within without since yet though although however therefore either neither whether every another else`
// Letters with the same function in Chinese. A pair of them is not a term either.
const FUNCTION_LETTERS =
  '的了我你您他她它们是在有和与就不也都这那吗呢吧啊呀哦嗯很太还又着过得个么什怎谁哪把被让给对从到为因所以但而或要会能可想说'

// Words that are frequent in any conversation, and words of approval or emphasis. They are terms, because some queries
// are about them, but have less than half the weight.
const VAGUE_WORDS = `
able according actual ask become believe big bit call come certain clear day different end enough exact example far feel find give go good great
happen hope idea important keep kind know last later left least little long look love make mean mention mind need new next old part place
possible put question recent remember right say see seem set show sort start stuff take talk tell think time try use usual want way whole
wish work wonder year
nice cool awesome amazing fantastic wonderful incredible lovely beautiful definitely totally absolutely super pretty guess fun enjoy glad
sound excited exciting special happy hear share proud`
const VAGUE_PAIRS = `
觉得 知道 真的 可以 没有 时候 现在 这个 那个 一个 我们 你们 他们 自己 还是 就是 但是 因为 所以 如果 非常 特别 一下 一些 这样 那样 应该 可能 需要
已经 告诉 记得 感觉 一起 今天 怎样 为了 然后 其实`

const functionWords: ReadonlySet<string> = new Set(FUNCTION_WORDS.trim().split(/\s+/u))
const functionLetters: ReadonlySet<string> = new Set(FUNCTION_LETTERS)

const vagueTerms: ReadonlySet<string> = new Set([
  ...VAGUE_WORDS.trim().split(/\s+/u).map(stemOf),
  ...VAGUE_PAIRS.trim().split(/\s+/u),
])

const isPlain = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Between two parts of a name such as `parseConfigFile` or `XMLParser`. */
const PART_BORDER = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/u
const NAME_IN_PARTS = /(?<![A-Za-z0-9])[A-Za-z0-9]*(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])[A-Za-z0-9]*/gu
/** Letters of a part, on average. Ids and encoded bytes change between capitals and small letters more often. */
const LEAST_PART_LETTERS = 3

/**
 * The parts of a name, with a blank before each; '' for letters that are not a name, such as an id: there a lower-case
 * letter follows a digit, the parts are short, or there are too many letters.
 */
function partsOf(name: string): string {
  if (name.length > MAX_TERM_LETTERS || /\d[a-z]/u.test(name)) return ''
  const parts = name.split(PART_BORDER)
  return name.length < parts.length * LEAST_PART_LETTERS ? '' : ` ${parts.join(' ')}`
}

/** The text with the parts of each name after it, so that a name is found by its parts and by itself. */
const withParts = (text: string): string =>
  /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/u.test(text) ? text.replace(NAME_IN_PARTS, (name) => `${name}${partsOf(name)}`) : text

const ARABIC = /[\u0621-\u0652\u0670\u0671]/u
/** Vowel signs and the stretching letter: most writers leave them out. */
const ARABIC_SIGNS = /[\u0640\u064b-\u0652\u0670]/gu
/** An article, alone or after "and", "with", "as", "then" or "for", and at least two letters of its word. */
const ARABIC_ARTICLE = /^(?:[\u0648\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)(?=\p{L}{2})/u

/**
 * The text in normal form: lower case without accents, `ß` as `ss`, the Turkish letters `ı` and `İ` as `i`, and Arabic
 * without vowel signs and with one form of alif.
 */
function folded(given: string): string {
  const text = withParts(given)
  if (isPlain(text)) return text.toLowerCase()
  const lower = text.normalize('NFKC').toLowerCase().replaceAll('ß', 'ss').replaceAll('ı', 'i')
  // Only where an accent can be is it taken off: "café" is found by "cafe".
  const bare = /[\p{Mn}\u00c0-\u024f\u1e00-\u1eff]/u.test(lower)
    ? lower.normalize('NFD').replace(accented, '$1').normalize('NFC')
    : lower
  return ARABIC.test(bare)
    ? bare.replaceAll(ARABIC_SIGNS, '').replaceAll(/[\u0622\u0623\u0625\u0671]/gu, '\u0627')
    : bare
}

/** The term of a piece of letters: a word, or one or two letters of a script without spaces. '' if it is not a term. */
function meaningOf(letters: string): string {
  if (startsUnspaced.test(letters))
    return Array.from(letters).every((letter) => functionLetters.has(letter)) ? '' : letters
  if (letters.length > MAX_TERM_LETTERS) return letters.slice(0, MAX_TERM_LETTERS)
  if (ARABIC.test(letters)) return letters.replace(ARABIC_ARTICLE, '')
  return functionWords.has(letters) ? '' : stemOf(letters)
}
const vocabulary = createVocabulary(meaningOf, MAX_DISTINCT_TERMS)

/** The letters of a run of a script without spaces, and its pairs. Says where the run ends. */
function readUnspaced(text: string, from: number): number {
  let at = from
  let before = from
  let hashBefore = HASH_START
  while (at < text.length && kindAt(text, at) === UNSPACED) {
    const to = at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
    let hash = HASH_START
    let hashOfPair = hashBefore
    for (let each = at; each < to; each += 1) {
      hash = hashed(hash, text.charCodeAt(each))
      hashOfPair = hashed(hashOfPair, text.charCodeAt(each))
    }
    vocabulary.count(text, at, to, hash)
    if (at > from) vocabulary.count(text, before, to, hashOfPair)
    before = at
    hashBefore = hash
    at = to
  }
  return at
}

function read(given: string): Counted {
  vocabulary.begin()
  const text = folded(given.slice(0, MAX_TEXT_LENGTH))
  for (let at = 0; at < text.length;) {
    const kind = kindAt(text, at)
    const from = at
    if (kind === SPACED) {
      let hash = HASH_START
      do {
        hash = hashed(hash, text.charCodeAt(at))
        at += 1
      } while (at < text.length && kindAt(text, at) === SPACED)
      vocabulary.count(text, from, at, hash)
    } else if (kind === UNSPACED) at = readUnspaced(text, from)
    else at += 1
  }
  return vocabulary.counted()
}

/** How often each term is in a text, in the order of their first place, and how many there are in all. */
export interface TermCounts {
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
}

/** The terms of a text. */
export function termCounts(text: string): TermCounts {
  const { terms, counts, length } = read(text)
  return { counts: new Map(terms.map((term, at) => [vocabulary.text(term), counts[at] ?? 0])), length }
}

/** The same, each term as the value of its code. */
export function codeCounts(text: string): CodeCounts {
  const { terms, counts, length } = read(text)
  return { codes: terms.map((term) => vocabulary.code(term)), counts, length }
}

/** The distinct terms of a query, in its order. */
export const queryTerms = (query: string): readonly string[] => [...termCounts(query).counts.keys()]

/** Whether a term is a word that any talk is full of. */
export const isVague = (term: string): boolean => vagueTerms.has(term)

/** Whether a word, in lower case, is one of the English words without content. */
export const isFunctionWord = (word: string): boolean => functionWords.has(word)

/** Whether a term is a single letter of a script without spaces: common, and meaningful only with its neighbours. */
export const isSingleLetter = (term: string): boolean => startsUnspaced.test(term) && Array.from(term).length === 1

/** Text for a Postgres `text` column: without NUL, lone surrogates replaced. The log keeps the original text. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()
