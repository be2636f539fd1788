/**
 * Removes the remains of deleted rows from the files of Postgres. `vacuum full` writes a table again without old versions
 * of rows. A checkpoint after a switch of the write-ahead log lets go of the segments that had them; a server keeps some
 * of them under the names of later segments, with their old bytes, until the log has passed them.
 */
import type { CleanStorage } from '../../ports/storage-cleaner.js'
import type { Database } from '../../ports/sql.js'
import { setTimeout as delay } from 'node:timers/promises'

/** Tables that may have had texts, in addition to those of the read models. */
const TABLES = ['archive_vectors', 'service_jobs', 'imported_files', 'pg_statistic']

const SEGMENTS = `select count(*)::int as segments from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`

const READERS_MS = 30_000
const POLL_MS = 100

/**
 * Waits for transactions that may still read deleted rows: `vacuum full` keeps the rows for them, and an `analyze` stores
 * samples of them. Returns false after `READERS_MS`.
 */
async function waitForReaders(db: Database): Promise<boolean> {
  const [now] = await db.query<{ xid: string }>('select pg_snapshot_xmax(pg_current_snapshot())::xid::text as xid')
  const until = performance.now() + READERS_MS
  for (;;) {
    const [older] = await db.query<{ transactions: number }>(
      `select count(*)::int as transactions from pg_stat_activity
       where pid <> pg_backend_pid() and (datname = current_database() or datname is null)
         and age(backend_xmin) > age($1::text::xid)`,
      [now?.xid ?? ''],
    )
    if (older?.transactions === 0) return true
    if (performance.now() >= until) return false
    await delay(POLL_MS)
  }
}

/** Removes old versions of the rows of a table. Returns false if the server does not allow it. */
async function rewriteTable(db: Database, table: string): Promise<boolean> {
  const fileOf = async (): Promise<string | undefined> => {
    const [row] = await db.query<{ file: string | null }>(
      'select pg_relation_filenode(to_regclass($1))::text as file',
      [table],
    )
    return row?.file ?? undefined
  }
  const before = await fileOf()
  if (before === undefined) return true
  await db.query(`vacuum full ${table}`)
  // A user without the right gets a warning, and the table is skipped.
  return (await fileOf()) !== before
}

/** Fills the rest of the segment with zeros. A record must be in it, otherwise the log does not switch. */
async function switchSegment(db: Database): Promise<void> {
  await db.query(`select pg_logical_emit_message(false, 'context_ledger', 'erasure')`)
  await db.query('select pg_switch_wal()')
}

/** The number of segments of the write-ahead log, before or after one. */
async function segments(db: Database, place: '<=' | '>', name: string): Promise<number> {
  const [row] = await db.query<{ segments: number }>(`${SEGMENTS} and name ${place} $1`, [name])
  return row?.segments ?? 0
}

async function currentSegment(db: Database): Promise<string> {
  const [row] = await db.query<{ name: string }>('select pg_walfile_name(pg_current_wal_lsn()) as name')
  return row?.name ?? ''
}

/** Removes old bytes from the write-ahead log. Returns false if the server keeps segments, for a replica or an archive. */
async function cleanLog(db: Database): Promise<boolean> {
  const last = await currentSegment(db)
  await switchSegment(db)
  await db.query('checkpoint')
  // Segments of before have been deleted, or renamed to later ones.
  const isKept = (await segments(db, '<=', last)) > 0
  const later = await segments(db, '>', await currentSegment(db))
  // The current segment is passed too.
  for (let passed = 0; passed <= later; passed += 1) await switchSegment(db)
  await db.query('checkpoint')
  return !isKept
}

/** Creates the function that cleans a database. */
export function createCleanStorage(db: Database): CleanStorage {
  const attempt = async (step: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await step()
    } catch {
      // A server refuses some of these statements to a user without the right; the receipt says so.
      return false
    }
  }
  return async () => {
    let isCleaned = await attempt(() => waitForReaders(db))
    for (const table of TABLES) isCleaned = (await attempt(() => rewriteTable(db, table))) && isCleaned
    // Saves work in an embedded database, whose checkpoints run in this session.
    await attempt(async () => (await db.query('set wal_recycle = off')).length === 0)
    return (await attempt(() => cleanLog(db))) && isCleaned
  }
}
