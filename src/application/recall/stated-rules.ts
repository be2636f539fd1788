/** The rules that the user stated anywhere in a conversation, for a rule file. */
import { itemsOf } from '../loss-report/items.js'
import type { ReportMessage } from '../loss-report/report-input.js'

/** A rule in the user's words, with the revision of the message. */
export interface StatedRule {
  /** The sentence, in one line. */
  readonly text: string
  /** Revision of the message. */
  readonly revision: number
}

/** Finds the rules by words that bind, the oldest first. */
export const statedRules = (messages: readonly ReportMessage[]): StatedRule[] =>
  itemsOf(
    messages.filter(({ role }) => role === 'user'),
    [],
    [],
  )
    .filter(({ kind }) => kind === 'constraint')
    .map(({ text, message: { revision } }) => ({ text: text.replaceAll(/\s+/gu, ' '), revision }))
