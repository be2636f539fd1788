/** The types of `ledger.admin.editions` and `ledger.admin.prompts`. Comparison and what-if are in `ledger-evaluation.ts`. */
import type { InputOf, OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/editions.js'
import type {
  EditionOfConversation as EditionRow,
  EditionSummary,
} from '../../projections/read-models/editions/queries.js'
import type { Price, TokenSums } from '../domain/reports/prices.js'
import type { ReplayEstimate } from '../application/editions/estimate.js'
import type { EditionSpending, Paid } from '../application/editions/metered.js'
import type { EditionChange } from '../application/editions/edition-change.js'
import type { Replay, ReplayProgress } from '../application/editions/replay.js'
import type { PromptRegistry, RegisteredPrompt } from '../application/recording/list-prompts.js'
import type { ActorOptions } from './ledger-options.js'

export type { ReplayedConversation } from '../application/editions/replay.js'
export type {
  EditionSpending,
  Paid,
  Price,
  PromptRegistry,
  EditionChange,
  RegisteredPrompt,
  Replay,
  ReplayEstimate,
  ReplayProgress,
}

/** An edition over all its conversations: its settings, the number of conversations in each state, and its costs. */
export interface Edition extends EditionSummary {
  /** Tokens that were spent on it, failed and lost calls included. */
  readonly spent: TokenSums
}

/** The edition of one conversation. */
export interface EditionOfConversation extends EditionRow {
  /** Revision of the conversation's last event. The edition is complete if it has read up to it. */
  readonly conversationHead: number
}

/** An edition, conversation by conversation. */
export interface EditionInFull extends Edition {
  /** The edition in each of its conversations. */
  readonly conversations: readonly EditionOfConversation[]
}

/** Which conversations, under which settings. The summarizer and the persona are those of the ledger. */
export type EditionRequest = InputOf<ReturnType<typeof calls.editionRequest>>

/** What may be spent on an edition in all, earlier runs included. */
export type EditionBound = InputOf<ReturnType<typeof calls.bound>>

/** What to replay, what it may spend, and how. */
export type ReplayOptions = OptionsOf<typeof calls.replay>

/** What to estimate: a replay; or, with `editionId`, what adopting that edition would buy in these conversations. */
export type EstimateOptions = OptionsOf<typeof calls.estimate>

/** The settings that the edition was made with, and what catching it up may spend. */
export type AdoptOptions = OptionsOf<typeof calls.adopt>

/** Editions: the same history compacted in another way. */
export interface Editions {
  /**
   * What a replay would come to at most, or with `editionId` what adopting that edition would: calls, tokens, cost, and
   * summaries that would be taken over. Records nothing and asks no model. Throws the signal's reason once that aborts:
   * a part of the sum is no estimate.
   */
  estimate(request: EstimateOptions): Promise<ReplayEstimate>
  /**
   * Compacts the same history again, into streams of an edition: with the ledger's summarizer and persona, under each
   * conversation's own policy with `policy` over it. The same again takes it up where it ended, whatever ended it, and
   * buys nothing twice. Conversations stay as they are until the edition is adopted. Failures of single conversations
   * are in what it returns, and are not thrown.
   */
  replay(options: ReplayOptions): Promise<Replay>
  /** Every edition, the newest first. */
  list(): Promise<readonly Edition[]>
  /** One edition, conversation by conversation; the beginning of its id is enough. */
  show(editionId: string): Promise<EditionInFull>
  /**
   * Adopts an edition in a conversation: its batches, window and configuration replace those in force, with one
   * event. Messages appended since the replay are compacted first by the edition's own summarizer, which may call
   * its model. The ledger must be opened with that summarizer, and `policy` must be the same.
   */
  adopt(conversationId: string, editionId: string, options?: AdoptOptions): Promise<EditionChange>
  /**
   * Puts into force again what an adopted edition had replaced; all messages that came since stay. They may be too many
   * for one context: that is no reason to refuse the way back, but is in `overBudget`, and the next append, or
   * `compact`, compacts them.
   */
  revert(conversationId: string, editionId?: string, options?: ActorOptions): Promise<EditionChange>
  /**
   * Drops an edition in a conversation. An edition in force cannot be dropped. Its events stay in the log, and a
   * replay continues it. If an edition that replaced it is reverted, it comes back into force even if it was
   * dropped.
   */
  drop(
    conversationId: string,
    editionId: string,
    options?: ActorOptions,
  ): Promise<{ readonly conversationId: string; readonly editionId: string; readonly changed: boolean }>
}

/** The registry of what summaries were made with. */
export interface Prompts {
  /** Every template and persona that was used. One that cannot be read is named in `unreadable` and stops no other. */
  list(): Promise<PromptRegistry>
  /** The one that `NAME`, `NAME@VERSION` or the beginning of its hash names. */
  show(which: string): Promise<RegisteredPrompt>
}
