import type { Conversation } from './conversation.js'
import type { PlacedEvent } from '../events/index.js'
import { evolve, setPinned } from './evolve.js'

/**
 * An edition after one more event of the conversation that it is of. Messages and pins are the same for both; how the
 * conversation was compacted is not the edition's concern.
 */
export function seeConversation(edition: Conversation, event: PlacedEvent): Conversation {
  const { revision, hash, recordedAt } = edition
  const { messages, until } = edition.pinnedAhead
  // What was unpinned for a while before the edition was begun stays pinned in it.
  const stays =
    event.type === 'MessageUnpinned' &&
    event.revision <= until &&
    [...edition.retained, ...edition.window].some(
      (message) => message.messageId === event.data.messageId && messages.has(message.revision),
    )
  const tells =
    event.type === 'MessageAppended' ||
    event.type === 'MessagesWithdrawn' ||
    event.type === 'MessagePinned' ||
    (event.type === 'MessageUnpinned' && !stays)
  const told = tells ? evolve(edition, event) : edition
  const seen =
    event.type === 'MessageAppended' && messages.has(event.revision)
      ? setPinned(told, event.data.messageId, true)
      : told
  return { ...seen, revision, hash, recordedAt, conversationRevision: event.revision }
}
