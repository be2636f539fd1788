/**
 * The compaction events of one conversation, read as far as an explanation needs them. The events of a batch, its
 * sources and its cycle are between its first message and the next prune, so that range is read once, and the rest only
 * if something is missing.
 */
import type { Conversation } from '../../domain/conversation/conversation.js'
import { originTypes, type RecordedEvent, type ReplacementType } from '../../domain/events/index.js'
import { conversationStream, editionStream } from '../../domain/values/ids.js'
import type { EventStore } from '../../ports/event-store.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import type { Log } from '../recording/load-conversation.js'
import { originsOf } from '../recording/origins.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import type { CycleOrigin, TakeoverOrigin } from './explanation.js'
import { recordedAt } from './recorded-at.js'

/** An event that made a batch. */
export type BatchEvent = RecordedEvent<'BatchArchived' | 'BatchesResummarized'>

const COMPACTION: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'ChunkSummarized',
  'CompactionObserved',
  'BatchArchived',
  'BatchesResummarized',
  ...originTypes,
])
/** The compaction events read so far, by id. */
export class CompactionArchive {
  readonly batches = new Map<string, BatchEvent>()
  readonly chunks = new Map<string, RecordedEvent<'ChunkSummarized'>>()
  /** Compactions of other programs, by the chunk id in their batches. */
  readonly observed = new Map<string, RecordedEvent<'CompactionObserved'>>()
  /** The cycle that followed each batch. */
  readonly cycles = new Map<string, CycleOrigin>()
  /** The last event that activated each batch. */
  readonly takeovers = new Map<string, TakeoverOrigin>()
  private readonly editionIds = new Set<string>()
  /** Batches read so far without a following cycle. */
  private uncycled: string[] = []
  private readonly editionsRead = new Set<string>()
  private isWhole = false
  private takeoversRead: readonly RecordedEvent<ReplacementType>[] | undefined

  constructor(
    private readonly log: Log,
    private readonly conversationId: string,
  ) {}

  /**
   * The events that changed the active batches, newest first: read by revision, and not at all if there never was one.
   */
  private async takeoversOf({ lineage, lastOrigin }: Conversation): Promise<readonly RecordedEvent<ReplacementType>[]> {
    if (lineage === undefined) return []
    if (this.takeoversRead !== undefined) return this.takeoversRead
    const takeovers: RecordedEvent<ReplacementType>[] = []
    for await (const event of originsOf(this.log, this.conversationId, lastOrigin))
      if (isReplacement(event)) takeovers.push(event)
    this.takeoversRead = takeovers
    return takeovers
  }

  /** The event that undid a cycle. */
  async undoneBy(state: Conversation, { recorded }: CycleOrigin): Promise<RecordedEvent | undefined> {
    if (recorded.stream !== conversationStream(this.conversationId)) return undefined
    return (await this.takeoversOf(state)).find(
      (event) =>
        isOfType(event, 'CycleUndone') && event.data.undone.some(({ revision }) => revision === recorded.revision),
    )
  }

  /** The event that deactivated a batch, unless a later one activated it again. */
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
      this.uncycled.push(event.data.batchId)
    } else if (isOfType(event, 'MessagesPruned')) {
      const { cycle, why, tokensBefore, tokensAfter } = event.data
      for (const batchId of this.uncycled)
        this.cycles.set(batchId, { cycle, ...why, tokensBefore, tokensAfter, recorded: recordedAt(event) })
      this.uncycled = []
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
      // Batches without a cycle are no longer active at the next one.
      this.uncycled = []
    }
  }

  private async read(
    stream: string,
    options: Parameters<EventStore['readStream']>[1],
    isEnd: (event: RecordedEvent) => boolean,
  ): Promise<void> {
    this.uncycled = []
    for await (const stored of this.log.store.readStream(stream, options)) {
      if (!COMPACTION.has(stored.type)) continue
      const event = await decodeEvent(stored, this.log)
      this.take(event)
      if (isEnd(event)) return
    }
  }

  /** Reads the conversation from a batch's first message to the cycle that follows it. */
  async readAround({
    firstRevision,
    revision,
  }: {
    readonly firstRevision: number
    readonly revision: number
  }): Promise<void> {
    await this.read(
      conversationStream(this.conversationId),
      { from: firstRevision < revision ? firstRevision : revision },
      (event) => event.revision > revision && isOfType(event, ...originTypes),
    )
  }

  /**
   * Reads the editions of active batches found so far; then every stream of the conversation. False if everything was
   * read.
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

  /** The ids of batches read so far that begin with the input. The prefix `batch-` is optional. */
  startingWith(typed: string): readonly string[] {
    const part = typed.replace(/^batch-?/u, '')
    return part === '' ? [] : [...this.batches.keys()].filter((id) => id.startsWith(`batch-${part}`))
  }
}
