/**
 * How long a summary may be, in the units that a model can count: tokens, words and characters. Words and characters per
 * token are measured on the text that is summarized, because code, paths and scripts differ. Part of every request, so it
 * depends on the text, the limit and the version of the formatter alone.
 */
import { defaultEstimator } from '../../domain/values/tokens.js'

/** The length in a request. */
export interface LengthLimit {
  readonly tokens: number
  readonly words: number
  readonly characters: number
}

/** An answer up to a quarter above the limit is accepted. */
const TOLERANCE = 1.25

/** The most tokens of a text that is accepted without being shortened. */
export const mostTokens = (maxSummaryTokens: number): number => Math.floor(maxSummaryTokens * TOLERANCE)

/** Requests asked for less before version 4, and models then wrote 680 of 1,024 tokens. */
const SHARE_ASKED_FOR = 0.92
const SHARE_BEFORE_4 = 0.8
// Measured on recorded summaries: code and paths take 1.89 tokens a word (0.53 words a token), prose 1.4 to 1.6 (0.63
// to 0.71). A chunk of hashes or of short words would give a figure that no summary has.
const LEAST_WORDS_PER_TOKEN = 0.5
const MOST_WORDS_PER_TOKEN = 0.72
const USUAL_WORDS_PER_TOKEN = 0.6
// With fewer, the figure says nothing about the text.
const LEAST_WORDS = 20
const LEAST_UNITS = 5
const MEASURED_CHARACTERS = 200_000
const LEAST_MEASURED = 100

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

// Measured: English prose has 4.4 characters a token, Japanese 1 to 2, by its share of Latin words.
const LEAST_CHARACTERS_PER_TOKEN = 0.9
const MOST_CHARACTERS_PER_TOKEN = 5

/** A text with this share of unspaced characters is in such a script, whatever code and tool output it quotes. */
const LEAST_SHARE_OF_SCRIPT = 0.01

const charactersIn = (text: string): number => {
  const measured = text.slice(0, MEASURED_CHARACTERS).replaceAll(/\s+/gu, ' ')
  return measured.length < LEAST_MEASURED ? 1 : measured.length / tokensOf(measured)
}

/** The lines of a text that are mostly in a script without spaces. */
const unspacedLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => (line.match(UNSPACED)?.length ?? 0) * 3 >= line.length)
    .join(' ')

/**
 * Characters per token of a summary of a text. In a script without spaces it lies between the text, with its code and
 * names, and the lines in that script: measured on 11 answers, 2.1 in Japanese and 2.6 in Korean, where these have 1.6 and
 * 3.4.
 */
function charactersPerToken(text: string): number {
  const whole = charactersIn(text)
  const isUnspaced = (text.match(UNSPACED)?.length ?? 0) >= text.length * LEAST_SHARE_OF_SCRIPT
  return within(
    isUnspaced ? (whole + charactersIn(unspacedLines(text))) / 2 : whole,
    LEAST_CHARACTERS_PER_TOKEN,
    MOST_CHARACTERS_PER_TOKEN,
  )
}

/** A figure that is easy to read: above a hundred, in tens. */
const rounded = (value: number): number => (value > 100 ? Math.floor(value / 10) * 10 : Math.floor(value))

/**
 * The length to ask for. An answer that overruns it by a third is still accepted.
 * @param maxSummaryTokens the limit of the job, in tokens
 * @param text the text that is summarized, as the request shows it
 * @param version of the formatter; before version 4 the limit was lower, and a character was a token
 */
export function lengthLimit(maxSummaryTokens: number, text: string, version: number): LengthLimit {
  const tokens = Math.max(1, maxSummaryTokens * (version < 4 ? SHARE_BEFORE_4 : SHARE_ASKED_FOR))
  return {
    tokens: rounded(tokens),
    words: Math.max(LEAST_UNITS, rounded(tokens * wordsPerToken(text))),
    characters: Math.max(LEAST_UNITS, rounded(tokens * (version < 4 ? 1 : charactersPerToken(text)))),
  }
}
