/** Shortens texts for a report, and builds the proofs of a judgement. */
import { cleanText, headOf } from '../domain/text/clean-text.js'
import type { ReportMessage } from './report-input.js'

const MOST_CHARACTERS = 160

/** A text in one short line, with an ellipsis if text is missing. */
export function quote(text: string, most = MOST_CHARACTERS): string {
  // Only the beginning is cleaned: a tool result may be a megabyte.
  const flat = cleanText(headOf(text, most * 8))
    .replaceAll(/\s+/gu, ' ')
    .trim()
  return flat.length <= most && text.length <= most * 8 ? flat : `${headOf(flat, most - 1).trimEnd()}…`
}

/** A message that proves something: its id and revision, and the relevant text. */
export interface MessageProof {
  readonly kind: 'message'
  readonly messageId: string
  /** Its revision, in digits. */
  readonly revision: string
  readonly text: string
}

/** A line of the summary that proves something. Lines count from 1. */
interface LineProof {
  readonly kind: 'summary'
  readonly line: number
  readonly text: string
}

export type Proof = LineProof | MessageProof

/** A message as proof. Without `words`, the proof quotes the beginning of the message. */
export const messageProof = ({ messageId, revision, text }: ReportMessage, words = text): MessageProof => ({
  kind: 'message',
  messageId,
  revision: revision.toString(),
  text: quote(words),
})
