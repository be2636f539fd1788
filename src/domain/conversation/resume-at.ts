/**
 * Restores the state from the last checkpoint event. It needs only that event, and point reads of the revisions that
 * the event lists.
 */
import { batchFrom, type Batch } from './batch.js'
import { shownAt3 } from './clip-archive-3.js'
import { shownAt } from './clip-archive.js'
import { initialState, type Conversation } from './conversation.js'
import type { CarryForward, OriginType, RecordedEvent, ReplacementType } from '../events/index.js'
import { liveMessage, type LiveMessage } from './live-message.js'
import { observedFrom, type ObservedCompaction } from './observed.js'
import { activeBatchesOf, pinnedByRevision, softBackoffOf } from './apply-replacement.js'
import { withView } from './with-view.js'

/** The events that a load reads by revision, as listed in the checkpoint event. */
export interface PointReads {
  readonly messages: readonly RecordedEvent<'MessageAppended'>[]
  /** The events that hold the active batches. */
  readonly batches: readonly RecordedEvent<'BatchArchived' | 'BatchesResummarized' | ReplacementType>[]
  readonly chunks: readonly RecordedEvent<'ChunkSummarized'>[]
  /** The last compaction of the program that makes the context. */
  readonly observed: readonly RecordedEvent<'CompactionObserved'>[]
  /** Revisions of batches that were not read because the view omits them. */
  readonly unshown?: ReadonlySet<number>
}

/**
 * The revisions to read in addition to the window before this event: messages, and the batches and compactions that
 * cover them.
 */
export function revisionsCarried({ type, revision, data: { carried } }: RecordedEvent<OriginType>): {
  readonly messages: readonly number[]
  readonly made: readonly number[]
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
      // Replacement events hold the observed compaction themselves.
      ...(type !== 'MessagesPruned' || observed?.compaction === undefined ? [] : [observed.compaction]),
    ],
  }
}

type CarriedBatch = CarryForward['batches'][number]
/** A carried batch with all fields that decide whether it is shown, and that the line about omitted batches needs. */
type DescribedBatch = { readonly [Field in keyof CarriedBatch]-?: NonNullable<CarriedBatch[Field]> }

const isDescribed = (batch: CarriedBatch): batch is DescribedBatch =>
  batch.depth !== undefined &&
  batch.tokens !== undefined &&
  batch.startTime !== undefined &&
  batch.endTime !== undefined &&
  batch.messageCount !== undefined

/** Indexes of the carried batches that the view shows; undefined if the prune event does not record enough. */
function shownIndexes({ configuration, batches }: CarryForward): ReadonlySet<number> | undefined {
  const { policy, rendererVersion } = configuration
  if (rendererVersion >= 4) {
    const described = batches.filter(isDescribed)
    return described.length < batches.length ? undefined : shownAt(described, policy)
  }
  const deep = batches.flatMap(({ depth }) => (depth === undefined ? [] : [{ depth }]))
  return deep.length < batches.length ? undefined : shownAt3(deep, policy)
}

/**
 * Revisions of which the view shows no carried batch. Empty if the view reads all batches, if an older prune event does
 * not record enough, and for an event that holds the batches itself.
 */
export function revisionsUnshown({ type, data }: RecordedEvent<OriginType>): ReadonlySet<number> {
  const { configuration, batches } = data.carried
  if (type !== 'MessagesPruned') return new Set()
  const indexes =
    configuration.policy.view === 'working-state'
      ? new Set([batches.length - 1])
      : configuration.policy.view === 'clip-archive'
        ? shownIndexes(data.carried)
        : undefined
  if (indexes === undefined) return new Set()
  // A replacement event holds several batches, of which the view may show some.
  const visibleRevisions = new Set(batches.flatMap(({ revision }, at) => (indexes.has(at) ? [revision] : [])))
  return new Set(batches.flatMap(({ revision }) => (visibleRevisions.has(revision) ? [] : [revision])))
}

/** A batch without its text, which was not read because the view omits it. */
const batchWithoutText = ({
  batchId,
  revision,
  depth = 0,
  tokens = 0,
  startTime = '',
  endTime = '',
  messageCount = 0,
}: CarriedBatch): Batch => ({
  batchId,
  label: '',
  depth,
  startTime,
  endTime,
  messageCount,
  firstRevision: revision,
  lastRevision: revision,
  content: '',
  tokens,
  revision,
})

const batchesIn = (event: PointReads['batches'][number]): Batch[] =>
  event.type === 'BatchArchived' || event.type === 'BatchesResummarized'
    ? [batchFrom(event.data, event.revision)]
    : activeBatchesOf(event.data, event.revision)

/**
 * The compaction that an observed context starts from. A replacement event holds it; a prune event refers to its
 * revision.
 */
function observedCompaction(
  { type, data }: RecordedEvent<OriginType>,
  reads: PointReads['observed'],
): ObservedCompaction | undefined {
  if (type !== 'MessagesPruned') return data.observed
  const read = reads.find((event) => event.revision === data.carried.observed?.compaction)
  return read === undefined ? undefined : { ...read.data, revision: read.revision }
}

/**
 * The state right after a checkpoint event, restored without any other earlier event.
 * @param windowEvents the messages appended from the start of its window up to the event, without those withdrawn
 * before it
 */
export function resumeAt(
  { conversationId, findEstimator }: Pick<Conversation, 'conversationId' | 'findEstimator'>,
  event: RecordedEvent<OriginType>,
  reads: PointReads,
  windowEvents: readonly RecordedEvent<'MessageAppended'>[],
): Conversation {
  const { carried, cycle, windowStart } = event.data
  const messages = new Map(reads.messages.map((read) => [read.revision, liveMessage(read)]))
  const known = new Map(reads.batches.flatMap(batchesIn).map((batch) => [batch.batchId, batch]))
  const pins = pinnedByRevision(carried)
  const pinnedNow = (message: LiveMessage): LiveMessage => ({ ...message, pinned: pins.get(message.revision) ?? false })
  const active =
    event.type === 'MessagesPruned'
      ? carried.batches.flatMap(
          (batch) =>
            known.get(batch.batchId) ?? (reads.unshown?.has(batch.revision) === true ? batchWithoutText(batch) : []),
        )
      : activeBatchesOf(event.data, event.revision)
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
    lineage: carried.lineage,
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
    compactedCalls: carried.compactedCalls,
  })
}
