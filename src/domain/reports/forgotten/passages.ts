/**
 * What is still in the context, cut into passages of about a sentence, each with the place where it stands: a line of
 * the summary, or a message that stayed.
 */
import { cleanText, headOf, LINE_BREAK } from '../../text/clean-text.js'
import { messageProof, quote, type Proof } from './quote.js'
import type { Forgetting, Said } from './said.js'

/** Where something stands. */
export type Place =
  | { readonly kind: 'line'; readonly line: number; readonly text: string }
  | { readonly kind: 'message'; readonly said: Said }

export interface Passage {
  readonly text: string
  readonly place: Place
}

// A sentence ends inside a line behind one of these; a script without spaces needs none behind it.
const INNER_END = /(?<=[.!?…][")'\]*]{0,3})\s+(?=\S)|(?<=[。！？｡])(?=\S)/u
/** A passage is no longer than this, so that one of them is about one thing. */
const MOST_PASSAGE_CHARACTERS = 600
// What a tool was told and answered is mostly code. Its beginning is read as speech: it may be a page, or a plan.
const MOST_RESULT_CHARACTERS = 4_000
const MOST_RESULTS_CHARACTERS = 400_000

function* cut(text: string): Generator<string> {
  for (const part of text.split(INNER_END)) {
    for (let from = 0; from < part.length; from += MOST_PASSAGE_CHARACTERS) {
      const piece = part.slice(from, from + MOST_PASSAGE_CHARACTERS)
      if (piece.trim() !== '') yield piece.trim()
    }
  }
}

/** The lines of the summary, with their numbers from 1; none where nobody can read it. */
export const linesOf = ({ summary }: Pick<Forgetting, 'summary'>): readonly string[] =>
  summary.kind === 'text' ? cleanText(summary.text).split(LINE_BREAK) : []

/** The passages of the summary. */
export const summaryPassages = (lines: readonly string[]): Passage[] =>
  lines.flatMap((text, at) =>
    Array.from(cut(text), (piece) => ({ text: piece, place: { kind: 'line', line: at + 1, text } })),
  )

/** Arguments are JSON: `\\n` in them is the end of a line. */
export const unescaped = (json: string): string => json.replaceAll(/\\[nr]/gu, '\n').replaceAll('\\t', ' ')

/** The passages of what stayed: all that somebody said, and the beginnings of what tools were told and answered. */
export function stayedPassages(stayed: readonly Said[]): Passage[] {
  let left = MOST_RESULTS_CHARACTERS
  const beginning = (text: string): string => {
    const begun = headOf(text, Math.min(MOST_RESULT_CHARACTERS, Math.max(0, left)))
    left -= begun.length
    return begun
  }
  return stayed.flatMap((said) => {
    const told = (said.toolCalls ?? []).map((call) => unescaped(beginning(call.arguments)))
    const text = said.role === 'tool' ? beginning(said.text) : said.text
    return cleanText([text, ...told].join('\n'))
      .split(LINE_BREAK)
      .flatMap((line) => Array.from(cut(line), (piece): Passage => ({ text: piece, place: { kind: 'message', said } })))
  })
}

/** A place as the proof of a judgement. */
export const proofOf = (place: Place, words?: string): Proof =>
  place.kind === 'line'
    ? {
        kind: 'summary',
        line: place.line,
        text: quote(place.text.length > 160 && words !== undefined ? words : place.text),
      }
    : messageProof(place.said, words)
