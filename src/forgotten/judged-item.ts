import type { ItemKind } from './items.js'
import type { Judgement } from './judge.js'
import type { MessageProof } from './quote.js'
import type { ReportMessage } from './report-input.js'

/** The verdicts in display order, and their names for people. Stored reports and JSON have the verdicts themselves. */
export const VERDICTS = ['gone', 'kept', 'blurred', 'unknown'] as const
export const VERDICT_NAMES: Readonly<Record<Judgement['verdict'], string>> = {
  gone: 'lost',
  kept: 'kept',
  blurred: 'partial',
  unknown: 'may be lost',
}

/** An item and how much of it the context still has. */
export interface JudgedItem extends Judgement {
  /** The kind of the item. */
  readonly kind: ItemKind
  /** The original text, shortened. */
  readonly text: string
  /** The first message that contains the item. */
  readonly said: MessageProof
  /** The role of that message. */
  readonly saidBy: ReportMessage['role']
  /** The number of removed messages that contain the item. */
  readonly mentions: number
  /** For an error: the call that resolved it. */
  readonly resolvedBy?: MessageProof
  /** For a name: a message after the compaction uses it. */
  readonly isNeededAgain?: true
}
