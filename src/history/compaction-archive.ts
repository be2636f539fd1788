/**
 * The facts of compaction of one conversation, read as far as an explanation needs them. A batch, all that it was made
 * of and the cycle behind it lie between its first message and the prune that follows it, so that stretch is read once,
 * and the rest of the conversation only where something is missing in it.
 */
import type { Conversation } from '../domain/conversation/conversation.js'
import { originTypes, type RecordedEvent, type ReplacementType } from '../domain/events/index.js'
import { conversationStream, editionStream } from '../domain/values/ids.js'
import type { EventStore } from '../ports/event-store.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import type { Log } from '../recording/load-conversation.js'
import { originsOf } from '../recording/origins.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import type { CycleOrigin, TakeoverOrigin } from './explanation.js'
import { recordedAt } from './recorded-at.js'

/** A fact that made a batch. */
export type BatchEvent = RecordedEvent<'BatchArchived' | 'BatchesResummarized'>

const COMPACTION: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'ChunkSummarized',
  'CompactionObserved',
  'BatchArchived',
  'BatchesResummarized',
  ...originTypes,
])
/** The facts of compaction that were read so far, by what they are named. */
export class CompactionArchive {
  readonly batches = new Map<string, BatchEvent>()
  readonly chunks = new Map<string, RecordedEvent<'ChunkSummarized'>>()
  /** Compactions of other programs, by what their batches name as their chunk. */
  readonly observed = new Map<string, RecordedEvent<'CompactionObserved'>>()
  /** Batch → the cycle that followed it. */
  readonly cycles = new Map<string, CycleOrigin>()
  /** Batch → the last fact that put it into force. */
  readonly takeovers = new Map<string, TakeoverOrigin>()
  private readonly editionIds = new Set<string>()
  /** Batches that no cycle has followed so far in what is read. */
  private waiting: string[] = []
  private readonly editionsRead = new Set<string>()
  private isWhole = false
  private takeoversRead: readonly RecordedEvent<ReplacementType>[] | undefined

  constructor(
    private readonly log: Log,
    private readonly conversationId: string,
  ) {}

  /** Every takeover of the conversation, newest first: read by its place, and not at all where there never was one. */
  private async takeoversOf({ lineage, lastOrigin }: Conversation): Promise<readonly RecordedEvent<ReplacementType>[]> {
    if (lineage === undefined) return []
    if (this.takeoversRead !== undefined) return this.takeoversRead
    const takeovers: RecordedEvent<ReplacementType>[] = []
    for await (const event of originsOf(this.log, this.conversationId, lastOrigin))
      if (isReplacement(event)) takeovers.push(event)
    this.takeoversRead = takeovers
    return takeovers
  }

  /** The fact that undid a cycle. */
  async undoneBy(state: Conversation, { recorded }: CycleOrigin): Promise<RecordedEvent | undefined> {
    if (recorded.stream !== conversationStream(this.conversationId)) return undefined
    return (await this.takeoversOf(state)).find(
      (event) =>
        isOfType(event, 'CycleUndone') && event.data.undone.some(({ revision }) => revision === recorded.revision),
    )
  }

  /** The fact that put a batch out of force and that no later one took back. */
  async putOutBy(state: Conversation, batchId: string): Promise<TakeoverOrigin | undefined> {
    const last = (await this.takeoversOf(state)).find(
      ({ data: { batches, retired } }) =>
        retired.includes(batchId) || batches.some((batch) => batch.batchId === batchId),
    )
    if (last?.data.retired.includes(batchId) !== true) return undefined
    return {
      type: last.type,
      ...('editionId' in last.data ? { editionId: last.data.editionId } : {}),
      recorded: recordedAt(last),
    }
  }

  private take(event: RecordedEvent): void {
    if (isOfType(event, 'ChunkSummarized')) this.chunks.set(event.data.chunkId, event)
    else if (isOfType(event, 'CompactionObserved')) this.observed.set(event.data.chunkId, event)
    else if (isOfType(event, 'BatchArchived', 'BatchesResummarized')) {
      this.batches.set(event.data.batchId, event)
      this.waiting.push(event.data.batchId)
    } else if (isOfType(event, 'MessagesPruned')) {
      const { cycle, why, tokensBefore, tokensAfter } = event.data
      for (const batchId of this.waiting)
        this.cycles.set(batchId, { cycle, ...why, tokensBefore, tokensAfter, recorded: recordedAt(event) })
      this.waiting = []
    } else if (isReplacement(event)) {
      const { batches } = event.data
      for (const { batchId, origin } of batches) {
        this.takeovers.set(batchId, {
          type: event.type,
          ...(origin.editionId === undefined ? {} : { editionId: origin.editionId }),
          recorded: recordedAt(event),
        })
        if (origin.editionId !== undefined) this.editionIds.add(origin.editionId)
      }
      // What waited for a cycle was in force no more when the next one came.
      this.waiting = []
    }
  }

  private async read(
    stream: string,
    options: Parameters<EventStore['readStream']>[1],
    isEnd: (event: RecordedEvent) => boolean,
  ): Promise<void> {
    this.waiting = []
    for await (const stored of this.log.store.readStream(stream, options)) {
      if (!COMPACTION.has(stored.type)) continue
      const event = await decodeEvent(stored, this.log.bodies)
      this.take(event)
      if (isEnd(event)) return
    }
  }

  /** Reads the conversation from a batch's first message to the cycle that follows it. */
  async readAround({
    firstRevision,
    revision,
  }: {
    readonly firstRevision: bigint
    readonly revision: bigint
  }): Promise<void> {
    await this.read(
      conversationStream(this.conversationId),
      { from: firstRevision < revision ? firstRevision : revision },
      (event) => event.revision > revision && isOfType(event, ...originTypes),
    )
  }

  /**
   * Reads the editions that were found in force so far; then every stream of the conversation. False where nothing is
   * left to read.
   */
  async readFurther(): Promise<boolean> {
    if (this.isWhole) return false
    const editions = [...this.editionIds]
      .map((editionId) => editionStream(editionId, this.conversationId))
      .filter((stream) => !this.editionsRead.has(stream))
    for (const stream of editions) {
      this.editionsRead.add(stream)
      await this.read(stream, {}, () => false)
    }
    if (editions.length > 0) return true
    this.isWhole = true
    for (const stream of streamsOf(this.conversationId, await editionStreams(this.log)))
      if (!this.editionsRead.has(stream)) await this.read(stream, {}, () => false)
    return true
  }

  /** The batches whose ids begin so, among those that were read; the word that each begins with may be left out. */
  begunWith(typed: string): readonly string[] {
    const part = typed.replace(/^batch-?/u, '')
    return part === '' ? [] : [...this.batches.keys()].filter((id) => id.startsWith(`batch-${part}`))
  }
}
