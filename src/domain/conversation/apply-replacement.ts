/**
 * Applies a replacement event (EditionAdopted, EditionReverted, CycleUndone) to the state of a conversation.
 * `resume-at.ts` shares its helpers.
 */
import type { Batch } from './batch.js'
import type { Conversation } from './conversation.js'
import type { CarryForward, EventData, ReplacementType } from '../events/index.js'
import { liveMessageFrom } from './live-message.js'
import { observedFrom } from './observed.js'
import { withView } from './with-view.js'

/**
 * Whether a message is pinned, by its revision. A checkpoint event lists every pinned message, in the window or before
 * it. A message that is not in the list is not pinned.
 */
export const pinnedByRevision = (carried: CarryForward): ReadonlyMap<number, boolean> =>
  new Map(carried.kept.map((message) => [message.revision, message.pinned]))

/** The active batches. `revision` is that of the replacement event, because it contains their full text. */
export const activeBatchesOf = (data: EventData<ReplacementType>, revision: number): Batch[] =>
  data.batches.map((batch) => ({ ...batch, revision }))

/** The number of messages until which the soft limit starts no cycle; undefined unless a cycle was undone. */
export const softBackoffOf = (data: EventData<ReplacementType>): number | undefined =>
  'softLimitBackoffUntil' in data ? data.softLimitBackoffUntil : undefined

/** The state after the event. `left` in the data are the ids of the messages that its batches cover. */
export function applyReplacement(
  state: Conversation,
  data: EventData<ReplacementType>,
  revision: number,
): Conversation {
  const compactedIds = new Set(data.left)
  const pins = pinnedByRevision(data.carried)
  const live = [
    ...state.retained,
    ...state.window,
    ...data.restored.map((message) => liveMessageFrom(message, message.revision)),
  ]
    .filter((message) => !compactedIds.has(message.messageId))
    .map((message) => ({ ...message, pinned: pins.get(message.revision) ?? false }))
    .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
  const batches = activeBatchesOf(data, revision)
  return withView({
    ...state,
    configuration: data.carried.configuration,
    observed: observedFrom(data.carried.observed, data.observed),
    cycles: data.cycle,
    messagesCompressed: data.carried.messagesCompressed,
    lastOrigin: revision,
    lineage: data.carried.lineage,
    softBackoffUntil: softBackoffOf(data),
    retained: live.filter((message) => message.revision < data.windowStart),
    window: live.filter((message) => message.revision >= data.windowStart),
    batches,
    visibleBatches: batches,
    chunks: [],
    compactedCalls: data.carried.compactedCalls,
    failures: undefined,
    couldNotHelp: undefined,
    erasure: undefined,
  })
}
