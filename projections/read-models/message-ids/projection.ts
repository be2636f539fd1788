/**
 * The revision of each message by its event id, for stores that do not always recognize a repeated id (see `recognizes`
 * in the port of the event store). Ids of other events derive from their revision, so they never occur at another one.
 */
import { conversationOf } from '../../../src/domain/values/ids.js'
import type { Projection, Table } from '../../engine/projection.js'

const messageIds: Table = {
  name: 'message_ids',
  columns: { conversation_id: 'text', event_id: 'text', revision: 'int8' },
  key: ['conversation_id', 'event_id'],
  indexes: [],
}

export const messageIdsProjection: Projection = {
  name: 'message-ids',
  version: 1,
  tables: [messageIds],
  handlers: {
    MessageAppended: (event) => {
      const conversation_id = conversationOf(event.stream)
      if (conversation_id === undefined) throw new Error(`Stream ${event.stream} is not a conversation.`)
      return [
        { op: 'put', table: messageIds.name, row: { conversation_id, event_id: event.id, revision: event.revision } },
      ]
    },
  },
}
