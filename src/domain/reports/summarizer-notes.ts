/** Notes on a summary that was not made in the usual way, as short phrases for the command line and the page. */
import type { SummarizerRecord } from '../events/summarizer-record.js'

const number = (value: number): string => value.toLocaleString('en-US')

/** The phrases that apply, without punctuation; empty for an ordinary summary. */
export function summarizerNotes(record: SummarizerRecord): readonly string[] {
  const { fallback, reused, rejectedAnswers = [], overLimit, shortened, asPlainText } = record
  return [
    ...(fallback === true ? ['fallback: the summarizer gave no usable answer'] : []),
    ...(reused === true ? ['reused at no cost'] : []),
    ...rejectedAnswers.map(({ failure }) => `an answer before it was rejected (${failure})`),
    ...(overLimit === undefined
      ? []
      : [`longer than asked for: ${number(overLimit.tokens)} of ${number(overLimit.limit)} tokens`]),
    ...(shortened === undefined
      ? []
      : [`shortened from ${number(shortened.tokens)} tokens to ${number(shortened.limit)} at most`]),
    ...(asPlainText === true ? ['plain text in place of sections'] : []),
  ]
}
