/**
 * Reads a log that is not erasable as an erasable one: every text is sealed, and hashes and ids follow from the sealed
 * data. The result is the same each time, so a copy can be continued, and compared with the original.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import { claimOf, decodeMetadata, encodeStored, GENESIS_HASH, isSealed } from '../../domain/events/codec.js'
import { eventTypes, isEventType } from '../../domain/events/index.js'
import type { StoredEvent } from '../../domain/events/stored-event.js'
import { eventIdOf } from '../../domain/values/ids.js'
import { LedgerError } from '../../lib/ledger-error.js'
import { isBodyLost, type LogEntry, type LogSource } from '../../ports/log-copy.js'
import { keyOwner } from '../recording/read-event.js'
import type { TextKeys } from '../sealing/text-keys.js'

/** The log with sealed texts. */
export function sealedSource(source: LogSource, keys: TextKeys): LogSource {
  return {
    name: source.name,
    head: () => source.head(),
    async *entries(upTo) {
      const sealing = new LogSealing(source.name, keys)
      for await (const entry of source.entries(upTo)) {
        const sealed = await sealing.seal(entry).catch((error: unknown) => {
          // The source names the stream as incomplete.
          if (source.incomplete === undefined || !isBodyLost(error)) throw error
        })
        if (sealed !== undefined) yield sealed
      }
    },
    ...(source.incomplete === undefined ? {} : { incomplete: () => source.incomplete?.() ?? Promise.resolve([]) }),
  }
}

const BODIES = 200

class LogSealing {
  /** The hash of the last event of each stream. */
  private readonly hashes = new Map<string, string>()
  /** New ids of events, by their former ids: an event names its cause by id. */
  private readonly ids = new Map<string, string>()
  /** Bodies by their SHA-256: only the first event that has one comes with it. */
  private readonly bodies = new LRUCache<string, string>({ max: BODIES })

  constructor(
    private readonly name: string,
    private readonly keys: TextKeys,
  ) {}

  async seal({ event, body }: LogEntry): Promise<LogEntry> {
    const metadata = decodeMetadata(event)
    if (E.isLeft(metadata) || !isEventType(event.type)) throw this.unreadable(event)
    const { stream, revision, type } = event
    const plain = await this.textOf(event, body)
    if (isSealed(event, plain))
      throw new LedgerError(
        'KeyUnknown',
        `${this.name} has encrypted texts, but not the tables of their keys: restore erasable_ledger, keyrings and key_…`,
      )
    const owner = keyOwner(stream)
    const data =
      owner === undefined
        ? plain
        : (await this.keys.toRecord(owner)).seal(plain, eventTypes[type].texts, { stream, revision, type }, [])
    const id = type === 'MessageAppended' ? event.id : eventIdOf(stream, revision, type, data)
    this.ids.set(event.id, id)
    const { hash: _hash, causationId, ...rest } = metadata.right
    const encoded = encodeStored(
      { stream, revision, id, type, data },
      {
        ...rest,
        causationId: this.ids.get(causationId) ?? causationId,
        previousHash: this.hashes.get(stream) ?? GENESIS_HASH,
      },
    )
    this.hashes.set(stream, encoded.hash)
    const large = encoded.body
    return {
      event: { ...event, ...encoded.toStore },
      ...(large === undefined ? {} : { body: () => Promise.resolve(large) }),
    }
  }

  /** The data. A body that an earlier event has too is not in this entry: it is read from there. */
  private async textOf(event: StoredEvent, body: LogEntry['body']): Promise<string> {
    const claim = claimOf(event)
    if (claim === undefined) return event.data
    const text = (await body?.())?.text ?? this.bodies.get(claim)
    if (text === undefined) throw this.unreadable(event)
    this.bodies.set(claim, text)
    return text
  }

  private unreadable({ stream, revision, type }: StoredEvent): LedgerError {
    return new LedgerError('UnreadableEvent', `${stream} revision ${String(revision)} (${type}) cannot be read`)
  }
}
