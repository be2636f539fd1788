/**
 * Removes the remains of deleted rows from the files of Postgres. `vacuum full` writes a table again without old versions
 * of rows; a checkpoint after a switch of the write-ahead log lets go of the segments that had them. A recycled segment
 * keeps its old bytes, so recycling is turned off for this session's checkpoint.
 */
import type { CleanStorage } from '../../ports/storage-cleaner.js'
import type { Database } from '../../ports/sql.js'

/** Tables that may have had texts, in addition to those of the read models. */
const TABLES = ['archive_vectors', 'service_jobs', 'imported_files', 'pg_statistic']
/** Old segments that are switched through before a checkpoint, so that none is left with old bytes. */
const SEGMENTS = 2

/** Creates the function that cleans a database. */
export function createCleanStorage(db: Database): CleanStorage {
  return async () => {
    let cleaned = true
    const attempt = async (statement: string): Promise<void> => {
      try {
        await db.query(statement)
      } catch {
        // A server refuses some of these statements to a user without the right; the receipt says so.
        cleaned = false
      }
    }
    for (const table of TABLES) {
      const [found] = await db.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [table])
      if (found?.exists === true) await attempt(`vacuum full ${table}`)
    }
    await attempt('set wal_recycle = off')
    for (let segment = 0; segment < SEGMENTS; segment += 1) {
      await attempt(`select pg_logical_emit_message(false, 'context_ledger', 'erasure')`)
      await attempt('select pg_switch_wal()')
      await attempt('checkpoint')
    }
    return cleaned
  }
}
