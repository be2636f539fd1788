/** Ids of the messages of one conversation of a transcript, by the program's ids of its records. */
import { either as E } from 'fp-ts'
import { hashOf } from '../../domain/values/hash.js'
import { checkId, nameOfMessage } from '../../domain/values/ids.js'
import type { MessageItem } from './transcript.js'

/** Longest id, in bytes, that leaves room for what is added to it. */
const MAX_NAME_BYTES = 480

export class MessageIds {
  /**
   * Record id → ids of its latest messages. An entry is omitted if the only id is the record's own, as for most
   * records.
   */
  readonly #ids = new Map<string, readonly string[]>()
  /** Number of occurrences of each message: a message that returns after an abandoned branch gets a new id. */
  readonly #occurrences = new Map<string, number>()
  /** Ids of the messages that this import has read. */
  readonly #read = new Set<string>()

  /** The id of the next message of a record. */
  next({ sourceId, part }: Pick<MessageItem, 'sourceId' | 'part'>): string {
    const record = part === 0 ? sourceId : `${sourceId}#${String(part)}`
    const name =
      E.isRight(checkId('id', record)) && Buffer.byteLength(record) <= MAX_NAME_BYTES ? record : hashOf(record)
    const times = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, times)
    return times === 1 ? name : `${name}~${String(times)}`
  }

  /** Remembers the id of a message that was read; further parts of a record are added to its first. */
  remember({ sourceId, part }: Pick<MessageItem, 'sourceId' | 'part'>, messageId: string): void {
    const ids = part === 0 ? [messageId] : [...this.of(sourceId), messageId]
    for (const id of ids) this.#read.add(id)
    if (ids.length === 1 && messageId === sourceId) this.#ids.delete(sourceId)
    else this.#ids.set(sourceId, ids)
  }

  /** Whether this import has read the message. */
  isRead(messageId: string): boolean {
    return this.#read.has(messageId)
  }

  /** Ids of the messages of a record; empty if it had none. */
  of(sourceId: string): readonly string[] {
    return this.#ids.get(sourceId) ?? (this.#occurrences.has(sourceId) ? [sourceId] : [])
  }
}

/** Ids of messages by the record of a transcript that they came from. */
export function byRecord(messageIds: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, string[]>()
  for (const id of messageIds) {
    const record = nameOfMessage(id).replace(/#\d+$/u, '')
    const known = ids.get(record)
    if (known === undefined) ids.set(record, [id])
    else known.push(id)
  }
  return ids
}
