/** The compaction events of a conversation that were read, by the ids of what they made. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { isOfType, isReplacement } from '../recording/read-event.js'
import type { CycleOrigin, TakeoverOrigin } from './explanation.js'
import { recordedAt } from './recorded-at.js'

/** An event that made a batch. */
export type BatchEvent = RecordedEvent<'BatchArchived' | 'BatchesResummarized'>

export class CompactionEvents {
  readonly batches = new Map<string, BatchEvent>()
  readonly chunks = new Map<string, RecordedEvent<'ChunkSummarized'>>()
  /** Compactions of other programs, by the chunk id in their batches. */
  readonly observed = new Map<string, RecordedEvent<'CompactionObserved'>>()
  /** The cycle that followed each batch. */
  readonly cycles = new Map<string, CycleOrigin>()
  /** The last event that activated each batch. */
  readonly takeovers = new Map<string, TakeoverOrigin>()
  /** The editions that made some of them. */
  readonly editionIds = new Set<string>()
  /** Batches read so far without a following cycle. */
  private uncycled: string[] = []

  /** The next event is that of another stream, or of another part of one. */
  beginStream(): void {
    this.uncycled = []
  }

  take(event: RecordedEvent): void {
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

  /** The ids of batches that begin with the input. The prefix `batch-` is optional. */
  startingWith(typed: string): readonly string[] {
    const part = typed.replace(/^batch-?/u, '')
    return part === '' ? [] : [...this.batches.keys()].filter((id) => id.startsWith(`batch-${part}`))
  }
}
