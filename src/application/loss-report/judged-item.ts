import { quote } from '../../domain/text/quote.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import type { Item } from './items.js'
import type { Judgement } from './judge.js'
import { messageProof, type MessageProof } from './proofs.js'
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
  /** The original words, shortened: of a statement of the user, whole sentences. */
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
  /** The first message after the compaction that asked or searched for it, said it again, or failed with the same error. */
  readonly neededAt?: MessageProof
  /** The later message of the user that corrected it or took it back. */
  readonly takenBackAt?: MessageProof
  /** A loss of it matters to the user or the agent. The other items are names, finished requests and small errors. */
  readonly matters?: true
}

/** An item with its judgement, as reports have it. */
export const judgedOf = (item: Item, judgement: Judgement): JudgedItem => ({
  kind: item.kind,
  text: quote(item.text),
  ...judgement,
  said: messageProof(item.message, item.around ?? item.text),
  saidBy: item.message.role,
  mentions: item.mentions,
  ...(item.resolvedBy === undefined
    ? {}
    : {
        resolvedBy: messageProof(item.resolvedBy.by, `${item.resolvedBy.call.name}(${item.resolvedBy.query.subject})`),
      }),
})
