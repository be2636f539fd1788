/**
 * Splits the remaining context into passages of about a sentence, each with its source: a line of the summary or a
 * remaining message.
 */
import { cleanText, headOf, LINE_BREAK } from '../../domain/text/clean-text.js'
import { quote } from '../../domain/text/quote.js'
import { messageProof, type Proof } from './proofs.js'
import type { ReportInput, ReportMessage } from './report-input.js'

/** The origin of a passage. */
export type PassageSource =
  | { readonly kind: 'line'; readonly line: number; readonly text: string }
  | { readonly kind: 'message'; readonly message: ReportMessage }

export interface Passage {
  readonly text: string
  readonly source: PassageSource
}

// A sentence inside a line ends after one of these; scripts without spaces need no space after it.
const INNER_END = /(?<=[.!?…][")'\]*]{0,3})\s+(?=\S)|(?<=[。！？｡])(?=\S)/u
/** Longer passages are cut, so that each is about one thing. */
const MOST_PASSAGE_CHARACTERS = 600
// Arguments and results of tools are mostly code. Only the beginning is read as text: it may be a page, or a plan.
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

/** The lines of the summary; empty if it cannot be read. Line numbers are the index plus 1. */
export const linesOf = ({ summary }: Pick<ReportInput, 'summary'>): readonly string[] =>
  summary.kind === 'text' ? cleanText(summary.text).split(LINE_BREAK) : []

// Standard sentences that programs put around every summary. They are not about this conversation.
const GENERAL =
  /^\W*(?:please continue (?:the conversation|with|from)|continue (?:the conversation from|with the last task|if you have next steps|from where)|if you need specific details from before|read the full transcript|this session is being continued from|the (?:summary|conversation) (?:below|is summarized)|another language model started to solve|the conversation history before this point was compacted|resume directly|here is a summary of)/iu

/** Whether a line of a summary is a general instruction of its program: it proves nothing. */
export const isGeneral = (line: string): boolean => GENERAL.test(line)

/** The passages of the summary. */
export const summaryPassages = (lines: readonly string[]): Passage[] =>
  lines.flatMap((text, at) =>
    isGeneral(text)
      ? []
      : Array.from(cut(text), (piece) => ({ text: piece, source: { kind: 'line', line: at + 1, text } })),
  )

/** Arguments are JSON: `\\n` in them is a line break. */
export const unescaped = (json: string): string => json.replaceAll(/\\[nr]/gu, '\n').replaceAll('\\t', ' ')

/** Whether a remaining message can prove anything about an item: instructions to the model cannot. */
export const isAboutConversation = ({ role }: ReportMessage): boolean => role !== 'system' && role !== 'developer'

/** The passages of the remaining messages: all text, and the beginnings of tool arguments and results. */
export function remainingPassages(remaining: readonly ReportMessage[]): Passage[] {
  let budget = MOST_RESULTS_CHARACTERS
  const beginning = (text: string): string => {
    const head = headOf(text, Math.min(MOST_RESULT_CHARACTERS, Math.max(0, budget)))
    budget -= head.length
    return head
  }
  // A system prompt was also in the context before the compaction, and is the same for every conversation.
  return remaining.filter(isAboutConversation).flatMap((message) => {
    const callTexts = (message.toolCalls ?? []).map((call) => unescaped(beginning(call.arguments)))
    const text = message.role === 'tool' ? beginning(message.text) : message.text
    return cleanText([text, ...callTexts].join('\n'))
      .split(LINE_BREAK)
      .flatMap((line) =>
        Array.from(cut(line), (piece): Passage => ({ text: piece, source: { kind: 'message', message } })),
      )
  })
}

/** The source of a passage as the proof of a judgement. */
export const proofOf = (source: PassageSource, words?: string): Proof =>
  source.kind === 'line'
    ? {
        kind: 'summary',
        line: source.line,
        text: quote(source.text.length > 160 && words !== undefined ? words : source.text),
      }
    : messageProof(source.message, words)
