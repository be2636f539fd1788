/** The proofs of a judgement: messages, and lines of a summary. */
import { quote } from '../../domain/text/quote.js'
import type { ReportMessage } from './report-input.js'

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
