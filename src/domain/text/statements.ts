/**
 * Whether two short statements of summaries repeat each other, or whether the later one closes or replaces the earlier
 * one. Both rules compare words, never meaning: if they are unsure they return false, so that a statement stays.
 */
import { isActionVerb } from './action-verbs.js'
import { stemOf } from './stem.js'
import { queryTerms } from './terms.js'

/** A statement with the words that the rules compare. */
export interface Statement {
  /** Stems in order, without letter case, punctuation and articles: equal for a repetition. */
  readonly key: string
  /** Stems of the words with content, without those that only report progress. */
  readonly terms: ReadonlySet<string>
  /** Names, numbers and identifiers, in lower case, without years and dates. */
  readonly distinctive: ReadonlySet<string>
}

const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}_./:@’'-]*[\p{L}\p{N}])?/gu
const IDENTIFIER = /\p{N}|[_./]|\p{Ll}\p{Lu}/u
const DATE = /^\d{4}(?:-\d{2}){0,2}$/u
const UPPERCASE = /^\p{Lu}/u
const POSSESSIVE = /[’']s$/u

const ARTICLES: ReadonlySet<string> = new Set(['a', 'an', 'the'])

// An open item and the report that closes it differ in these words.
const PROGRESS = `
abandon answer cancel close complete consider decide decision discuss done drop finish fix investigate issue item need open pend pending plan
question remain resolve resolved settle solve todo unanswered undecided want`
const progressTerms: ReadonlySet<string> = new Set(PROGRESS.trim().split(/\s+/u).map(stemOf))

const wordsOf = (text: string): string[] => Array.from(text.matchAll(WORD), ([word]) => word.replace(POSSESSIVE, ''))

/** A capital letter marks a name, except in a word without content, and in the first word if that is a verb. */
const isName = (word: string, at: number): boolean =>
  UPPERCASE.test(word) && queryTerms(word).length > 0 && (at > 0 || !isActionVerb(word))

const isDistinctive = (word: string, at: number): boolean =>
  !DATE.test(word) && (IDENTIFIER.test(word) || isName(word, at))

/** The words of a statement, as the rules compare them. */
export function statementOf(text: string): Statement {
  const words = wordsOf(text)
  return {
    key: words
      .map((word) => (IDENTIFIER.test(word) ? word : stemOf(word.toLowerCase())))
      .filter((word) => !ARTICLES.has(word))
      .join(' '),
    terms: new Set(queryTerms(text).filter((term) => !progressTerms.has(term))),
    distinctive: new Set(words.filter(isDistinctive).map((word) => word.toLowerCase())),
  }
}

/** Whether two statements say the same in the same order of words. Numbers, names and negations must agree. */
export const isRepetition = (a: Statement, b: Statement): boolean => a.key === b.key

const sharedCount = (a: ReadonlySet<string>, b: ReadonlySet<string>): number =>
  [...a].reduce((count, word) => (b.has(word) ? count + 1 : count), 0)

const isSubset = (some: ReadonlySet<string>, all: ReadonlySet<string>): boolean => sharedCount(some, all) === some.size

/**
 * Whether a later statement refers to an earlier one, so that it closes or replaces it. True if
 *
 * - of the statement with fewer terms at least 7 in 10 are in the other one (all of them if it has at most three),
 * - they are at least half of the terms of the earlier statement, and
 * - not each statement has a name, number or identifier that the other one lacks.
 *
 * Terms are stems of words with content. Words that only report progress (resolved, pending) do not count.
 */
export function refersTo(later: Statement, earlier: Statement): boolean {
  if (later.key === earlier.key) return true
  const least = Math.min(later.terms.size, earlier.terms.size)
  if (least === 0) return false
  const shared = sharedCount(later.terms, earlier.terms)
  if (shared < least - Math.floor(least * 0.3) || shared * 2 < earlier.terms.size) return false
  // One common word is too little, unless it is all that both have.
  if (shared === 1 && (later.terms.size > 1 || earlier.terms.size > 1)) return false
  return isSubset(later.distinctive, earlier.distinctive) || isSubset(earlier.distinctive, later.distinctive)
}
