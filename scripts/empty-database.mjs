/** The database that a new ledger starts from: without what a ledger does not use. */
import { PGlite } from '@electric-sql/pglite'

/**
 * Creates it, which takes some seconds. A ledger has one database and uses neither comments nor the information schema:
 * without them, it takes 25 MB instead of 40 MB, and its template a third less.
 * @param options where it is, and with which parameters it is created
 */
export async function createEmptyDatabase(options = {}) {
  const db = await PGlite.create(options)
  await db.exec(`update pg_database set datistemplate = false where datname <> current_database()`)
  for (const { datname } of (await db.query('select datname from pg_database where datname <> current_database()'))
    .rows)
    await db.exec(`drop database ${datname}`)
  await db.exec('set allow_system_table_mods = on; truncate pg_description; drop schema information_schema cascade')
  await db.exec('vacuum full')
  // The first file of the write-ahead log contains everything again. After the switch, it is removed instead of reused.
  await db.exec('set wal_recycle = off')
  await db.query('select pg_switch_wal()')
  await db.exec('checkpoint')
  return db
}
