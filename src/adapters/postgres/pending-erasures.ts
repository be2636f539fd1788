/** Erasures that are not completed, in Postgres. */
import type { PendingErasure, PendingErasures } from '../../ports/pending-erasures.js'
import type { Database } from '../../ports/sql.js'

/** Creates the list on the tables of the log's schema. */
export function createPostgresPendingErasures(db: Database): PendingErasures {
  return {
    list: () =>
      db.query<{ erasureId: string; conversationId: string; request: string } & PendingErasure>(
        `select erasure_id as "erasureId", conversation_id as "conversationId", request
         from pending_erasures order by erasure_id, conversation_id`,
      ),
    add: (pending) =>
      db.transaction(async (sql) => {
        for (const { erasureId, conversationId, request } of pending)
          await sql.query(
            'insert into pending_erasures (erasure_id, conversation_id, request) values ($1, $2, $3) on conflict do nothing',
            [erasureId, conversationId, request],
          )
      }),
    async remove({ erasureId, conversationId }) {
      await db.query('delete from pending_erasures where erasure_id = $1 and conversation_id = $2', [
        erasureId,
        conversationId,
      ])
    },
  }
}
