/**
 * Finds summaries that were paid for before. If a stream of this conversation, its own or that of an edition, has an
 * answer to the same request, that answer is reused and no model is called. Memory contains only hashes and positions;
 * a summary is read on demand.
 */
import { batchFrom, summaryOf } from '../../domain/conversation/batch.js'
import type { SummaryResult } from '../../domain/decide/index.js'
import type { EventData, RecordedEvent, SummarizerRecord } from '../../domain/events/index.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { PreparedSummary } from '../../ports/summarizer.js'
import { streamsOf, type EditionStreams } from '../recording/conversation-streams.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'

/** Returns the recorded result of a request, or undefined. */
export type Recall = (prepared: PreparedSummary) => Promise<SummaryResult | undefined>

interface SummaryPosition {
  readonly stream: string
  readonly revision: number
}

/** The summaries that the events of one conversation record. */
class Summaries {
  /** By request hash; several if the first one was undone and the request was repeated. */
  private readonly positions = new Map<string, (SummaryPosition & { readonly id: string })[]>()
  private readonly chunkOf = new Map<string, string>()
  private readonly sourcesOf = new Map<string, readonly string[]>()
  private readonly undone = new Set<string>()

  see(event: RecordedEvent): void {
    if (isOfType(event, 'ChunkSummarized')) this.keep(event, event.data.chunkId, event.data.summarizer)
    else if (isOfType(event, 'SummarySetAside')) this.keep(event, event.id, event.data.summarizer)
    else if (isOfType(event, 'BatchArchived')) this.chunkOf.set(event.data.batchId, event.data.chunkId)
    else if (isOfType(event, 'BatchesResummarized')) {
      this.keep(event, event.data.batchId, event.data.summarizer)
      this.sourcesOf.set(event.data.batchId, event.data.sourceBatchIds)
    } else if (isOfType(event, 'CycleUndone')) this.undo(event.data)
  }

  private keep(event: SummaryPosition, id: string, { requestHash, fallback }: SummarizerRecord): void {
    // A fallback summary is not an answer of the model, whatever its request.
    if (fallback === true) return
    const known = this.positions.get(requestHash) ?? []
    known.push({ stream: event.stream, revision: event.revision, id })
    this.positions.set(requestHash, known)
  }

  /** Marks batches that an undone cycle deactivated, with their sources, except those that are active again. */
  private undo({ retired, batches }: EventData<'CycleUndone'>): void {
    const inForce = new Set(batches.map((batch) => batch.batchId))
    const out = [...retired]
    for (let batchId = out.pop(); batchId !== undefined; batchId = out.pop()) {
      if (inForce.has(batchId) || this.undone.has(batchId)) continue
      this.undone.add(batchId)
      const chunkId = this.chunkOf.get(batchId)
      if (chunkId !== undefined) this.undone.add(chunkId)
      out.push(...(this.sourcesOf.get(batchId) ?? []))
    }
  }

  positionOf(requestHash: string): SummaryPosition | undefined {
    return this.positions.get(requestHash)?.find(({ id }) => !this.undone.has(id))
  }
}

/** The event types about summaries; others are not decoded. */
const SUMMARY_TYPES: ReadonlySet<string> = new Set([
  'ChunkSummarized',
  'SummarySetAside',
  'BatchArchived',
  'BatchesResummarized',
  'CycleUndone',
])

function resultOf(event: RecordedEvent): SummaryResult | undefined {
  if (!isOfType(event, 'ChunkSummarized', 'SummarySetAside', 'BatchesResummarized')) return undefined
  const { sections, summarizer } = event.data
  const reused = { ...(sections === undefined ? {} : { sections }), summarizer: { ...summarizer, reused: true } }
  // The record stays as it was, including usage and duration. `reused` says that it was not paid for again.
  if (isOfType(event, 'BatchesResummarized'))
    return { summary: summaryOf(batchFrom(event.data, event.revision)), ...reused }
  const { summary, operations, rejectedOperations } = event.data
  // Operations by rules are made anew, for the working state of this run.
  const isByRules = isOfType(event, 'ChunkSummarized') && event.data.stateRules !== undefined
  return operations === undefined || isByRules
    ? { summary, ...reused }
    : { summary, ...reused, operations, rejectedOperations }
}

async function readSummaries(log: Log, conversationId: string, editions: EditionStreams): Promise<Summaries> {
  const summaries = new Summaries()
  for (const stream of streamsOf(conversationId, editions)) {
    for await (const stored of log.store.readStream(stream))
      if (SUMMARY_TYPES.has(stored.type)) summaries.see(await decodeEvent(stored, log))
  }
  return summaries
}

/** Reads a conversation's streams once, and only when a summary is needed: a complete edition is adopted without it. */
export function recallSummaries(log: Log, conversationId: string, editions: () => Promise<EditionStreams>): Recall {
  let summaries: Promise<Summaries> | undefined
  return async ({ requestHash }) => {
    summaries ??= editions().then((streams) => readSummaries(log, conversationId, streams))
    const position = (await summaries).positionOf(requestHash)
    if (position === undefined) return undefined
    const [stored]: (StoredEvent | undefined)[] = await log.store.readRevisions(position.stream, [position.revision])
    return stored === undefined ? undefined : resultOf(await decodeEvent(stored, log))
  }
}
