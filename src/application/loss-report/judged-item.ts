import type { ItemKind } from './items.js'
import type { Judgement } from './judge.js'
import type { MessageProof } from './proofs.js'
import type { ReportMessage } from './report-input.js'

/** The verdicts in display order, and their names for people. */
export const VERDICTS = ['lost', 'kept', 'partial', 'unknown'] as const
export const VERDICT_NAMES: Readonly<Record<Judgement['verdict'], string>> = {
  lost: 'lost',
  kept: 'kept',
  partial: 'partial',
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
