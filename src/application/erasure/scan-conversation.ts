/** Reads every event of a conversation for an erasure, with the names of the keys that seal its texts. */
import { sealedTextsOf } from '../../domain/events/sealed.js'
import { claimOf } from '../../domain/events/codec.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { isRecord } from '../../lib/is-record.js'
import type { StoredEvent } from '../../ports/event-store.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent } from '../recording/read-event.js'
import type { KeyName } from '../sealing/keyring.js'

/** An event with the names of the keys of its texts. */
export interface ScannedEvent {
  readonly event: RecordedEvent
  readonly keys: readonly KeyName[]
}

/** The names of the keys of an event's texts. */
async function keysOf(stored: StoredEvent, { bodies }: Log): Promise<readonly KeyName[]> {
  const claim = claimOf(stored)
  const parsed: unknown = JSON.parse((claim === undefined ? undefined : await bodies.get(claim)) ?? stored.data)
  return isRecord(parsed) ? (sealedTextsOf(parsed) ?? []) : []
}

/** The events of a conversation. Editions first: their batches are known before an event that adopts them. */
export async function* scanConversation(log: Log, conversationId: string): AsyncIterable<ScannedEvent> {
  const [own, ...editions] = streamsOf(conversationId, await editionStreams(log))
  for (const stream of own === undefined ? [] : [...editions, own])
    for await (const stored of log.store.readStream(stream))
      yield { event: await decodeEvent(stored, log), keys: await keysOf(stored, log) }
}
