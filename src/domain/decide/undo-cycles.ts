/** The messages of the last cycles are live again, and what these cycles had made is out of use. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData } from '../events/index.js'
import { hardLimit } from '../values/policy.js'
import { applyPending, configurationOf, type Decision } from './decision.js'
import { originHashes } from './origin-hashes.js'
import { checkReplaceable, replacement, type NewLineage, type NotReplaceable } from './replacement.js'
import { chunksSetAside, type SetAside } from './waiting-summaries.js'

export interface UndoCycles {
  readonly type: 'UndoCycles'
  readonly undone: EventData<'CycleUndone'>['undone']
  /** The state before these cycles, with what came since. */
  readonly before: Conversation
  /**
   * Messages of these cycles are withdrawn right behind it. The soft limit then does not back off, and what is above the
   * hard limit is compacted anew.
   */
  readonly toWithdraw?: boolean
  /** The summaries that were set aside since. */
  readonly aside?: readonly SetAside[]
}

export type NoSuchCycle = { readonly kind: 'NoSuchCycle'; readonly cycle: number; readonly cycles: number }

/** What would be live again is above the hard limit. */
export type UndoPassesHardLimit = {
  readonly kind: 'UndoPassesHardLimit'
  readonly tokens: number
  readonly limit: number
  readonly cycle: number
}

export function undoCycles(
  state: Conversation,
  { before, undone, toWithdraw = false, aside = [] }: UndoCycles,
): Decision<NotReplaceable | UndoPassesHardLimit> {
  const replaceable = checkReplaceable(state, before)
  if (E.isLeft(replaceable)) return replaceable
  const { policy } = configurationOf(state)
  const lineage: NewLineage = { edition: state.lineage?.edition, configuration: configurationOf(state) }
  const data = {
    undone: [...undone],
    restsUntilMessages: toWithdraw ? 0 : state.messagesAppended + policy.chunkSize,
    ...replacement(state, before, lineage),
  }
  const seen = applyPending(state, [{ type: 'CycleUndone', data }])
  const limit = hardLimit(policy)
  if (seen.tokens > limit && !toWithdraw)
    return E.left({ kind: 'UndoPassesHardLimit', tokens: seen.tokens, limit, cycle: before.cycles + 1 })
  // Summaries that these cycles made are out of use. Those that they came before are not.
  return E.right([
    { type: 'CycleUndone', data: { ...data, ...originHashes(seen) } },
    ...chunksSetAside(state, { ...before, chunks: [] }, aside),
  ])
}
