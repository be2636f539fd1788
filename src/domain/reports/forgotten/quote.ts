/** Texts cut to what stands in a report, and the places that prove a judgement. */
import { cleanText, headOf } from '../../text/clean-text.js'
import type { Said } from './said.js'

const MOST_CHARACTERS = 160

/** A text in one line, short, with an ellipsis where something is missing. */
export function quote(text: string, most = MOST_CHARACTERS): string {
  // What is cut off need not be cleaned: a tool's result may be a megabyte.
  const flat = cleanText(headOf(text, most * 8))
    .replaceAll(/\s+/gu, ' ')
    .trim()
  return flat.length <= most && text.length <= most * 8 ? flat : `${headOf(flat, most - 1).trimEnd()}…`
}

/** A message that proves something: where it is recorded, and what it says there. */
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

/** A message as proof, with the words of it that matter; its beginning where none are given. */
export const messageProof = ({ messageId, revision, text }: Said, words = text): MessageProof => ({
  kind: 'message',
  messageId,
  revision: revision.toString(),
  text: quote(words),
})
