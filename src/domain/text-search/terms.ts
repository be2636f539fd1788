/**
 * Text to the terms that search knows it by: one tokenizer for what is stored and for what is asked, so that no database's
 * dictionary has a say in it and the same text has the same terms on every server.
 *
 * Words of scripts that put spaces between words become their stems; scripts that do not (Chinese, Japanese, Korean, Thai, …) become
 * overlapping pairs of letters and the single letters, since no word list is asked. Words that only hold sentences together
 * (`the`, `did`, `的`) are no terms: they would be half of the index, and measured on labelled questions they find nothing.
 */
import { stemOf } from './stem.js'

/** Raise it when the terms of a text change: stored terms of another version do not match. */
export const TERMS_VERSION = 1

/** Longest term, in letters. Longer runs are keys, hashes and encoded bytes; their beginning tells them apart. */
const MAX_TERM_LETTERS = 48

/**
 * Most distinct terms of one text. A person's message has 10 to 200; a printed file of 80,000 characters about 2,500.
 * What comes after them in a text is still in the log, but is not found by its words.
 */
export const MAX_DISTINCT_TERMS = 3_000

/** Characters of a text that are looked at; a text of a megabyte would hold up everything behind it for a second. */
const MAX_TEXT_LENGTH = 200_000

const UNSPACED = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー`
const runs = new RegExp(String.raw`[${UNSPACED}]+|[[\p{L}\p{N}\p{M}]--[${UNSPACED}]]+`, 'gv')
const startsUnspaced = new RegExp(`^[${UNSPACED}]`, 'v')
const accented = /(\p{Script=Latin})\p{M}+/gu

// English words without a subject of their own: articles, pronouns, auxiliaries, prepositions, conjunctions, question words, and what
// chats fill their pauses with. "may" is missing because it is a month too.
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
// Letters that do the same work in Chinese, and pairs made of nothing else.
const FUNCTION_LETTERS = '的了我你您他她它们是在有和与就不也都这那吗呢吧啊呀哦嗯很太还又着过得个么什怎谁哪把被让给对从到为因所以但而或要会能可想说'

// Words that any talk is full of. They are terms, because now and then one of them is what is asked about, and count for half.
const VAGUE_WORDS = `
able according actual ask become believe big bit call come certain clear day different end enough exact example far feel find give go good great
happen hope idea important keep kind know last later left least little long look love make mean mention mind need new next old part place
possible put question recent remember right say see seem set show sort start stuff take talk tell think time try use usual want way whole
wish work wonder year`
const VAGUE_PAIRS = `
觉得 知道 真的 可以 没有 时候 现在 这个 那个 一个 我们 你们 他们 自己 还是 就是 但是 因为 所以 如果 非常 特别 一下 一些 这样 那样 应该 可能 需要
已经 告诉 记得 感觉 一起 今天 怎样 为了 然后 其实`

const functionWords: ReadonlySet<string> = new Set(FUNCTION_WORDS.trim().split(/\s+/u))
const functionLetters: ReadonlySet<string> = new Set(FUNCTION_LETTERS)

const vagueTerms: ReadonlySet<string> = new Set([...VAGUE_WORDS.trim().split(/\s+/u).map(stemOf), ...VAGUE_PAIRS.trim().split(/\s+/u)])

const plainWords = /[a-z0-9]+/g
const isPlain = (text: string): boolean => !/[^\0-\x7f]/.test(text)

function folded(text: string): string {
  const lower = text.normalize('NFKC').toLowerCase()
  // Only where an accent can be is it taken off: "café" is found by "cafe".
  return /[\u00c0-\u024f\u1e00-\u1eff]/u.test(lower) ? lower.normalize('NFD').replace(accented, '$1').normalize('NFC') : lower
}

/** The words of a text and its runs of letters of scripts without spaces. Most texts are ASCII, where this takes a fifth of the time. */
const runsOf = (text: string): readonly string[] => (isPlain(text) ? text.toLowerCase().match(plainWords) : folded(text).match(runs)) ?? []

function unspacedTerms(run: string): readonly string[] {
  const letters = Array.from(run)
  return letters.flatMap((letter, at) => {
    const isFunction = functionLetters.has(letter)
    const before = letters[at - 1]
    const pair = before !== undefined && !(isFunction && functionLetters.has(before)) ? [before + letter] : []
    return isFunction ? pair : [letter, ...pair]
  })
}

// Stems cost 2 µs a word and conversations repeat their words, so the latest are kept; '' stands for a word that is no term.
const KEPT_WORDS = 50_000
const kept = new Map<string, string>()

function wordTerm(word: string): string {
  const seen = kept.get(word)
  if (seen !== undefined) return seen
  if (word.length > MAX_TERM_LETTERS) return word.slice(0, MAX_TERM_LETTERS)
  const term = functionWords.has(word) ? '' : stemOf(word)
  if (kept.size >= KEPT_WORDS) kept.clear()
  kept.set(word, term)
  return term
}

/** How often each term is in a text, in the order of their first place, and how many there are in all. */
export interface TermCounts {
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
}

/** The terms of a text. */
export function termCounts(text: string): TermCounts {
  const counts = new Map<string, number>()
  let length = 0
  const add = (term: string): void => {
    const count = counts.get(term)
    if (count === undefined && counts.size >= MAX_DISTINCT_TERMS) return
    counts.set(term, (count ?? 0) + 1)
    length += 1
  }
  for (const run of runsOf(text.slice(0, MAX_TEXT_LENGTH))) {
    // Below the first letter of any script without spaces, nothing has to be looked up.
    if (run.charCodeAt(0) >= 0x0e00 && startsUnspaced.test(run)) for (const term of unspacedTerms(run)) add(term)
    else {
      const term = wordTerm(run)
      if (term !== '') add(term)
    }
  }
  return { counts, length }
}

/** The distinct terms of a query, in its order. */
export const queryTerms = (query: string): readonly string[] => [...termCounts(query).counts.keys()]

/** Whether a term is a word that any talk is full of. */
export const isVague = (term: string): boolean => vagueTerms.has(term)

/** Whether a term is a single letter of a script without spaces: common, and told apart by its neighbours. */
export const isSingleLetter = (term: string): boolean => startsUnspaced.test(term) && Array.from(term).length === 1

/** Text as a Postgres `text` column takes it: NUL left out, lone surrogates replaced. What was said stays whole in the log. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()
