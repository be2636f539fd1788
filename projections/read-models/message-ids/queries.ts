/** Implements `EventIdIndex` on the read model `message-ids`. */
import { codeOf } from '../../../src/ports/store-error.js'
import { conversationOf } from '../../../src/domain/values/ids.js'
import type { EventIdIndex } from '../../../src/ports/event-id-index.js'
import type { Sql } from '../../../src/ports/sql.js'
import { messageIdsProjection } from './projection.js'

// One statement reads rows and checkpoints from one snapshot. The slowest partition's checkpoint is a safe lower bound for
// every conversation; a stopped conversation is covered only up to its stop. A checkpoint with a stop has rows of another
// log (`recordStop`) and covers nothing.
const FIND = `
  select (select min(case when c.stop is not null then -1 else least(c.position, s.position - 1) end)
      from projection_checkpoints c left join projection_stops s on s.name = c.name and s.generation = c.generation and s.conversation_id = $1
      where c.name = $3 and c.state = 'live') as "upTo",
    coalesce((select string_agg(revision::text, ' ' order by revision) from message_ids where conversation_id = $1 and event_id = any($2::text[])), '') as revisions`

const NO_SUCH_TABLE = '42P01'

/**
 * Creates the index. It covers nothing (`upTo` is -1) until events were applied to the database.
 */
export function createEventIdIndex(sql: Sql): EventIdIndex {
  return {
    async find(stream, ids) {
      const conversationId = conversationOf(stream)
      if (conversationId === undefined) return { revisions: [], upTo: -1 }
      try {
        const [row] = await sql.query<{ upTo: string | null; revisions: string }>(FIND, [
          conversationId,
          ids,
          messageIdsProjection.name,
        ])
        return {
          revisions: (row?.revisions ?? '').split(' ').flatMap((text) => (text === '' ? [] : [Number(text)])),
          upTo: Number(row?.upTo ?? -1),
        }
      } catch (error) {
        if (codeOf(error) === NO_SUCH_TABLE) return { revisions: [], upTo: -1 }
        throw error
      }
    },
  }
}
