/**
 * Replaces `@electric-sql/pglite` in tests: a database in memory is an engine of the worker (engines.mjs), emptied, and
 * a database in a folder comes from the package, or is kept from an earlier opening (kept-engines.ts).
 *
 * An engine of the worker belongs to another JavaScript context. Its rows and errors are converted, so that
 * `instanceof` and strict equality work as with the package.
 */
import { types as nodeTypes } from 'node:util'
import {
  PGlite as Package,
  types,
  type ParserOptions,
  type PGliteOptions,
  type Results,
  type Transaction,
} from '../../node_modules/@electric-sql/pglite/dist/index.js'
import type { KeptEngines } from './kept-engines.js'

export { types }

interface Engines {
  template(): Promise<Blob>
  copyEmptyLedger(folder: string): void
  /** Memories of WebAssembly. */
  readonly memories: { take(): object; release(memory: object): void }
  take(file: object, hasTables: boolean): Promise<Package>
  release(engine: Package): Promise<void>
  isUsed(engine: Package, file: object): boolean
}
declare global {
  // oxlint-disable-next-line no-var -- the only way to declare a global
  var testEngines: Engines
  /** The engines of directories, in test files of the command line. */
  // oxlint-disable-next-line no-var -- see above
  var keptEngines: KeptEngines | undefined
  /** How many of the next databases in memory have no tables (memory-database.ts). */
  // oxlint-disable-next-line no-var -- see above
  var emptyDatabases: number | undefined
  /** Whether a new folder comes from the template itself, in test files of that. */
  // oxlint-disable-next-line no-var -- see above
  var unpacksTemplate: boolean | undefined
}

/** Names this test file to the engines of its worker. */
const file = {}

function ownError(error: unknown): unknown {
  if (error instanceof Error || !nodeTypes.isNativeError(error)) return error
  return Object.defineProperties(new Error(error.message), Object.getOwnPropertyDescriptors(error))
}

async function own<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw ownError(error)
  }
}

const ownValue = (value: unknown): unknown => (Array.isArray(value) ? value.map(ownValue) : value)

const ownRow = (row: object): object =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, ownValue(value)]))

/** The methods of a transaction that `sql.ts` calls. */
interface PooledTransaction extends Pick<Transaction, 'exec' | 'rollback'> {
  query(text: string, values?: unknown[]): Promise<Results<object>>
}

/** The methods of a database that `sql.ts` calls. */
class PooledEngine implements Pick<Package, 'exec' | 'listen' | 'close' | 'execProtocolRawSync'> {
  readonly waitReady: Promise<void>
  readonly #parsers: ParserOptions
  readonly #serializers: PGliteOptions['serializers']
  #taken: Package | undefined

  constructor({ parsers = {}, serializers }: PGliteOptions) {
    const json = (text: string): unknown => JSON.parse(text)
    this.#parsers = { [types.JSON]: json, [types.JSONB]: json, ...parsers }
    this.#serializers = serializers
    const empty = globalThis.emptyDatabases ?? 0
    globalThis.emptyDatabases = Math.max(0, empty - 1)
    this.waitReady = own(this.#take(empty === 0))
  }

  async #take(hasTables: boolean): Promise<void> {
    this.#taken = await testEngines.take(file, hasTables)
  }

  get #engine(): Package {
    if (this.#taken === undefined || !testEngines.isUsed(this.#taken, file)) throw new Error('PGlite is closed')
    return this.#taken
  }

  execProtocolRawSync(message: Uint8Array): Uint8Array {
    return this.#engine.execProtocolRawSync(message)
  }

  async query(text: string, values?: unknown[], on: Pick<Package, 'query'> = this.#engine): Promise<Results<object>> {
    const options = { parsers: this.#parsers, ...(this.#serializers && { serializers: this.#serializers }) }
    const results = await own(on.query<object>(text, values, options))
    return { ...results, rows: results.rows.map(ownRow) }
  }

  async exec(text: string): ReturnType<Package['exec']> {
    return await own(this.#engine.exec(text))
  }

  async transaction<T>(work: (tx: PooledTransaction) => Promise<T>): Promise<T> {
    const inside = (tx: Transaction): Promise<T> =>
      work({
        query: (text, values) => this.query(text, values, tx),
        exec: (text) => own(tx.exec(text)),
        rollback: () => own(tx.rollback()),
      })
    return await own(this.#engine.transaction(inside))
  }

  async listen(channel: string, wake: (payload: string) => void): ReturnType<Package['listen']> {
    return await own(this.#engine.listen(channel, wake))
  }

  async close(): Promise<void> {
    await testEngines.release(this.#engine)
  }
}

const folderOf = ({ fs }: PGliteOptions): string | undefined => {
  const folder: unknown = fs !== undefined && Reflect.get(fs, 'rootDir')
  return typeof folder === 'string' ? folder : undefined
}

/** As in engines.mjs: a small page cache, and no zeros in new files of the write-ahead log. */
const quickly = (params: readonly string[] = Package.defaultStartParams): string[] => [
  ...params.map((param) => (param.startsWith('shared_buffers=') ? 'shared_buffers=4MB' : param)),
  '-c',
  'wal_init_zero=off',
]

/** A database in a folder. A new one is a copy of an empty ledger (empty-databases.mjs). */
function startInFolder(target: typeof Package, { loadDataDir, ...options }: PGliteOptions, folder: string): Package {
  if (loadDataDir !== undefined) testEngines.copyEmptyLedger(folder)
  return startInMemory(testEngines.memories.take(), target, { ...options, startParams: quickly(options.startParams) })
}

/** Starts an engine in the memory of an earlier one, and releases the memory when the engine is closed. */
function startInMemory(memory: object, target: typeof Package, options: PGliteOptions): Package {
  const { fs } = options
  const init = fs?.init.bind(fs)
  if (fs !== undefined && init !== undefined)
    fs.init = async (...words) => {
      const { emscriptenOpts } = await init(...words)
      return { emscriptenOpts: Object.assign(emscriptenOpts, { wasmMemory: memory }) }
    }
  const db = new target(options)
  const endTimers = recordTimers(db)
  const close = db.close.bind(db)
  db.close = async () => {
    await close()
    endTimers()
    testEngines.memories.release(memory)
  }
  return db
}

/** Records the timers that the statements of an engine arm. The result ends them: they would run in its memory. */
function recordTimers(db: Package): () => void {
  const timers = new Set<NodeJS.Timeout>()
  const statement = db.execProtocolRawSync.bind(db)
  db.execProtocolRawSync = (message) => {
    const { setTimeout } = globalThis
    const recording = (callback: () => void, ms?: number): NodeJS.Timeout => {
      const timer = setTimeout(() => {
        timers.delete(timer)
        callback()
      }, ms)
      timers.add(timer)
      return timer
    }
    globalThis.setTimeout = Object.assign(recording, { __promisify__: setTimeout.__promisify__ })
    try {
      return statement(message)
    } finally {
      globalThis.setTimeout = setTimeout
    }
  }
  return () => {
    for (const timer of timers) clearTimeout(timer)
  }
}

/** The package's class, which takes an engine of the worker for a database in memory. */
export const PGlite = new Proxy(Package, {
  construct(target, [options]: [PGliteOptions]) {
    if (options.fs === undefined) return new PooledEngine(options)
    const folder = folderOf(options)
    const start = (): Package =>
      folder === undefined || globalThis.unpacksTemplate === true
        ? new target(options)
        : startInFolder(target, options, folder)
    return folder === undefined || globalThis.keptEngines === undefined
      ? start()
      : globalThis.keptEngines.open(folder, start)
  },
})
