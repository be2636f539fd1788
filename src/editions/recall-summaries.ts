/**
 * Finds summaries that were bought before. Where a stream of this conversation, its own or one of its editions', has an
 * answer to the very same request, that answer is used and no model is asked. Memory holds only hashes and places; a
 * summary is read when it is wanted.
 */
import { batchFrom, summaryOf } from '../domain/conversation/batch.js'
import type { SummaryResult } from '../domain/decide/index.js'
import type { EventData, RecordedEvent, SummarizerRecord } from '../domain/events/index.js'
import type { StoredEvent } from '../ports/event-store.js'
import type { PreparedSummary } from '../ports/summarizer.js'
import { streamsOf, type EditionStreams } from '../recording/conversation-streams.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'

/** Gives what was recorded for a request; undefined where nothing was. */
export type Recall = (prepared: PreparedSummary) => Promise<SummaryResult | undefined>

interface SummaryPlace {
  readonly stream: string
  readonly revision: bigint
}

/** What the facts of one conversation say of its summaries. */
class Summaries {
  /** By request; several where what was recorded first was undone, and asked for again. */
  private readonly places = new Map<string, (SummaryPlace & { readonly id: string })[]>()
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

  private keep(event: SummaryPlace, id: string, { requestHash, standIn }: SummarizerRecord): void {
    // What stood in for a model is no answer of that model, whatever its request.
    if (standIn === true) return
    const places = this.places.get(requestHash) ?? []
    places.push({ stream: event.stream, revision: event.revision, id })
    this.places.set(requestHash, places)
  }

  /**
   * What was active before an undone cycle and is not any more, with what it was made of, unless that is in force
   * again.
   */
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

  placeOf(requestHash: string): SummaryPlace | undefined {
    return this.places.get(requestHash)?.find(({ id }) => !this.undone.has(id))
  }
}

/** Types that say something of summaries; the others are not even decoded. */
const TELLING: ReadonlySet<string> = new Set([
  'ChunkSummarized',
  'SummarySetAside',
  'BatchArchived',
  'BatchesResummarized',
  'CycleUndone',
])

function resultOf(event: RecordedEvent): SummaryResult | undefined {
  if (!isOfType(event, 'ChunkSummarized', 'SummarySetAside', 'BatchesResummarized')) return undefined
  const { sections } = event.data
  const summary = isOfType(event, 'ChunkSummarized', 'SummarySetAside')
    ? event.data.summary
    : isOfType(event, 'BatchesResummarized')
      ? summaryOf(batchFrom(event.data, event.revision))
      : ''
  // The facts stay as they were, usage and duration included: they say how the words came about. `reused` says that
  // nobody paid for them again.
  return {
    summary,
    ...(sections === undefined ? {} : { sections }),
    summarizer: { ...event.data.summarizer, reused: true },
  }
}

async function lookThrough(log: Log, conversationId: string, editions: EditionStreams): Promise<Summaries> {
  const summaries = new Summaries()
  for (const stream of streamsOf(conversationId, editions)) {
    for await (const stored of log.store.readStream(stream))
      if (TELLING.has(stored.type)) summaries.see(await decodeEvent(stored, log.bodies))
  }
  return summaries
}

/**
 * Looks through a conversation's streams once, and not before something is to be bought: an edition that is whole is
 * adopted without.
 */
export function recallSummaries(log: Log, conversationId: string, editions: () => Promise<EditionStreams>): Recall {
  let looked: Promise<Summaries> | undefined
  return async ({ requestHash }) => {
    looked ??= editions().then((streams) => lookThrough(log, conversationId, streams))
    const place = (await looked).placeOf(requestHash)
    if (place === undefined) return undefined
    const [stored]: (StoredEvent | undefined)[] = await log.store.readRevisions(place.stream, [place.revision])
    return stored === undefined ? undefined : resultOf(await decodeEvent(stored, log.bodies))
  }
}
