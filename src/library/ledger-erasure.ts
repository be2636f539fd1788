/** The part of the ledger's interface that concerns erasure. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/operating.js'
import type { ErasureReceipt } from '../domain/events/index.js'
import type { CompletedErasure } from '../application/erasure/erase.js'
import type { TranscriptSource } from '../application/erasure/plan.js'

export type { CompletedErasure } from '../application/erasure/erase.js'
export type { ErasureReceipt } from '../domain/events/index.js'

/** What to erase: one conversation, one message of a conversation, or everything about one person. */
export type ErasureTarget =
  | { readonly conversationId: string }
  | { readonly conversationId: string; readonly messageId: string }
  | { readonly subject: string }

/** What an erasure removes from one conversation. */
export interface PlannedErasure {
  /** The conversation. */
  readonly conversationId: string
  /** Ids of the messages. */
  readonly messages: readonly string[]
  /** Number of summaries that were made from them, or from summaries of them. */
  readonly summaries: number
  /** Editions with such a summary. */
  readonly editions: readonly string[]
  /** The conversation of the originals, if the messages are copies: a handoff or a fork made them. */
  readonly copyOf?: string
  /** The file that the conversation was imported from, which still has its texts. */
  readonly source?: TranscriptSource
  /** Why the retention rules do not allow it now, as a sentence. */
  readonly notAllowed?: string
}

/** Reason and actor of an erasure. */
export type ErasureOptions = OptionsOf<typeof calls.erase>

/** An erasure of a conversation, as its events have it. */
export interface RecordedErasure {
  /** Id of the erasure, in its events. */
  readonly erasureId: string
  /** The requested scope. */
  readonly scope: 'conversation' | 'message' | 'subject'
  /** Keyed pseudonym of the person, if the scope is a person. */
  readonly subject?: string
  /** The recorded reason. */
  readonly reason: string
  /** The legal basis that the request named. */
  readonly legalBasis?: string
  /** Actor of the request. */
  readonly actor: string
  /** Time of the request, ISO 8601. */
  readonly requestedAt: string
  /** The erased messages, with their revisions; absent for all messages of the conversation. */
  readonly messages?: readonly { readonly messageId: string; readonly revision: number }[]
  /** Time of the completion, ISO 8601; absent while the erasure is pending. */
  readonly completedAt?: string
  /** The result, as recorded; absent while the erasure is pending. */
  readonly receipt?: ErasureReceipt
}

/** Erasure of texts in an erasable ledger. */
export interface LedgerErasure {
  /** What an erasure would remove. Nothing is changed. */
  plan(target: ErasureTarget): Promise<readonly PlannedErasure[]>
  /**
   * Erases: records the plan, destroys keys, writes the rows again, removes old pages, and records a receipt. If it is
   * interrupted, `resume` continues it. Nothing is erased if a retention rule or a hold does not allow it in one of the
   * conversations when the call begins. One that is set later stops the erasure in its conversation: then the call
   * throws, `details.erased` names the conversations that were erased, and `receipts` returns their receipts.
   */
  run(target: ErasureTarget, options: ErasureOptions): Promise<readonly CompletedErasure[]>
  /** The erasures of a conversation with their receipts, the oldest first. Empty in a ledger that is not erasable. */
  receipts(conversationId: string): Promise<readonly RecordedErasure[]>
  /** Continues erasures that were interrupted. */
  resume(options?: { readonly actor?: string }): Promise<readonly CompletedErasure[]>
}
