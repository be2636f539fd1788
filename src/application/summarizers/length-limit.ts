/**
 * How long a summary may be, in the units that a model can count: tokens, words, and characters in Chinese, Japanese
 * and Korean. The words per token are measured on the text that is summarized, because code and paths take more tokens
 * a word than prose. Part of every request, so it depends on the text and the limit alone.
 */
import { defaultEstimator } from '../../domain/values/tokens.js'

/** The length in a request. */
export interface LengthLimit {
  readonly tokens: number
  readonly words: number
  /** Code points, for a summary in Chinese, Japanese or Korean. */
  readonly characters: number
}

/** An answer up to a quarter above the limit is accepted. */
const TOLERANCE = 1.25

/** The most tokens of a text that is accepted without being shortened. */
export const mostTokens = (maxSummaryTokens: number): number => Math.floor(maxSummaryTokens * TOLERANCE)

// Models overrun a limit by up to 40 %: 0.8 x 1.4 is 1.12, and so within the tolerance.
const SHARE_ASKED_FOR = 0.8
// Measured on recorded summaries: code and paths take 1.89 tokens a word (0.53 words a token), prose 1.4 to 1.6 (0.63
// to 0.71). A chunk of hashes or of short words would give a figure that no summary has.
const LEAST_WORDS_PER_TOKEN = 0.5
const MOST_WORDS_PER_TOKEN = 0.72
const USUAL_WORDS_PER_TOKEN = 0.6
// With fewer, the figure says nothing about the text.
const LEAST_WORDS = 20
const LEAST_UNITS = 5
const MEASURED_CHARACTERS = 200_000

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]/gu

const tokensOf = (text: string): number => defaultEstimator.text(text)
const within = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value))

/** Words per token of a text in scripts with spaces; the usual figure if the text has too few words to measure. */
function wordsPerToken(text: string): number {
  const spaced = text.slice(0, MEASURED_CHARACTERS).replaceAll(UNSPACED, ' ').replaceAll(/\s+/gu, ' ').trim()
  const words = spaced === '' ? 0 : spaced.split(' ').length
  if (words < LEAST_WORDS) return USUAL_WORDS_PER_TOKEN
  return within(words / tokensOf(spaced), LEAST_WORDS_PER_TOKEN, MOST_WORDS_PER_TOKEN)
}

/** A figure that is easy to read: above a hundred, in tens. */
const rounded = (value: number): number => (value > 100 ? Math.floor(value / 10) * 10 : Math.floor(value))

/**
 * The length to ask for, so that an answer which overruns it by 40 % is still accepted.
 * @param maxSummaryTokens the limit of the job, in tokens
 * @param text the text that is summarized, as the request shows it
 */
export function lengthLimit(maxSummaryTokens: number, text: string): LengthLimit {
  const tokens = Math.max(1, maxSummaryTokens * SHARE_ASKED_FOR)
  return {
    tokens: rounded(tokens),
    words: Math.max(LEAST_UNITS, rounded(tokens * wordsPerToken(text))),
    // The estimator counts one token for each character of these scripts. Text that is mixed with Latin words takes less.
    characters: Math.max(LEAST_UNITS, rounded(tokens)),
  }
}
