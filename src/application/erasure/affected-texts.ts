/**
 * Finds what an erasure of messages removes: the summaries that were made from them, and everything made from these. A
 * request for a summary also has a background, unless its summarizer is a function: the working state, which rests on all
 * earlier messages, or, without a model and in older events, an earlier summary. A chunk names the chunk that was its
 * background. If it names none, every earlier summary of the stream may have been it.
 * Texts that belong to no message in particular are removed with the first erasure.
 */
import type { RecordedEvent } from '../../domain/events/index.js'
import { asideUnit, batchUnit, chunkUnit, messageUnit, stateUnit, type Unit } from '../../domain/events/texts.js'
import { FUNCTION_STRATEGY, hasWorkingState } from '../../domain/events/summarizer-record.js'
import { editionOf } from '../../domain/values/ids.js'
import { isOfType, isReplacement } from '../recording/read-event.js'

/** The derived texts that are removed. */
export interface AffectedTexts {
  readonly units: readonly Unit[]
  /** Number of summaries: chunks, batches, late and foreign ones. */
  readonly summaries: number
  readonly editions: readonly string[]
}

/** Collects the affected texts of a conversation. Takes the events of one stream after the other. */
export class AffectedTextsCollector {
  private readonly units = new Set<Unit>(['whole'])
  private readonly editions = new Set<string>()
  /** Chunks that are not removed. */
  private readonly remaining = new Set<Unit>()
  private summaries = 0
  private stream = ''
  /** True if an earlier summary of this stream is removed. */
  private isTainted = false

  constructor(private readonly messages: ReadonlyMap<string, number>) {
    for (const messageId of messages.keys()) this.units.add(messageUnit(messageId))
  }

  take(event: RecordedEvent): void {
    if (event.stream !== this.stream) {
      this.stream = event.stream
      this.isTainted = false
    }
    if (isOfType(event, 'ChunkSummarized')) this.summary(event, chunkUnit(event.data.chunkId), event.data)
    else if (isOfType(event, 'BatchArchived')) this.archived(event)
    else if (isOfType(event, 'BatchesResummarized')) this.summary(event, batchUnit(event.data.batchId), event.data)
    else if (isOfType(event, 'SummarySetAside'))
      this.summary(event, asideUnit(event.stream, event.revision), event.data)
    // Another program's summary cannot be attributed to single messages.
    else if (isOfType(event, 'CompactionObserved')) {
      if (event.data.erased !== true) this.remove(event, chunkUnit(event.data.chunkId))
    } else if (isReplacement(event)) this.adopted(event)
  }

  get affected(): AffectedTexts {
    return { units: [...this.units], summaries: this.summaries, editions: [...this.editions] }
  }

  private summary(event: SummaryEvent, unit: Unit, { messageIds = [], sourceBatchIds = [] }: Sources): void {
    // Its derived summaries have been erased with it; later summaries have seen only its placeholder.
    if (event.data.erased === true) return
    const isOfErased =
      messageIds.some((messageId) => this.messages.has(messageId)) ||
      sourceBatchIds.some((batchId) => this.units.has(batchUnit(batchId)))
    if (isOfErased || this.hasErasedBackground(event) || this.hasErasedPrefix(event)) this.remove(event, unit)
    else if (unit.startsWith('chunk:')) this.remaining.add(unit)
  }

  /** A batch has the text of its chunk, which is in the same stream, or in that of an adopted edition. */
  private archived(event: RecordedEvent<'BatchArchived'>): void {
    const { batchId, chunkId, messageIds, erased } = event.data
    const isOfErased =
      this.units.has(chunkUnit(chunkId)) || messageIds.some((messageId) => this.messages.has(messageId))
    if (isOfErased && erased !== true) this.remove(event, batchUnit(batchId))
    // The working state has texts from before the batch too.
    if (this.isTainted && event.data.workingState !== undefined) this.units.add(stateUnit(batchId))
  }

  private hasErasedBackground({ data }: SummaryEvent): boolean {
    if (data.summarizer.strategy === FUNCTION_STRATEGY) return false
    if (hasWorkingState(data.summarizer)) return this.isTainted
    const background = 'continues' in data && data.continues !== undefined ? chunkUnit(data.continues) : undefined
    return this.isTainted && (background === undefined || !this.remaining.has(background))
  }

  /** Whether the request began with the agent's context, which may have shown an erased message. */
  private hasErasedPrefix(event: SummaryEvent): boolean {
    if (!('prefixMessages' in event.data.summarizer.parameters)) return false
    if (editionOf(event.stream) !== undefined) return true
    return [...this.messages.values()].some((revision) => revision < event.revision)
  }

  /** The batches of an edition continue in the conversation's stream when they are adopted. */
  private adopted(
    event: RecordedEvent & { readonly type: 'EditionAdopted' | 'EditionReverted' | 'CycleUndone' },
  ): void {
    if (
      event.data.batches.some(({ batchId }) => this.units.has(batchUnit(batchId)) || this.units.has(stateUnit(batchId)))
    )
      this.isTainted = true
  }

  private remove({ stream }: RecordedEvent, unit: Unit): void {
    this.isTainted = true
    this.units.add(unit)
    this.summaries += 1
    const edition = editionOf(stream)
    if (edition !== undefined) this.editions.add(edition.editionId)
  }
}

type SummaryEvent = RecordedEvent<'ChunkSummarized' | 'BatchesResummarized' | 'SummarySetAside'>

/** The sources of a summary. */
interface Sources {
  readonly messageIds?: readonly string[] | undefined
  readonly sourceBatchIds?: readonly string[] | undefined
}
