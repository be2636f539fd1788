/** Undoes the last cycles: their messages are live again, and their batches and chunks are inactive. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData } from '../events/index.js'
import { hardLimit } from '../values/policy.js'
import { applyPending, configurationOf, type Decision } from './decision.js'
import { originHashes } from './origin-hashes.js'
import { checkReplaceable, replacement, type NewLineage, type NotReplaceable } from './replacement.js'
import { chunksFromLateSummaries, type LateSummary } from './waiting-summaries.js'

export interface UndoCycles {
  readonly type: 'UndoCycles'
  readonly undone: EventData<'CycleUndone'>['undone']
  /** The state before these cycles, with all events since then. */
  readonly before: Conversation
  /**
   * The caller withdraws messages of these cycles right afterwards. The soft limit then does not back off, and a
   * context above the hard limit is compacted again.
   */
  readonly toWithdraw?: boolean
  /** The late summaries since then. */
  readonly lateSummaries: readonly LateSummary[]
}

export type NoSuchCycle = { readonly kind: 'NoSuchCycle'; readonly cycle: number; readonly cycles: number }

/** The restored messages would exceed the hard limit. */
export type UndoPassesHardLimit = {
  readonly kind: 'UndoPassesHardLimit'
  readonly tokens: number
  readonly limit: number
  readonly cycle: number
}

export function undoCycles(
  state: Conversation,
  { before, undone, toWithdraw = false, lateSummaries }: UndoCycles,
): Decision<NotReplaceable | UndoPassesHardLimit> {
  const replaceable = checkReplaceable(state, before)
  if (E.isLeft(replaceable)) return replaceable
  const { policy } = configurationOf(state)
  const lineage: NewLineage = { edition: state.lineage?.edition, configuration: configurationOf(state) }
  const data = {
    undone: [...undone],
    softLimitBackoffUntil: toWithdraw ? 0 : state.messagesAppended + policy.chunkSize,
    ...replacement(state, before, lineage),
  }
  const stateAfter = applyPending(state, [{ type: 'CycleUndone', data }])
  const limit = hardLimit(policy)
  if (stateAfter.tokens > limit && !toWithdraw)
    return E.left({ kind: 'UndoPassesHardLimit', tokens: stateAfter.tokens, limit, cycle: before.cycles + 1 })
  // Chunks of these cycles are inactive. Late summaries of messages that are live again are reused.
  return E.right([
    { type: 'CycleUndone', data: { ...data, ...originHashes(stateAfter) } },
    ...chunksFromLateSummaries(state, { ...before, chunks: [] }, lateSummaries),
  ])
}
