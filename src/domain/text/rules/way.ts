/** The form of the tables of rules: one row for each way in which a language states a rule. */
import type { Signal } from './signals.js'

export interface Way {
  /** The name of the row, for example `cap: is limited to`. */
  readonly way: string
  /** The words of the rule, as the source of a regular expression. The sentence is in lower case. */
  readonly source: string
  /** An imperative begins a clause; other words stand anywhere in the sentence. */
  readonly place: 'clause' | 'anywhere'
  /** If it matches the text before the words, the sentence is a story or a guess. */
  readonly unless?: RegExp
  /** If it matches anywhere in the sentence, these words state no rule. */
  readonly not?: RegExp
  /** The words are a rule although the sentence is a polite question. */
  readonly politeQuestion?: true
}

/** A language: its rows, and how a sentence shows that it may be in this language. */
export interface Language {
  /** Letters of which a sentence in the language has one. */
  readonly letters: RegExp
  /** Letters of one word, for a language that is written with spaces. */
  readonly alphabet?: string
  /** Frequent words, of which the sentence has at least one. Without them, the letters decide. */
  readonly frequent?: ReadonlySet<string>
  readonly ways: readonly Way[]
  /** Signs that state a rule together, for sentences that no row matches. */
  readonly signals?: readonly Signal[]
  /** How many letters of a Latin script one character is worth; 1 if absent. */
  readonly density?: number
}

type Exclusions = Pick<Way, 'unless' | 'not' | 'politeQuestion'>

/** Lower-case letters of languages with the Latin script. V8 compiles `\p{L}` into a far slower class. */
export const LATIN = 'a-zß-öø-ÿœ'
export const CYRILLIC = 'а-яё'

/** Words that begin a clause. */
export const order = (way: string, source: string, exclusions: Exclusions = {}): Way => ({
  way,
  source,
  place: 'clause',
  ...exclusions,
})

/** Words anywhere in the sentence. */
export const anywhere = (way: string, source: string, exclusions: Exclusions = {}): Way => ({
  way,
  source,
  place: 'anywhere',
  ...exclusions,
})

/** Words of a language that is written without spaces. */
export const written = (way: string, words: RegExp, exclusions: Exclusions = {}): Way => ({
  way,
  source: words.source,
  place: 'anywhere',
  ...exclusions,
})

/** The words of a list that is separated by spaces. */
export const wordsOf = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/u))
