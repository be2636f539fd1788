/**
 * The engines of a worker of jest. A database in memory takes most of a second to start, and emptying it takes a
 * twentieth of that, so the test files that run in one worker use the same engines one after another.
 *
 * This module runs outside of the test files, which jest loads each into a context of its own: what it keeps outlives
 * them. test/support/pglite.ts uses it inside.
 */
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { copyEmptyLedger, readEmptyDatabase, readEmptyLedger } from './empty-databases.mjs'
import { readTemplate } from './template-file.mjs'

let template
let emptyDatabase
let emptyLedger

/** The engine's timer of ten seconds would keep the worker alive (`freeTimers` in src/adapters/pglite/sql.ts). */
function unrefTimers(db) {
  const statement = db.execProtocolRawSync.bind(db)
  const { setTimeout } = globalThis
  const unref = (callback, ms) => setTimeout(() => freely(callback), ms).unref()
  const freely = (work) => {
    globalThis.setTimeout = unref
    try {
      return work()
    } finally {
      globalThis.setTimeout = setTimeout
    }
  }
  db.execProtocolRawSync = (message) => freely(() => statement(message))
}

/**
 * The engine clears its page cache when it starts, so it has a small one. It does not fill new files of the write-ahead log
 * with zeros, which takes 200 ms for each.
 */
const START_PARAMS = [...PGlite.defaultStartParams, '-c', 'shared_buffers=4MB', '-c', 'wal_init_zero=off']

async function startEngine(loadDataDir) {
  const db = new PGlite({ loadDataDir, extensions: { vector }, startParams: START_PARAMS })
  unrefTimers(db)
  await db.waitReady
  await db.exec("set statement_timeout = '1s'; select 1; set statement_timeout = 0")
  return db
}

async function startEmpty() {
  const db = await startEngine((emptyDatabase ??= readEmptyDatabase()))
  await db.exec('create extension vector with schema public; create schema context_ledger')
  return db
}

/** What a session can have left: a transaction, settings, temporary tables. */
const SESSION = ['rollback', 'discard all']
const EMPTY = [...SESSION, 'drop schema if exists context_ledger cascade', 'create schema context_ledger']

/** Tables that a test made elsewhere. An engine with one is not used again. */
const FOREIGN = `select count(*)::int as count from pg_class where relkind = 'r'
  and relnamespace not in (select oid from pg_namespace where nspname like 'pg\\_%' or nspname = 'information_schema')`

/** What each statement that changes the schema of a database changes: its rows of these catalogs, by their transaction. */
const CATALOGS = [
  'pg_attribute where attrelid >= 16384',
  'pg_attrdef where oid >= 16384',
  'pg_trigger where oid >= 16384',
  'pg_proc where oid >= 16384',
  'pg_constraint where oid >= 16384',
  'pg_index where indexrelid >= 16384',
  'pg_rewrite where oid >= 16384',
  'pg_type where oid >= 16384',
  'pg_namespace',
  'pg_db_role_setting',
  'pg_extension',
]
const COUNTS = CATALOGS.map((rows) => `(select concat(count(*), ' ', sum(xmin::text::int8)) from ${rows})`).join(', ')
const SCHEMA = `select concat_ws(' ', ${COUNTS},
  (select concat(count(*), ' ', sum(oid::int8), md5(string_agg(relname, ' ' order by oid)))
   from pg_class where oid >= 16384 and relkind <> 't')) as schema`

const schemaOf = async (db) => (await db.query(SCHEMA)).rows[0].schema

const TABLES = `select relname as name, pg_relation_size(oid) > 0 as has_rows from pg_class
  where relkind = 'r' and relnamespace = 'context_ledger'::regnamespace`

/** The engines with an empty ledger, and what such a ledger contains. */
const ledgers = { free: [], schema: '', rows: new Map() }

async function startLedger() {
  const db = await startEngine((emptyLedger ??= readEmptyLedger()))
  if (ledgers.schema === '') {
    ledgers.schema = await schemaOf(db)
    const { rows } = await db.query(TABLES)
    for (const { name } of rows.filter(({ has_rows: hasRows }) => hasRows))
      ledgers.rows.set(name, JSON.stringify((await db.query(`select * from context_ledger.${name}`)).rows))
  }
  return db
}

/** Removes what a test has recorded in the tables of a ledger. False if they have become other tables. */
async function emptyTables(db) {
  for (const statement of SESSION) await db.exec(statement)
  if ((await schemaOf(db)) !== ledgers.schema) return false
  const { rows } = await db.query(TABLES)
  const used = rows.filter(({ has_rows: hasRows }) => hasRows).map(({ name }) => `context_ledger.${name}`)
  // The table of events has a trigger that refuses it.
  await db.exec(`set session_replication_role = replica; truncate ${used.join(', ')} restart identity;
    delete from pg_statistic where starelid >= 16384`)
  for (const [name, values] of ledgers.rows)
    await db.query(
      `insert into context_ledger.${name} select * from json_populate_recordset(null::context_ledger.${name}, $1)`,
      [values],
    )
  await db.exec(`select setval(oid::regclass, 1, false) from pg_class where relkind = 'S' and oid >= 16384;
    update context_ledger.projection_checkpoints set updated_at = clock_timestamp();
    set session_replication_role = default`)
  return true
}

/** Empty engines. Of many, some are closed, since engines with a ledger take less time. */
const free = []
const MOST_FREE = 3
/** The engines in use, by the file that uses them. */
const used = new Map()
/** Those of them with a ledger. */
const withLedger = new WeakSet()

async function release(db) {
  if (!used.delete(db)) return
  try {
    if (withLedger.has(db) && (await emptyTables(db))) {
      ledgers.free.push(db)
      return
    }
    withLedger.delete(db)
    for (const statement of EMPTY) await db.exec(statement)
    if (free.length < MOST_FREE && (await db.query(FOREIGN)).rows[0].count === 0) {
      free.push(db)
      return
    }
  } catch {
    // The engine has stopped.
  }
  await db.close().catch(() => undefined)
}

/** Memories of closed engines. A new memory makes V8 collect the garbage of its whole heap, which takes longest. */
const memories = []
const PAGES = { initial: 2048, maximum: 32_768 }
const MOST_MEMORIES = 3
const MOST_BYTES = 2 ** 28

function takeMemory() {
  const memory = memories.pop()
  if (memory === undefined) return new WebAssembly.Memory(PAGES)
  new Uint8Array(memory.buffer).fill(0)
  return memory
}

function releaseMemory(memory) {
  if (memories.length < MOST_MEMORIES && memory.buffer.byteLength <= MOST_BYTES) memories.push(memory)
}

/** An engine with a ledger, or an empty one, in which the program makes the tables. */
async function takeLedger() {
  if (ledgers.free.length === 0 && free.length > 0) return free.pop()
  const db = ledgers.free.pop() ?? (await startLedger())
  withLedger.add(db)
  return db
}

export const engines = {
  memories: { take: takeMemory, release: releaseMemory },
  template: () => (template ??= readTemplate()),
  /** A database for the file, from those that no file uses: with the tables of an empty ledger, or without. */
  async take(file, hasTables) {
    for (const [db, user] of used) if (user !== file) await release(db)
    const db = hasTables ? await takeLedger() : (free.pop() ?? (await startEmpty()))
    used.set(db, file)
    return db
  },
  release,
  copyEmptyLedger,
  isUsed: (db, file) => used.get(db) === file,
}
