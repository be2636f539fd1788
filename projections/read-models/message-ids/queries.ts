/** The ids of messages, as an event store asks for them. */
import { conversationOf } from '../../../src/domain/values/ids.js'
import type { EventIdIndex } from '../../../src/ports/event-id-index.js'
import type { Sql } from '../../../src/ports/sql.js'
import { messageIdsProjection } from './projection.js'

// Rows and checkpoints in one statement, which sees both as they stood at one moment. A conversation's rows are as far
// as its partition, and no less far than the last one. One whose rows do not go on is known only as far as they do. A
// checkpoint that was found to be of another log (`projections/engine/log-identity.ts`) says nothing of this one.
const FIND = `
  select (select min(case when c.stop like '%another log%' then -1 else least(c.position, s.position - 1) end)
      from projection_checkpoints c left join projection_stops s on s.name = c.name and s.generation = c.generation and s.conversation_id = $1
      where c.name = $3 and c.state = 'live') as "upTo",
    coalesce((select string_agg(revision::text, ' ' order by revision) from message_ids where conversation_id = $1 and event_id = any($2::text[])), '') as revisions`

const NO_SUCH_TABLE = '42P01'

/**
 * The index over the read model `message-ids`. As long as nothing was projected into the database, it knows nothing,
 * and says so.
 */
export function createEventIdIndex(sql: Sql): EventIdIndex {
  return {
    async find(stream, ids) {
      const conversationId = conversationOf(stream)
      if (conversationId === undefined) return { revisions: [], upTo: -1n }
      try {
        const [row] = await sql.query<{ upTo: string | null; revisions: string }>(FIND, [
          conversationId,
          ids,
          messageIdsProjection.name,
        ])
        return {
          revisions: (row?.revisions ?? '').split(' ').flatMap((text) => (text === '' ? [] : [BigInt(text)])),
          upTo: BigInt(row?.upTo ?? -1),
        }
      } catch (error) {
        if (typeof error === 'object' && error !== null && 'code' in error && error.code === NO_SUCH_TABLE)
          return { revisions: [], upTo: -1n }
        throw error
      }
    },
  }
}
