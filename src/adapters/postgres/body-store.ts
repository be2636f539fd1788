/**
 * Large bodies in a table of the log's database, as bytes: a body may contain a NUL, which a Postgres `text` cannot.
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
      // Bytes are sent as hexadecimal digits, which is twice as long as the text.
      const [text] = await db.query<{ body: string }>(
        `select convert_from(body, 'UTF8') as body from bodies where sha256 = $1 and position('\\x00'::bytea in body) = 0`,
        [sha256],
      )
      if (text !== undefined) return text.body
      const [row] = await db.query<{ body: Uint8Array }>('select body from bodies where sha256 = $1', [sha256])
      return row === undefined ? undefined : Buffer.from(row.body).toString('utf8')
    },
  }
}
