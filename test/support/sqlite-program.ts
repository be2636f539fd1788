/** SQLite in tests: `node:sqlite`, or the program `sqlite3` for a Node that does not have it. */
import { afterAll, jest } from '@jest/globals'
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

const END = '-- end of the answer --'

/** One process for all statements of a test file: starting one takes thirty times as long as a statement. */
class SqliteProcess {
  readonly #input: number
  readonly #output: number

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-'))
    const [input, output] = [join(folder, 'input'), join(folder, 'output')]
    spawnSync('mkfifo', [input, output])
    // A pipe that is opened for both directions does not wait for the other end.
    this.#input = openSync(input, constants.O_RDWR)
    const from = openSync(input, constants.O_RDONLY)
    const to = openSync(output, constants.O_RDWR)
    this.#output = openSync(output, constants.O_RDONLY)
    spawn('sqlite3', ['-batch'], { stdio: [from, to, to] }).unref()
    for (const end of [from, to]) closeSync(end)
    rmSync(folder, { recursive: true })
  }

  run(path: string, sql: string, { isReadOnly, mode }: SqliteOptions): string {
    const words = [
      `.open ${isReadOnly ? '--readonly ' : ''}'${path}'`,
      `.mode ${mode}`,
      `${sql}\n;`,
      '.open :memory:',
      `.print '${END}'`,
    ]
    writeSync(this.#input, `${words.join('\n')}\n`)
    const chunks: Buffer[] = []
    const chunk = Buffer.alloc(2 ** 16)
    const end = Buffer.from(`${END}\n`)
    while (!Buffer.concat(chunks.slice(-2)).subarray(-end.length).equals(end)) {
      const size = readSync(this.#output, chunk)
      if (size === 0) throw new Error('sqlite3 has ended')
      chunks.push(Buffer.from(chunk.subarray(0, size)))
    }
    const printed = Buffer.concat(chunks).toString('utf8').slice(0, -end.length)
    if (/^(?:Parse error|Runtime error|Error)\b/mu.test(printed)) throw new Error(printed)
    return printed
  }

  /** Without a writer of its input, the process ends. */
  close(): void {
    closeSync(this.#input)
    closeSync(this.#output)
  }
}

interface SqliteOptions {
  readonly isReadOnly: boolean
  readonly mode: 'list' | 'json'
}

let running: SqliteProcess | undefined
afterAll(() => {
  running?.close()
  running = undefined
})

/** Runs statements with the program `sqlite3`. @returns what it prints */
export const sqlite = (
  path: string,
  sql: string,
  options: SqliteOptions = { isReadOnly: false, mode: 'list' },
): string => (running ??= new SqliteProcess()).run(path, sql, options)

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
    const printed = sqlite(path, bound, { isReadOnly: true, mode: 'json' })
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
