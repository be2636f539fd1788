/**
 * Large bodies in a table beside the log, as bytes: a body may hold a NUL, which a `text` of Postgres may not.
 */
import type { BodyStore } from '../../ports/body-store.js'
import type { Sql } from '../../ports/sql.js'

/** Bodies in the table `bodies`, which `migrateLog` creates. */
export function createPostgresBodyStore(db: Sql): BodyStore {
  return {
    async put(sha256, body) {
      await db.query('insert into bodies (sha256, body) values ($1, $2) on conflict (sha256) do nothing', [
        sha256,
        Buffer.from(body, 'utf8'),
      ])
    },
    async get(sha256) {
      const [row] = await db.query<{ body: Uint8Array }>('select body from bodies where sha256 = $1', [sha256])
      return row === undefined ? undefined : Buffer.from(row.body).toString('utf8')
    },
  }
}
