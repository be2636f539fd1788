/** The part of the ledger's interface that concerns retention. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/operating.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { HoldTarget } from '../domain/retention/decide-retention.js'
import type { RecordedRules, RetentionHold, RetentionRun } from '../domain/retention/retention-state.js'
import type { CompletedRun } from '../application/retention/run.js'
import type { DueConversation, ScopeStatus } from '../application/retention/due.js'

export type { HoldTarget } from '../domain/retention/decide-retention.js'
export type { RecordedRules, RetentionHold, RetentionRules, RetentionRun } from '../domain/retention/retention-state.js'
export type { CompletedRun } from '../application/retention/run.js'
export type { DueConversation, ScopeStatus } from '../application/retention/due.js'

/** Rules to set. A rule that is not named stays; null removes it. */
export type RuleSettings = OptionsOf<typeof calls.retentionRules>

/** Reason and actor of a change of retention. */
export type RetentionOptions = OptionsOf<typeof calls.setRetention>

/** The rules after a change. */
export interface RulesAnswer {
  /** All rules. */
  readonly rules: readonly RecordedRules[]
  /** False if nothing can be erased in this ledger: `migrate-log --erasable` copies it into one that is erasable. */
  readonly isErasable: boolean
}

/** A hold that was placed. */
export interface PlacedHold extends RetentionHold {
  /** Conversations in which an erasure was requested before: the hold may come too late for these. */
  readonly erasuresBegun: readonly string[]
}

/** Rules, holds, and the conversations that a run would erase. */
export interface RetentionStatus {
  /** Whether this ledger can erase. */
  readonly isErasable: boolean
  /** All rules. */
  readonly rules: readonly RecordedRules[]
  /** All holds that are not released. */
  readonly holds: readonly RetentionHold[]
  /** Conversations by scope. */
  readonly scopes: readonly ScopeStatus[]
  /** The conversations that a run would erase now. */
  readonly due: readonly DueConversation[]
  /** The last run, completed or interrupted. */
  readonly lastRun?: RetentionRun
}

/** Retention: how long conversations must be kept, and after which time they are erased. */
export interface LedgerRetention {
  /** Sets the rules of a scope, or of all conversations. */
  set(settings: RuleSettings, options: RetentionOptions): Promise<RulesAnswer>
  /** Places a hold: nothing is erased in the conversation, or in the scope, until `release`. */
  hold(target: HoldTarget, options: RetentionOptions): Promise<PlacedHold>
  /** Ends a hold. */
  release(holdId: string, options: RetentionOptions): Promise<void>
  /** Rules, holds, conversations that are due, and the last run. */
  status(): Promise<RetentionStatus>
  /**
   * Erases the conversations that are due, and records a receipt. Continues a run that was interrupted. Returns
   * undefined if nothing is due.
   */
  run(options?: { readonly actor?: string }): Promise<CompletedRun | undefined>
  /** All events of rules, holds and runs, the oldest first. */
  history(): Promise<readonly RecordedEvent[]>
}
