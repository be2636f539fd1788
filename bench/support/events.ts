/** Messages' facts as the ledger would record them, for streams of a benchmark's own. */
import { encode, encodeData, GENESIS_HASH } from '../../src/domain/events/codec.js'
import type { Event } from '../../src/domain/events/index.js'
import { messageEventId } from '../../src/domain/values/ids.js'
import type { EventToAppend } from '../../src/ports/event-store.js'
import { messageAt } from './bulk-log.js'
import { randomOf } from './text.js'

/** Makes events, each another message; the same seed makes the same ones. */
export function createEventMaker(seed: number): (stream: string, revision: number) => EventToAppend {
  const random = randomOf(seed)
  let made = 0
  return (stream, revision) => {
    made += 1
    const { messageId, ...message } = messageAt(made, random)
    const event: Event = {
      type: 'MessageAppended',
      data: {
        messageId,
        role: message.role,
        content: message.content,
        createdAt: message.createdAt ?? '',
        tokens: 102,
      },
    }
    const id = messageEventId(stream, messageId)
    return encode(
      event,
      encodeData(event),
      { stream, revision, id, previousHash: GENESIS_HASH, recordedAt: new Date().toISOString() },
      { actor: 'library', correlationId: id, causationId: id },
    ).toStore
  }
}
