/**
 * The embedded default: Postgres inside this process (PGlite), in a folder or, for tests, in memory.
 *
 * A folder survives a process that is killed at any moment: after reopening it holds every acknowledged append. It does
 * not survive a power cut: PGlite never calls fsync, so the last writes may be lost with the operating system's cache.
 * Use a server if you need that. PGlite has one session, so it runs one transaction at a time, and a long statement
 * blocks the whole process.
 */
import { isLedgerError, type LedgerError } from '../../lib/ledger-error.js'
import { PGlite, types, type PGliteOptions, type Transaction } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { cp, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Database, Sql } from '../../ports/sql.js'
import { restrictFolder } from '../../ports/private-files.js'
import { codeOf, sentenceOf, isStoreError, storeError } from '../../ports/store-error.js'
import { errorOfState } from '../postgres/sql-state.js'
import { lockFolder, sweepSockets, unusable, type FolderLock, type LockOptions } from './folder-lock.js'
import { PrivateNodeFs } from './private-node-fs.js'
import { filesOfEngine } from './open-files.js'
import { readMarker, refuseForeign, writeMarker } from './marker.js'
import { serveReaders, type ReadWork } from './serve-readers.js'
import { readTemplate } from './database-template.js'

export interface OpenOptions extends LockOptions {
  /** The file of the template, for tests. */
  readonly template?: string
  /** Only for reading: a resident reader is asked to close the folder, and not read through. */
  readonly alone?: boolean
  /** Called when another process begins to read through this one. */
  readonly onReader?: () => void
  /** Called when the number of processes that read through this one changes. */
  readonly onReaders?: (count: number) => void
  /** Runs a command for a process that asks a resident reader. */
  readonly onRun?: (command: unknown) => Promise<unknown>
  /** Called when a process asks a resident reader to close the folder. */
  readonly onYield?: () => void
}

/**
 * Opens the ledger in a folder and creates the folder if it is missing. The first opening takes about 2 s from the
 * template of an empty database, or 3 to 6 s if the engine has to create one; later ones take about 0.6 s. One process
 * at a time has the folder open; other processes can read through it (`openFolderToRead`). A folder with other content
 * is rejected and not changed.
 */
export async function openFolder(path: string, options: OpenOptions = {}): Promise<Database> {
  const folder = resolve(path)
  await refuseForeign(folder)
  const files = filesOfEngine(folder)
  const lock = await lockFolder(folder, options)
  let isReady = true
  let db: PGlite | undefined
  try {
    const marker = await readMarker(folder)
    isReady = marker?.ready === true
    if (marker === undefined) await writeMarker(folder, lock, false)
    if (!isReady) options.onWait?.(`making a new ledger in ${folder}: once, and a few seconds`)
    const data = await dataFolder(folder, lock, isReady)
    const template = isReady ? undefined : await readTemplate(options.template)
    // The socket of an owner that was killed is none of the files that other users had access to.
    sweepSockets(folder, lock.number)
    restrict(folder, options)
    db = await start(folder, {
      fs: new PrivateNodeFs(join(folder, data)),
      startParams: [
        ...PGlite.defaultStartParams,
        '-c',
        `shared_buffers=${String(pageCacheOf(join(folder, data)))}MB`,
        '-c',
        `max_files_per_process=${String(files)}`,
      ],
      ...(template !== undefined && { loadDataDir: template }),
    })
    lock.check()
    if (!isReady) await writeMarker(folder, lock, true)
    await removeData(folder, lock, data)
    await lock.clearTakeovers()
    return databaseOn(db, folder, lock, await readersOf(db, folder, lock, options), spaceIn(folder))
  } catch (error) {
    const failure = reasonOf(folder, error)
    await db?.close().catch(ignore)
    // The unfinished database is empty, and the disk may need its space.
    if (!isReady) await removeData(folder, lock, undefined).catch(ignore)
    await lock.release()
    throw failure
  }
}

/** Serves the processes that read the folder through this one; does nothing if the system cannot listen at the socket. */
async function readersOf(
  db: PGlite,
  folder: string,
  lock: FolderLock,
  { onReader = ignore, onReaders, onRun, onYield }: OpenOptions,
): Promise<ReaderServer> {
  const reading: ReadWork = async (work) => {
    lock.check()
    try {
      return await db.transaction(async (tx) => {
        // After its first query, Postgres does not let a read-only transaction become one that writes.
        await tx.exec('set transaction read only; select 1')
        const result = await work((text, values) => run(tx, text, values))
        await tx.rollback()
        return result
      })
    } catch (error) {
      throw clearer(error, folder)
    }
  }
  return await serveReaders(lock.socket, reading, {
    name: folder,
    hasVector: true,
    onReader,
    onReaders,
    onRun,
    onYield,
  }).catch(() => NO_READERS)
}

/** Removes other users' access to the folder, which an earlier version, a copy or a user may have granted. */
function restrict(folder: string, { onWait = ignore }: OpenOptions): void {
  const changed = restrictFolder(folder)
  if (changed > 0)
    onWait(
      `other users had access to ${String(changed)} files and folders of ${folder}: now only the owner can read and write them`,
    )
}

interface ReaderServer {
  stop(): Promise<void>
}
const NO_READERS: ReaderServer = { stop: () => Promise.resolve() }

/** Bytes that the engine needs to work. Its errors do not always name a full disk as the cause. */
const MIN_FREE_BYTES = 2 ** 21

/** Free bytes on the disk of a folder; infinite if the disk does not report them. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Infinity
  }
}

function reasonOf(folder: string, error: unknown): LedgerError {
  const failure = isStoreError(error) ? error : unusable(folder, error)
  if (failure.kind === 'FolderTaken' || failure.kind === 'DiskFull') return failure
  return isOutOfSpace(error) || freeBytes(folder) < MIN_FREE_BYTES ? noSpace(folder, error) : failure
}

const noSpace = (name: string, error: unknown): LedgerError =>
  storeError('DiskFull', `there is no space left for ${name} (a new ledger takes 25 MB)`, error)

// The engine's file layer numbers system errors its own way, and throws objects that are not an `Error`.
const isErrno = (error: unknown): error is { readonly errno: unknown } =>
  typeof error === 'object' && error !== null && 'name' in error && error.name === 'ErrnoError' && 'errno' in error
const OUT_OF_SPACE: ReadonlySet<unknown> = new Set([19, 51])
const isOutOfSpace = (error: unknown): boolean =>
  codeOf(error) === '53100' || (isErrno(error) && OUT_OF_SPACE.has(error.errno))

/** A database in memory, for tests; its content is lost when it is closed. Opening takes as long as a new folder. */
export async function openMemory(): Promise<Database> {
  const template = await readTemplate()
  const db = await start('the database in memory', template === undefined ? {} : { loadDataDir: template })
  return databaseOn(db, 'the database in memory', { check: ignore, release: () => Promise.resolve() }, NO_READERS)
}

const SCHEMA = 'context_ledger'
/**
 * `pgdata`, or `pgdata-<number of a lock>`. The folder with the highest number is current; one that is still being
 * copied ends in `.draft`.
 */
const DATA = 'pgdata'
const DATA_FOLDER = /^pgdata(?:-(\d+))?$/
const DATA_OR_DRAFT = /^pgdata(?:-(\d+))?(?:\.draft)?$/

const dataNumber = (name: string): number => Number(DATA_OR_DRAFT.exec(name)?.[1] ?? 0)

/**
 * The folder with the engine's files. If an earlier owner may return, this is a copy that the earlier owner does not
 * know: it may keep writing into the files that it has open, and no process reads those any more.
 */
async function dataFolder(folder: string, lock: FolderLock, isReady: boolean): Promise<string> {
  const [current] = (await readdir(folder))
    .filter((name) => DATA_FOLDER.test(name))
    .toSorted((a, b) => dataNumber(b) - dataNumber(a))
  const next = lock.mayOwnerReturn ? `${DATA}-${String(lock.number)}` : DATA
  // A process was killed before it finished the first opening. Nothing can have been appended by then, so this one
  // starts over.
  if (!isReady || current === undefined) {
    await removeData(folder, lock, undefined)
    return next
  }
  if (!lock.mayOwnerReturn) return current
  const draft = join(folder, `${next}.draft`)
  try {
    await cp(join(folder, current), draft, { recursive: true, mode: constants.COPYFILE_FICLONE })
    await rename(draft, join(folder, next))
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(ignore)
    throw error
  }
  return next
}

/**
 * Removes the engine's folders except the one in use. The folder of a later owner has a higher number than our lock and
 * is never removed, however late this runs.
 */
async function removeData(folder: string, lock: FolderLock, inUse: string | undefined): Promise<void> {
  // Not asynchronous: while the engine's code is being optimized, a reply from the thread pool takes 100 ms and more.
  for (const name of readdirSync(folder)) {
    if (name !== inUse && DATA_OR_DRAFT.test(name) && dataNumber(name) <= lock.number)
      await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** MB of the engine's page cache: at least, and at most, which is the engine's default. */
const PAGE_CACHE = { min: 32, max: 128 }

/**
 * MB of the page cache: as large as the tables, so that a small ledger opens quickly. The engine clears the cache when it
 * starts. A new ledger may grow before it is opened again: with 4 MB its searches took 1.4 times as long as with 128.
 */
function pageCacheOf(data: string): number {
  const tables = join(data, 'base')
  const files = existsSync(tables) ? readdirSync(tables, { recursive: true, encoding: 'utf8' }) : []
  const bytes = files.reduce((sum, file) => sum + statSync(join(tables, file)).size, 0)
  return Math.min(PAGE_CACHE.max, Math.max(PAGE_CACHE.min, Math.ceil(bytes / 2 ** 20)))
}

async function start(name: string, files: Pick<PGliteOptions, 'fs' | 'startParams' | 'loadDataDir'>): Promise<PGlite> {
  let db: PGlite | undefined
  // While nothing else keeps the event loop alive, Node.js waits until the engine's code is optimized.
  const keepAlive = setInterval(ignore, 1_000)
  try {
    db = new PGlite({
      ...files,
      extensions: { vector },
      // PGlite would return a number for an 8-byte integer below 2^53; the port promises strings for all.
      parsers: { [types.INT8]: asText, [types.NUMERIC]: asText, [types.BYTEA]: bytesOfHex },
      // PGlite's own codec of bytes makes a list with one item for each byte.
      serializers: { [types.BYTEA]: asBinary },
    })
    freeTimers(db)
    await db.waitReady
    // The engine armed its timer during the start. A timer that is due sooner replaces it, and that one is unreferenced.
    await db.exec(`set statement_timeout = '1s'; select 1; set statement_timeout = 0`)
    const [row] = await run<{ exists: boolean }>(
      db,
      `select to_regnamespace('${SCHEMA}') is not null and exists (select from pg_extension where extname = 'vector') as "exists"`,
    )
    if (row?.exists !== true)
      await db.exec(`create schema if not exists ${SCHEMA}; create extension if not exists vector with schema public`)
    await db.exec(`set search_path to ${SCHEMA}, public`)
    return db
  } catch (error) {
    await db?.close().catch(ignore)
    throw clearer(error, name)
  } finally {
    clearInterval(keepAlive)
  }
}

/**
 * After each statement the engine arms a ten-second timer for statistics, which are not used here. It would keep a
 * finished process alive, and the engine has no option for it. So `setTimeout` is replaced while a statement runs; a
 * statement runs synchronously, so no other code sees the replacement.
 */
function freeTimers(db: PGlite): void {
  const statement = db.execProtocolRawSync.bind(db)
  let usual = globalThis.setTimeout
  const free = Object.assign(
    (callback: () => void, ms?: number): NodeJS.Timeout =>
      usual(() => {
        freely(callback)
      }, ms).unref(),
    { __promisify__: usual.__promisify__ },
  )
  const freely = <T>(work: () => T): T => {
    const before = globalThis.setTimeout
    if (before !== free) usual = before
    globalThis.setTimeout = free
    try {
      return work()
    } finally {
      globalThis.setTimeout = before
    }
  }
  db.execProtocolRawSync = (message) => freely(() => statement(message))
}

/** Size of a write-ahead log file. The engine creates a new one when the last is full. */
const WAL_SEGMENT = 16 * 2 ** 20
/** Bytes for the pages that a statement may add to tables and indexes. */
const PAGES = 2 * 2 ** 20
/** A text is written to the write-ahead log and to its table, at worst without compression. */
const TIMES_WRITTEN = 3

const WRITES = /\b(?:insert|update|delete|copy|create|alter|drop|truncate|append_events|append_many|nextval)\b/iu

/** The bytes of what a statement writes. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value, 'utf8')
  if (value instanceof Uint8Array) return value.byteLength
  return Array.isArray(value) ? value.reduce<number>((sum, each) => sum + bytesOf(each), 0) : 0
}

/**
 * Rejects a statement that writes if the disk lacks the space that the engine may need. The engine cannot report this
 * itself: without space for the next write-ahead log file it retries forever, and its process no longer handles
 * anything, not even a signal.
 */
type CheckSpace = (text: string, values?: readonly unknown[]) => void

function spaceIn(folder: string): CheckSpace {
  return (text, values = []) => {
    if (!WRITES.test(text)) return
    const needed = WAL_SEGMENT + PAGES + bytesOf(values) * TIMES_WRITTEN
    const free = freeBytes(folder)
    if (free < needed)
      throw storeError(
        'DiskFull',
        `there is no space left for ${folder}: writing needs ${String(Math.ceil(needed / 2 ** 20))} MB, and ${String(Math.floor(free / 2 ** 20))} MB are free`,
      )
  }
}

function databaseOn(
  db: PGlite,
  name: string,
  lock: Pick<FolderLock, 'check' | 'release'>,
  readers: ReaderServer,
  checkSpace: CheckSpace = ignore,
): Database {
  const running = new Set<Promise<unknown>>()
  const yieldToEventLoop = createYield()
  let closing: Promise<void> | undefined

  async function open<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw storeError('StoreUnavailable', `${name} is closed`)
    lock.check()
    const pending = work()
    running.add(pending)
    try {
      const result = await pending
      await yieldToEventLoop()
      // After the commit and before it is acknowledged: if another process took over the folder, the write went to
      // files that no process reads.
      lock.check()
      return result
    } catch (error) {
      // A later owner removes this one's files; if so, that is the cause, whatever the engine reports.
      lock.check()
      throw clearer(error, name)
    } finally {
      running.delete(pending)
    }
  }

  async function close(): Promise<void> {
    await readers.stop()
    // A transaction that is open while the database closes would never settle.
    await Promise.allSettled(running)
    try {
      await db.close()
      lock.check()
    } catch (error) {
      throw clearer(error, name)
    } finally {
      await lock.release()
    }
  }

  return {
    name,
    isServer: false,
    hasVector: true,
    query: async (text, values) =>
      await open(async () => {
        checkSpace(text, values)
        return await run(db, text, values)
      }),
    script: async (text) =>
      await open(async () => {
        checkSpace(text)
        await script(db, text)
      }),
    transaction: async (work) => await open(() => db.transaction((tx) => work(inside(tx, checkSpace)))),
    // The only session runs this transaction to its end before anything else.
    snapshot: async (_tables, work) => await open(() => db.transaction((tx) => work(inside(tx, checkSpace)))),
    async listen(channel, wake) {
      const stop = await open(() => db.listen(channel, wake))
      return async () => {
        // Closing the database ends every channel.
        if (closing === undefined) await open(stop)
      }
    },
    async close() {
      closing ??= close()
      await closing
    },
  }
}

/** The longest time that the engine may run without a turn of the event loop. */
const TURN_MS = 20

/**
 * Waits for a turn of the event loop if the last one is more than `TURN_MS` ago. The engine answers within the
 * microtask queue, so a caller that appends in a loop would starve timers, signals and readers at the socket. Concurrent
 * callers share a turn and continue in their order.
 */
function createYield(): () => Promise<void> {
  let last = performance.now()
  let taking: Promise<void> | undefined
  const take = async (): Promise<void> => {
    await new Promise(setImmediate)
    last = performance.now()
    taking = undefined
  }
  return async () => {
    if (taking === undefined && performance.now() - last < TURN_MS) return
    taking ??= take()
    await taking
  }
}

async function run<Row extends object>(
  on: PGlite | Transaction,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return (await on.query<Row>(text, [...values])).rows
}

async function script(on: PGlite | Transaction, text: string): Promise<void> {
  await on.exec(text)
}

function inside(tx: Transaction, checkSpace: CheckSpace): Sql {
  return {
    async query(text, values) {
      checkSpace(text, values)
      return await run(tx, text, values)
    },
    async script(text) {
      checkSpace(text)
      await script(tx, text)
    },
    transaction: () => Promise.reject(new Error('a transaction inside a transaction')),
  }
}

/** The failure as a `LedgerError`. Errors of the caller's own code are returned unchanged. */
function clearer(error: unknown, name: string): unknown {
  if (isLedgerError(error)) return error
  const refusal = errorOfState(error, name)
  if (refusal !== undefined) return refusal
  const message = sentenceOf(error)
  if (isErrno(error))
    return isOutOfSpace(error)
      ? noSpace(name, error)
      : storeError(
          'StoreUnavailable',
          `${name} cannot be read or written (error ${String(error.errno)} of the engine's file layer)`,
          error,
        )
  // The engine aborts when Postgres would end its process; the instance is unusable after that. Its errors have no code.
  // Their messages: "Program terminated with exit(1)" and "Aborted(…)" (Emscripten), "PGlite is closed" (PGlite).
  if (error instanceof Error && (error.name === 'RuntimeError' || /abort|closed|exit/i.test(message)))
    return storeError('StoreUnavailable', `${name} has stopped: ${message}`, error)
  return error
}

const asText = (value: string): string => value

/** Reads bytes as Postgres writes them: `\\x` and two hexadecimal digits for each byte. */
const bytesOfHex = (value: string): Uint8Array => Buffer.from(value.slice(2), 'hex')

/** Returns the bytes unchanged: PGlite sends a `Uint8Array` in the binary format, although its type asks for a text. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
const asBinary = (value: unknown): string => value as string

function ignore(): void {
  // The caller reports the failure that came first.
}
