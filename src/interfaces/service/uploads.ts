/**
 * Transcripts that other machines send in several requests. The recorder of an upload stays in memory for its
 * next request. If it is lost, the client sends the upload from its start, and recorded items are recognized.
 */
import { LRUCache } from 'lru-cache'
import type { ImportedConversation, Ledger, ReceivedTranscript } from '../../library/ledger.js'
import { createTurns } from '../../lib/turns.js'

/** Limits of the uploads in memory: their number, the bytes of their items, and the time since their last request. */
const UPLOADS = 512
const BYTES = 512 * 1024 ** 2
const IDLE_MS = 60 * 60_000

type Items = Parameters<ReceivedTranscript['record']>[0]

/** A part of an upload. */
export interface UploadPart {
  /** The upload of this caller; the same name of another caller is another upload. */
  readonly name: string
  /** Index of the first item. */
  readonly offset: number
  readonly items: Items
  readonly bytes: number
  readonly writtenAt: string | undefined
  readonly options: Parameters<Ledger['transcripts']['receive']>[0]
}

interface Upload {
  readonly transcript: ReceivedTranscript
  /** Index of the next item. */
  readonly next: number
  readonly bytes: number
}

/** The uploads of a service. */
export class Uploads {
  private readonly uploads = new LRUCache<string, Upload>({
    max: UPLOADS,
    maxSize: BYTES,
    ttl: IDLE_MS,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
  })
  private readonly turns = createTurns()

  constructor(private readonly ledger: Ledger) {}

  /** Records a part, and returns the index of the item that is to be sent next. */
  async take(
    part: UploadPart,
  ): Promise<{ readonly next: number; readonly conversations: readonly ImportedConversation[] }> {
    // A client that did not receive the answer sends the same part again, possibly while it is still recorded.
    return await this.turns.runInOrder(part.name, async () => {
      const known = this.uploads.get(part.name)
      const next = known?.next ?? 0
      if (part.offset > next || part.offset + part.items.length <= next) return { next, conversations: [] }
      // After an error it must not be used any more.
      this.uploads.delete(part.name)
      const transcript = known?.transcript ?? (await this.ledger.transcripts.receive(part.options))
      const conversations = await transcript.record(part.items.slice(next - part.offset), { writtenAt: part.writtenAt })
      const after = part.offset + part.items.length
      this.uploads.set(part.name, { transcript, next: after, bytes: (known?.bytes ?? 0) + part.bytes })
      return { next: after, conversations }
    })
  }
}
