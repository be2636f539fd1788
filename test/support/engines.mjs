/**
 * The engines of a worker of jest. A database in memory takes most of a second to start, and emptying it takes a
 * twentieth of that, so the test files that run in one worker use the same engines one after another.
 *
 * This module runs outside of the test files, which jest loads each into a context of its own: what it keeps outlives
 * them. test/support/pglite.ts uses it inside.
 */
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { copyEmptyFolder } from './empty-folder.mjs'
import { readTemplate } from './template-file.mjs'

let template

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

async function startEngine() {
  const db = new PGlite({ loadDataDir: await engines.template(), extensions: { vector }, startParams: START_PARAMS })
  unrefTimers(db)
  await db.waitReady
  await db.exec("set statement_timeout = '1s'; select 1; set statement_timeout = 0")
  await db.exec('create extension vector with schema public; create schema context_ledger')
  return db
}

/** Everything that a test can have left: the ledger's schema, settings of the session, temporary tables. */
const EMPTY = [
  'rollback',
  'discard all',
  'drop schema if exists context_ledger cascade',
  'create schema context_ledger',
]

/** Tables that a test made elsewhere. An engine with one is not used again. */
const FOREIGN = `select count(*)::int as count from pg_class where relkind = 'r'
  and relnamespace not in (select oid from pg_namespace where nspname like 'pg\\_%' or nspname = 'information_schema')`

const free = []
/** The engines in use, by the file that uses them. */
const used = new Map()

async function release(db) {
  if (!used.delete(db)) return
  try {
    for (const statement of EMPTY) await db.exec(statement)
    if ((await db.query(FOREIGN)).rows[0].count === 0) {
      free.push(db)
      return
    }
  } catch {
    // The engine has stopped.
  }
  await db.close().catch(() => undefined)
}

export const engines = {
  template: () => (template ??= readTemplate()),
  /** An empty database for the file, from those that no file uses. */
  async take(file) {
    for (const [db, user] of used) if (user !== file) await release(db)
    const db = free.pop() ?? (await startEngine())
    used.set(db, file)
    return db
  },
  release,
  copyEmptyFolder,
  isUsed: (db, file) => used.get(db) === file,
}
