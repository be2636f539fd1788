/**
 * Splits a text in any script into sentences, in bounded time: `Intl.Segmenter` is exact but slow, so text is split
 * into lines first, and huge texts are sampled.
 */
import { cleanText, headOf, LINE_BREAK, tailOf } from './clean-text.js'
import { reportsError } from './cues.js'

/** A sentence, and whether it is code. */
export interface Sentence {
  readonly text: string
  readonly code: boolean
}

const MAX_SENTENCE_CHARACTERS = 360
const MAX_LINE_CHARACTERS = 2_400
// Text beyond this limit is pasted files and logs.
const MAX_SPOKEN_CHARACTERS = 12_000
const MAX_SPOKEN_LINES = 240
const MAX_OUTPUT_LINES = 2_000
const MAX_OUTPUT_LINE_CHARACTERS = 300

const segmenter = new Intl.Segmenter('und', { granularity: 'sentence' })
const BULLET = /^\s*(?:[-*•‣·>+|#]+|\d{1,3}[.)]|[（(]?\d{1,3}[）)])\s+|^\s*#+\s*|^\s*[•‣・]\s*/u
const FENCE = /^\s*(?:```|~~~)/u
const RULE = /^[\s\p{P}\p{S}]*$/u
// A sentence can end inside a line only after one of these, so other lines skip the segmenter.
const INNER_END = /[.!?…][\s"')\]]|[。！？｡؟।။]/u

/** Both ends of a text that is longer than `most`, as two lines. */
const ends = (text: string, most: number): string =>
  text.length <= most ? text : `${headOf(text, Math.floor(most * 0.65))}\n${tailOf(text, Math.floor(most * 0.35))}`

function splitLine(line: string): readonly string[] {
  if (line.length <= 24 || !INNER_END.test(line)) return [line]
  return Array.from(segmenter.segment(line), ({ segment }) => segment)
}

// A sentence without an end (a log line, a script without periods) is cut, at a space if possible.
function clipSentence(text: string): string {
  if (text.length <= MAX_SENTENCE_CHARACTERS) return text
  const head = headOf(text, MAX_SENTENCE_CHARACTERS)
  const space = head.lastIndexOf(' ')
  return `${(space > MAX_SENTENCE_CHARACTERS / 2 ? head.slice(0, space) : head).trimEnd()}…`
}

const tidy = (text: string): string =>
  clipSentence(
    text
      .replace(BULLET, '')
      .replaceAll(/\*\*|__(?=\S)|(?<=\S)__/gu, '')
      .replaceAll(/\s+/gu, ' ')
      .trim(),
  )

/** The sentences of a message. Lines of only rules or punctuation are skipped. */
export function sentencesOf(text: string): readonly Sentence[] {
  const sentences: Sentence[] = []
  let code = false
  const lines = ends(cleanText(text), MAX_SPOKEN_CHARACTERS).split(LINE_BREAK)
  const read =
    lines.length <= MAX_SPOKEN_LINES
      ? lines
      : [...lines.slice(0, MAX_SPOKEN_LINES * 0.65), ...lines.slice(-MAX_SPOKEN_LINES * 0.35)]
  for (const line of read) {
    if (FENCE.test(line)) {
      code = !code
      continue
    }
    if (RULE.test(line)) continue
    const parts = code ? [line] : splitLine(ends(line, MAX_LINE_CHARACTERS))
    for (const part of parts) {
      const tidied = code ? clipSentence(part.trim()) : tidy(part)
      if (!RULE.test(tidied)) sentences.push({ text: tidied, code })
    }
  }
  return sentences
}

const tidyLine = (line: string | undefined): string => (line === undefined ? '' : tidy(cleanText(line)))

/** A summary of tool output: its first and last line, and lines that report an error. */
export interface OutputDigest {
  readonly first: string
  readonly last: string
  readonly errors: readonly string[]
  readonly lines: number
}

/** A digest of tool output. Only both ends of huge output are read. */
export function digestOutput(text: string): OutputDigest {
  const all = ends(text, 60_000).split(LINE_BREAK)
  const read =
    all.length <= MAX_OUTPUT_LINES ? all : [...all.slice(0, MAX_OUTPUT_LINES / 2), ...all.slice(-MAX_OUTPUT_LINES / 2)]
  const lines = read.map((line) => headOf(line, MAX_OUTPUT_LINE_CHARACTERS)).filter((line) => !RULE.test(line))
  const errors = [...new Set(lines.filter(reportsError).map(tidyLine))].slice(0, 3)
  return { first: tidyLine(lines[0]), last: lines.length > 1 ? tidyLine(lines.at(-1)) : '', errors, lines: all.length }
}
