/**
 * Signs of a standing rule: classes of words, each with a weight. A sentence that matches no fixed form states a rule
 * if the weights of the signs in it add up, less those of the signs of a story, a task for the moment or a fact.
 */

export interface Signal {
  /** The class of the words, for example `scope: every, never`. */
  readonly sign: string
  /** Above zero for a sign of a rule, below zero for a sign against it. It counts once in a sentence. */
  readonly weight: number
  /** The words, as the source of a regular expression. The sentence is in lower case. */
  readonly source: string
  /** An imperative begins a clause; other words stand anywhere in the sentence. */
  readonly place: 'clause' | 'anywhere'
}

export const signal = (sign: string, weight: number, source: string): Signal => ({
  sign,
  weight,
  source,
  place: 'anywhere',
})

/** A sign at the beginning of a clause. */
export const opening = (sign: string, weight: number, source: string): Signal => ({
  sign,
  weight,
  source,
  place: 'clause',
})

const THRESHOLD = 5
/** The weight of a sign without which no others make a rule. */
export const STRONG = 3
/** Long sentences have more words of every class by chance. The lengths are in characters. */
const LONG = 130
const VERY_LONG = 200
const SHORT = 17

/** An exclamation is seldom a rule. */
const EXCLAMATION = 2

/** The weight that makes a sentence a rule. `density` is how much one character says. */
export function thresholdOf(text: string, density: number): number {
  const length = text.length * density
  return (
    THRESHOLD +
    (length > LONG ? 1 : 0) +
    (length > VERY_LONG ? 2 : 0) +
    (/[!！]$/u.test(text) ? EXCLAMATION : 0) +
    (length < SHORT ? 2 : 0)
  )
}

/** Code, formulas, headings and lines of a log or a table are not read for signs. */
const NO_PROSE = /[{}=|\\→✅✓]|\(\)|\/\/|::|->|^[/#$+(["'-]|\S+:\d+(?=[:)\s])|\w\.\w+\(|\[[^\]]*\]/u
export const isProse = (text: string): boolean => !NO_PROSE.test(text)
