/** The tree of a batch: source batches, chunk and messages, each with its origin and cycle. */
import { batchContent } from '../../domain/conversation/batch.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { RecordedEvent, SummarizerRecord } from '../../domain/events/index.js'
import type { Log } from '../recording/load-conversation.js'
import { isOfType } from '../recording/read-event.js'
import type { CompactionArchive } from './compaction-archive.js'
import type { BatchEvent } from './compaction-events.js'
import type { BatchOrigin, ChunkOrigin, ObservedOrigin, OriginalMessage } from './explanation.js'
import { originals } from './original-messages.js'
import { recordedAt } from './recorded-at.js'

/** Every summarizer record in a tree. */
export function* summarizersOf({ summarizer, chunk, sources }: BatchOrigin): Generator<SummarizerRecord> {
  if (summarizer !== undefined) yield summarizer
  if (chunk !== undefined) yield chunk.summarizer
  for (const source of sources) yield* summarizersOf(source)
}

/** Every chunk in a tree. */
export function* chunksOf({ chunk, sources }: BatchOrigin): Generator<ChunkOrigin> {
  if (chunk !== undefined) yield chunk
  for (const source of sources) yield* chunksOf(source)
}

const isComplete = ({ missing, sources }: BatchOrigin): boolean => missing.length === 0 && sources.every(isComplete)

/** The current state of a batch. */
function stateOf(state: Conversation, batchId: string): BatchOrigin['state'] {
  if (state.observed !== undefined && state.batches.at(-1)?.batchId === batchId) return 'shown'
  const isShown =
    state.view?.parts.some((part) => part.kind === 'batch' && part.batchId === batchId) === true ||
    (state.configuration?.policy.view === 'session-summary' &&
      state.visibleBatches.some((batch) => batch.batchId === batchId && batch.sections !== undefined))
  if (isShown) return 'shown'
  return state.batches.some((batch) => batch.batchId === batchId) ? 'active' : 'retired'
}

/** A batch with its sources, from the events that were read. */
async function originOf(
  log: Log,
  state: Conversation,
  archive: CompactionArchive,
  event: BatchEvent,
  open: boolean,
): Promise<BatchOrigin> {
  const { batchId, depth } = event.data
  const stateNow = stateOf(state, batchId)
  const missing: string[] = []
  const sources: BatchOrigin[] = []
  let chunk: ChunkOrigin | undefined
  let observed: ObservedOrigin | undefined
  if (isOfType(event, 'BatchesResummarized')) {
    for (const id of event.data.sourceBatchIds) {
      const source = archive.found.batches.get(id)
      // Sources must have a smaller depth, so a batch that names itself as a source does not loop forever.
      if (source === undefined || source.data.depth >= depth) missing.push(id)
      else sources.push(await originOf(log, state, archive, source, open))
    }
  } else if (isOfType(event, 'BatchArchived')) {
    const summarized = archive.found.chunks.get(event.data.chunkId)
    const observedEvent = archive.found.observed.get(event.data.chunkId)
    if (observedEvent !== undefined)
      observed = await observedOf(log, state.conversationId, observedEvent, open, missing)
    else if (summarized === undefined) missing.push(event.data.chunkId)
    else chunk = await chunkOf(log, state.conversationId, summarized, open, missing)
  }
  const cycle = archive.found.cycles.get(batchId)
  const undone = cycle === undefined ? undefined : await archive.undoneBy(state, cycle)
  const putOut = stateNow !== 'retired' ? undefined : await archive.putOutBy(state, batchId)
  const takenOver = archive.found.takeovers.get(batchId)
  return {
    ...batchContent(event.data),
    state: stateNow,
    recorded: recordedAt(event),
    ...(isOfType(event, 'BatchesResummarized') ? { summarizer: event.data.summarizer } : {}),
    ...(cycle === undefined
      ? {}
      : { cycle: { ...cycle, ...(undone === undefined ? {} : { undone: recordedAt(undone) }) } }),
    ...(takenOver === undefined ? {} : { takenOver }),
    ...(putOut === undefined ? {} : { putOut }),
    sources,
    ...(chunk === undefined ? {} : { chunk }),
    ...(observed === undefined ? {} : { observed }),
    missing,
  }
}

/** The messages of a chunk, if requested; ids without a message are added to `missing`. */
async function opened(
  log: Log,
  conversationId: string,
  messageIds: readonly string[],
  open: boolean,
  missing: string[],
): Promise<readonly OriginalMessage[] | undefined> {
  if (!open) return undefined
  const messages = await originals(log, conversationId, messageIds)
  const foundIds = new Set(messages.map(({ messageId }) => messageId))
  missing.push(...messageIds.filter((id) => !foundIds.has(id)))
  return messages
}

async function observedOf(
  log: Log,
  conversationId: string,
  event: RecordedEvent<'CompactionObserved'>,
  open: boolean,
  missing: string[],
): Promise<ObservedOrigin> {
  const { program, programVersion, sourceId, trigger, at, unknown, coversMissing, told, where, summary, covered } =
    event.data
  const messageIds = covered?.messageIds ?? []
  const messages = await opened(log, conversationId, messageIds, open, missing)
  return {
    program,
    ...(programVersion === undefined ? {} : { programVersion }),
    sourceId,
    trigger,
    ...(at === undefined ? {} : { at }),
    summary: summary.kind,
    messageIds,
    unknown,
    ...(coversMissing === undefined ? {} : { coversMissing }),
    told,
    where,
    recorded: recordedAt(event),
    ...(messages === undefined ? {} : { messages }),
  }
}

async function chunkOf(
  log: Log,
  conversationId: string,
  event: RecordedEvent<'ChunkSummarized'>,
  open: boolean,
  missing: string[],
): Promise<ChunkOrigin> {
  const { chunkId, messageIds, firstRevision, lastRevision, continues, summarizer } = event.data
  const messages = await opened(log, conversationId, messageIds, open, missing)
  return {
    chunkId,
    messageIds,
    firstRevision,
    lastRevision,
    summarizer,
    ...(continues === undefined ? {} : { continues }),
    recorded: recordedAt(event),
    ...(messages === undefined ? {} : { messages }),
  }
}

/** The tree of a batch. Reads further events while a part of it is missing. */
export async function treeOf(
  log: Log,
  state: Conversation,
  archive: CompactionArchive,
  batchId: string,
  open: boolean,
): Promise<BatchOrigin | undefined> {
  for (;;) {
    const event = archive.found.batches.get(batchId)
    const tree = event === undefined ? undefined : await originOf(log, state, archive, event, open)
    if ((tree !== undefined && isComplete(tree)) || !(await archive.readFurther())) return tree
  }
}
