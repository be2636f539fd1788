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
import { CompactionEvents } from './compaction-events.js'
import type { CycleOrigin, TakeoverOrigin } from './explanation.js'
import { recordedAt } from './recorded-at.js'

const COMPACTION: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  'ChunkSummarized',
  'CompactionObserved',
  'BatchArchived',
  'BatchesResummarized',
  ...originTypes,
])

export class CompactionArchive {
  /** The compaction events read so far. */
  readonly found = new CompactionEvents()
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

  private async read(
    stream: string,
    options: Parameters<EventStore['readStream']>[1],
    isEnd: (event: RecordedEvent) => boolean,
  ): Promise<void> {
    this.found.beginStream()
    for await (const stored of this.log.store.readStream(stream, options)) {
      if (!COMPACTION.has(stored.type)) continue
      const event = await decodeEvent(stored, this.log)
      this.found.take(event)
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
    const editions = [...this.found.editionIds]
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
}
