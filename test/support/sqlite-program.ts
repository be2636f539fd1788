/** SQLite in tests: `node:sqlite`, or the program `sqlite3` for a Node that does not have it. */
import { jest } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import type { Database } from '../../src/application/importers/sqlite.js'

export const hasSqlite = spawnSync('sqlite3', ['--version']).status === 0

interface NativeDatabase {
  exec(sql: string): void
  close(): void
}
// The types of Node 20 lack the module.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const native = process.getBuiltinModule('node:sqlite') as
  | { readonly DatabaseSync: new (path: string) => NativeDatabase }
  | undefined

/** Runs statements that write. */
export function writeSqlite(path: string, sql: string): void {
  if (native === undefined) {
    sqlite(path, sql)
    return
  }
  const database = new native.DatabaseSync(path)
  try {
    // No test is about a power cut.
    database.exec(`pragma synchronous = off; ${sql}`)
  } finally {
    database.close()
  }
}

/** Runs statements. @returns what the program prints */
export function sqlite(path: string, sql: string, ...flags: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('sqlite3', [...flags, path], { input: sql, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** A value as SQL. */
const quoted = (value: unknown): string => {
  if (value === undefined || value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `'${text.replaceAll("'", "''")}'`
}

/** The statement that inserts a row. */
export const insert = (table: string, row: Readonly<Record<string, unknown>>): string =>
  `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.values(row).map(quoted).join(', ')});`

/** Opens a database that the importers can read. */
export const connect = (path: string): Database => ({
  all(sql, ...values) {
    const bound = values.reduce<string>((text, value) => text.replace('?', () => quoted(value)), sql)
    const printed = sqlite(path, `${bound};`, '-readonly', '-json')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the program prints a list of objects
    return printed.trim() === '' ? [] : (JSON.parse(printed) as Readonly<Record<string, unknown>>[])
  },
  close: () => undefined,
})

/** `node:sqlite` as far as the importers use it. */
class DatabaseSync {
  constructor(private readonly path: string) {}

  prepare(sql: string): { readonly all: (...values: readonly string[]) => readonly unknown[] } {
    return { all: (...values) => connect(this.path).all(sql, ...values) }
  }

  close(): void {
    // Each statement is a program of its own.
  }
}

/** Makes `node:sqlite` available, if this Node does not have it. */
export function provideSqlite(): void {
  const original = process.getBuiltinModule.bind(process)
  if (original('node:sqlite') !== undefined) return
  jest
    .spyOn(process, 'getBuiltinModule')
    .mockImplementation((id: string): object | undefined => (id === 'node:sqlite' ? { DatabaseSync } : original(id)))
}
