/**
 * How a load begins at the last origin event: the state after it needs nothing from before it but what it carries
 * forward, and point reads of the revisions that it names.
 */
import { batchFrom, type Batch } from './batch.js'
import { shownAt } from './clip-archive.js'
import { initialState, type Conversation } from './conversation.js'
import type { CarryForward, OriginType, RecordedEvent, ReplacementType } from '../events/index.js'
import { liveMessage, type LiveMessage } from './live-message.js'
import { observedFrom, type ObservedCompaction } from './observed.js'
import { batchesInForce, pinsOf, softBackoffOf } from './put-into-force.js'
import { withView } from './with-view.js'

/** What a load reads by revision, as the origin event names it. */
export interface PointReads {
  readonly messages: readonly RecordedEvent<'MessageAppended'>[]
  /** The events that hold the active batches. */
  readonly batches: readonly RecordedEvent<'BatchArchived' | 'BatchesResummarized' | ReplacementType>[]
  readonly chunks: readonly RecordedEvent<'ChunkSummarized'>[]
  /** The last compaction of the program that makes the context. */
  readonly observed: readonly RecordedEvent<'CompactionObserved'>[]
  /** Revisions of batches that were not read, because the view does not show them. */
  readonly unshown?: ReadonlySet<bigint>
}

/**
 * The revisions that have to be read to resume at this event, besides the window up to itself: of messages, and of what
 * compaction made of them.
 */
export function revisionsCarried({ type, revision, data: { carried } }: RecordedEvent<OriginType>): {
  readonly messages: readonly bigint[]
  readonly made: readonly bigint[]
} {
  const { originalTask, leading, kept, batches, chunks, observed } = carried
  return {
    messages: [
      ...(originalTask === undefined ? [] : [originalTask]),
      ...leading,
      ...kept.map((message) => message.revision),
    ],
    made: [
      ...batches.map((batch) => batch.revision).filter((held) => held !== revision),
      ...chunks,
      // What puts an observed context back holds it whole.
      ...(type !== 'MessagesPruned' || observed?.compaction === undefined ? [] : [observed.compaction]),
    ],
  }
}

/**
 * Of the batches that an origin event carries, the revisions of those that its view does not show. None where that
 * cannot be told: the other view integrates all batches, an older prune does not say how deep they are, and what puts
 * batches into force holds them whole.
 */
export function revisionsUnshown({ type, data }: RecordedEvent<OriginType>): ReadonlySet<bigint> {
  const { configuration, batches } = data.carried
  const deep = batches.flatMap(({ revision, depth }) => (depth === undefined ? [] : [{ revision, depth }]))
  if (type !== 'MessagesPruned' || configuration.policy.view !== 'clip-archive' || deep.length < batches.length)
    return new Set()
  const shown = shownAt(deep, configuration.policy)
  return new Set(deep.flatMap(({ revision }, at) => (shown.has(at) ? [] : [revision])))
}

/** Stands for a batch that the view does not show, where nothing but the context is wanted. */
const notShown = ({ batchId, revision, depth = 0 }: CarryForward['batches'][number]): Batch => ({
  batchId,
  label: '',
  depth,
  startTime: '',
  endTime: '',
  messageCount: 0,
  firstRevision: revision,
  lastRevision: revision,
  content: '',
  tokens: 0,
  revision,
})

const heldBatches = (event: PointReads['batches'][number]): Batch[] =>
  event.type === 'BatchArchived' || event.type === 'BatchesResummarized'
    ? [batchFrom(event.data, event.revision)]
    : batchesInForce(event.data, event.revision)

/** The compaction that an observed context goes by: what puts it back holds it whole, a prune names its revision. */
function observedCompaction(
  { type, data }: RecordedEvent<OriginType>,
  reads: PointReads['observed'],
): ObservedCompaction | undefined {
  if (type !== 'MessagesPruned') return data.observed
  const read = reads.find((event) => event.revision === data.carried.observed?.compaction)
  return read === undefined ? undefined : { ...read.data, revision: read.revision }
}

/**
 * The state right after an origin event, from nothing before it but what it names.
 * @param windowEvents the messages appended from its window start up to itself, without those that were withdrawn by
 * then
 */
export function resumeAt(
  { conversationId, findEstimator }: Pick<Conversation, 'conversationId' | 'findEstimator'>,
  event: RecordedEvent<OriginType>,
  reads: PointReads,
  windowEvents: readonly RecordedEvent<'MessageAppended'>[],
): Conversation {
  const { carried, cycle, windowStart } = event.data
  const messages = new Map(reads.messages.map((read) => [read.revision, liveMessage(read)]))
  const known = new Map(reads.batches.flatMap(heldBatches).map((batch) => [batch.batchId, batch]))
  const pins = pinsOf(carried)
  const pinnedNow = (message: LiveMessage): LiveMessage => ({ ...message, pinned: pins.get(message.revision) ?? false })
  const active =
    event.type === 'MessagesPruned'
      ? carried.batches.flatMap(
          (batch) => known.get(batch.batchId) ?? (reads.unshown?.has(batch.revision) === true ? notShown(batch) : []),
        )
      : batchesInForce(event.data, event.revision)
  const leadingRevisions = new Set(carried.leading)
  return withView({
    ...initialState(conversationId, findEstimator),
    revision: event.revision,
    conversationRevision: event.revision,
    hash: event.metadata.hash,
    recordedAt: event.metadata.recordedAt,
    configuration: carried.configuration,
    messagesAppended: carried.messagesAppended,
    withdrawn: { messages: carried.withdrawn?.messages ?? 0, compacted: carried.withdrawn?.folded ?? 0 },
    messagesCompressed: carried.messagesCompressed,
    observed: observedFrom(carried.observed, observedCompaction(event, reads.observed)),
    cycles: cycle,
    lastOrigin: event.revision,
    lineage: carried.line,
    softBackoffUntil: event.type === 'MessagesPruned' ? undefined : softBackoffOf(event.data),
    originalTask: carried.originalTask === undefined ? undefined : messages.get(carried.originalTask),
    leading: carried.leading.flatMap((revision) => messages.get(revision) ?? []),
    retained: carried.kept
      .filter(({ revision }) => revision < windowStart)
      .flatMap(({ revision }) => {
        const message = messages.get(revision)
        return message === undefined ? [] : [pinnedNow(message)]
      }),
    window: windowEvents
      .filter((read) => !leadingRevisions.has(read.revision))
      .map((read) => pinnedNow(liveMessage(read))),
    batches: active,
    visibleBatches: active,
    chunks: reads.chunks.map((read) => ({ ...read.data, revision: read.revision })),
    compactedCalls: carried.foldedCalls,
  })
}
