/** Applies an event that adopts an edition, reverts one or undoes cycles. */
import type { Batch } from './batch.js'
import type { Conversation } from './conversation.js'
import type { CarryForward, EventData, ReplacementType } from '../events/index.js'
import { liveMessageFrom } from './live-message.js'
import { observedFrom } from './observed.js'
import { withView } from './with-view.js'

/**
 * The pinned messages. A checkpoint event lists every pinned message, wherever it is; a message that is not in the list
 * is not pinned.
 */
export const pinsOf = (carried: CarryForward): ReadonlyMap<bigint, boolean> =>
  new Map(carried.kept.map((message) => [message.revision, message.pinned]))

/** The batches in force, with the revision of the event that holds them: a load reads them there. */
export const batchesInForce = (data: EventData<ReplacementType>, revision: bigint): Batch[] =>
  data.batches.map((batch) => ({ ...batch, revision }))

/** The number of messages at which the soft limit starts cycles again. */
export const softBackoffOf = (data: EventData<ReplacementType>): number | undefined =>
  'softLimitBackoffUntil' in data ? data.softLimitBackoffUntil : undefined

export function putIntoForce(state: Conversation, data: EventData<ReplacementType>, revision: bigint): Conversation {
  const left = new Set(data.left)
  const pins = pinsOf(data.carried)
  const live = [
    ...state.retained,
    ...state.window,
    ...data.restored.map((message) => liveMessageFrom(message, message.revision)),
  ]
    .filter((message) => !left.has(message.messageId))
    .map((message) => ({ ...message, pinned: pins.get(message.revision) ?? false }))
    .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
  const batches = batchesInForce(data, revision)
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
  })
}
