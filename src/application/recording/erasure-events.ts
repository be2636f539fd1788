/** Reads the events of erasures from a conversation. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { Log } from './load-conversation.js'
import { decodeEvent, isOfType } from './read-event.js'

/** The events of the erasures of a conversation, the oldest first. Only these are decoded: the others may be large. */
export async function* erasureEvents(
  log: Log,
  conversationId: string,
): AsyncIterable<RecordedEvent<'ErasureRequested' | 'ErasureCompleted'>> {
  for await (const stored of log.store.readStream(conversationStream(conversationId), {})) {
    if (stored.type !== 'ErasureRequested' && stored.type !== 'ErasureCompleted') continue
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'ErasureRequested') || isOfType(event, 'ErasureCompleted')) yield event
  }
}
