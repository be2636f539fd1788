import type { Conversation } from './conversation.js'
import type { PlacedEvent } from '../events/index.js'
import { evolve, setPinned } from './evolve.js'

/**
 * Applies one more event of the conversation to an edition. Messages and pins affect both; the conversation's own
 * compactions do not affect the edition.
 */
export function seeConversation(edition: Conversation, event: PlacedEvent): Conversation {
  const { revision, hash, recordedAt } = edition
  const { messages, until } = edition.pinnedAhead
  // A message that was pinned when the edition started stays pinned in it, although an earlier event unpinned it
  // temporarily.
  const stays =
    event.type === 'MessageUnpinned' &&
    event.revision <= until &&
    [...edition.retained, ...edition.window].some(
      (message) => message.messageId === event.data.messageId && messages.has(message.revision),
    )
  const isShared =
    event.type === 'MessageAppended' ||
    event.type === 'MessagesWithdrawn' ||
    event.type === 'MessagePinned' ||
    (event.type === 'MessageUnpinned' && !stays)
  const evolved = isShared ? evolve(edition, event) : edition
  const withPin =
    event.type === 'MessageAppended' && messages.has(event.revision)
      ? setPinned(evolved, event.data.messageId, true)
      : evolved
  return { ...withPin, revision, hash, recordedAt, conversationRevision: event.revision }
}
