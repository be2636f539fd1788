/** Reads databases of SQLite with Node's built-in `node:sqlite`, which Node 20 does not have. */
import { isRecord } from '../../lib/is-record.js'
import { sentenceOf } from '../../ports/store-error.js'
import { open, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { exactJson } from '../../lib/json.js'
import type { Fields } from './bodies.js'
import { SQLITE } from './sqlite-header.js'
import type { DamageItem, TranscriptRecord } from './transcript.js'

/** Whether a file is a database, by its content. */
export async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0)
    return buffer.toString('latin1') === SQLITE
  } finally {
    await file.close()
  }
}

/** The methods of a database that the importers use. */
export interface Database {
  readonly all: (sql: string, ...values: readonly string[]) => readonly Fields[]
  readonly close: () => void
}

interface Sqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean },
  ) => {
    prepare(sql: string): { all(...values: readonly string[]): readonly unknown[] }
    close(): void
  }
}

const isSqlite = (module: object | undefined): module is Sqlite =>
  module !== undefined && 'DatabaseSync' in module && typeof module.DatabaseSync === 'function'

/** Opens a database read-only; undefined if this version of Node.js has no SQLite. */
export function openDatabase(path: string): Database | undefined {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (!isSqlite(sqlite)) return undefined
  const database = new sqlite.DatabaseSync(path, { readOnly: true })
  return {
    all: (sql, ...values) =>
      database
        .prepare(sql)
        .all(...values)
        .filter((row): row is Fields => isRecord(row)),
    close: () => {
      database.close()
    },
  }
}

/** Why a database cannot be read with this version of Node.js. */
export const needsSqlite = (): string =>
  `needs a Node that reads SQLite (22.13 or later), and this one is ${process.version}`

/** Parses a JSON column; undefined if it is not JSON. */
export function jsonColumn(value: unknown): unknown {
  try {
    return typeof value === 'string' ? exactJson(value) : undefined
  } catch {
    return undefined
  }
}

/** The names of a table's columns; empty if there is no such table. */
export const columnsOf = (database: Database, table: string): ReadonlySet<string> =>
  new Set(database.all(`SELECT name FROM pragma_table_info('${table}')`).map(({ name }) => String(name)))

/** A record of a database, with its location. */
export interface DatabaseRecord {
  readonly value: unknown
  readonly path: string
}

/** The log that SQLite keeps next to a database: recent changes may be only in it. */
const LOG_END = '-wal'

/** The files of a database, for an importer's `siblings`: a change of the log is a change of the database. */
export async function databaseFiles(path: string): Promise<readonly string[]> {
  const log = `${path}${LOG_END}`
  return (await stat(log).catch(() => undefined)) === undefined ? [path] : [path, log]
}

/** What is read from a database; undefined if it cannot be read. */
export function fromDatabase<T>(path: string, read: (database: Database) => T): T | undefined {
  let database: Database | undefined
  try {
    database = openDatabase(path)
    return database === undefined ? undefined : read(database)
  } catch {
    return undefined
  } finally {
    database?.close()
  }
}

/**
 * The records of a database. If it cannot be read, the only item is damage with the reason.
 * @param read yields the records in the order of the conversations
 */
export async function* databaseRecords(
  path: string,
  read: (database: Database) => Iterable<DatabaseRecord>,
): AsyncGenerator<TranscriptRecord | DamageItem> {
  const where = { file: path.split(sep).join('/') }
  if (path.endsWith(LOG_END)) return
  let database: Database | undefined
  try {
    database = await Promise.resolve(openDatabase(path))
    if (database === undefined) {
      yield { kind: 'damage', detail: needsSqlite(), isCut: false, where }
      return
    }
    for (const record of read(database)) yield { value: record.value, where: { ...where, path: record.path } }
  } catch (error) {
    yield { kind: 'damage', detail: `cannot be read as a database: ${sentenceOf(error)}`, isCut: false, where }
  } finally {
    database?.close()
  }
}
