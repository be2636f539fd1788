/** The ledger's key for fingerprints of secrets: made once, outside the log, and not part of a copy of the log. */
import { randomBytes } from 'node:crypto'
import type { Sql } from '../../ports/sql.js'

const KEY_BYTES = 32

/** Returns a function that reads the key, and makes it at its first use. */
export function createPostgresSecretsKey(db: Sql): () => Promise<Uint8Array> {
  let key: Promise<Uint8Array> | undefined
  const read = async (): Promise<Uint8Array> => {
    // Of two processes, the second one finds the key of the first.
    await db.query(`insert into secrets_key (key) values ($1) on conflict do nothing`, [
      randomBytes(KEY_BYTES).toString('hex'),
    ])
    const [row] = await db.query<{ key: string }>('select key from secrets_key')
    return Buffer.from(row?.key ?? '', 'hex')
  }
  return async () => {
    key ??= read()
    try {
      return await key
    } catch (error) {
      key = undefined
      throw error
    }
  }
}
