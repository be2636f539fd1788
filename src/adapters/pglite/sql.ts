/**
 * The embedded default: Postgres inside this process (PGlite), in a folder or, for tests, in memory.
 *
 * What a folder survives: the process killed at any moment; every acknowledged append is there after reopening. What it
 * does not: a power cut. PGlite never calls fsync, so the last writes may be lost with the operating system's cache.
 * Who needs that uses a server. PGlite has one session, so all work stands in one line, and a long statement blocks the
 * whole process.
 */
import { PGlite, types, type Transaction } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { constants, statfsSync } from 'node:fs'
import { cp, link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Database, Sql } from '../../ports/sql.js'
import { codeOf, sentenceOf, StoreError } from '../../ports/store-error.js'
import {
  findOwner,
  LOCK_NAME,
  lockFolder,
  sweepSockets,
  unusable,
  type FolderLock,
  type LockOptions,
} from './folder-lock.js'
import { readBeside } from './read-beside.js'
import { serveReaders, type ReadWork } from './serve-readers.js'
import { readTemplate } from './template.js'

export interface OpenOptions extends LockOptions {
  /** The file of the template, for tests. */
  readonly template?: string
  /** Hears that another process begins to read by way of this one. */
  readonly onReader?: () => void
}

/**
 * Opens the ledger in a folder, which is made where it is missing: some 2 s the first time from the template of an
 * empty one, 3 to 6 s where the engine has to create it, about 0.6 s from then on. One process at a time has it open;
 * others may read by way of it (`openFolderToRead`). A folder that holds something else is refused and left as it is.
 */
export async function openFolder(path: string, options: OpenOptions = {}): Promise<Database> {
  const folder = resolve(path)
  await refuseForeign(folder)
  const lock = await lockFolder(folder, options)
  let isReady = true
  try {
    const before = await readMarker(folder)
    isReady = before?.ready === true
    if (before === undefined) await writeMarker(folder, lock, false)
    if (!isReady) options.onWait?.(`making a new ledger in ${folder}: once, and a few seconds`)
    const data = await dataFolder(folder, lock, isReady)
    const template = isReady ? undefined : await readTemplate(options.template)
    const db = await start(folder, {
      dataDir: join(folder, data),
      ...(template !== undefined && { loadDataDir: template }),
    })
    lock.check()
    if (!isReady) await writeMarker(folder, lock, true)
    await removeData(folder, lock, data)
    await lock.settle()
    return databaseOn(db, folder, lock, await readersOf(db, folder, lock, options), spaceIn(folder))
  } catch (error) {
    const failure = reasonOf(folder, error)
    // What was begun holds nothing yet, and its space may be all that is left.
    if (!isReady) await removeData(folder, lock, undefined).catch(ignore)
    await lock.release()
    throw failure
  }
}

/**
 * A database of a folder that another process may have open: then it is read by way of that process, and cannot be
 * written.
 */
export interface FolderToRead {
  readonly db: Database
  /** Who has it open and keeps it; undefined where this process does. */
  readonly readBy: string | undefined
}

/**
 * Opens the ledger in a folder for who only reads: by way of the process that has it open, and where none has, as
 * `openFolder` does. An owner that does not answer (it stands still, or is a program of an earlier version) is told as
 * it would be to anybody else.
 */
export async function openFolderToRead(path: string, options: OpenOptions = {}): Promise<FolderToRead> {
  const folder = resolve(path)
  await refuseForeign(folder)
  const until = performance.now() + OPENING_MS
  for (;;) {
    const beside = await besideOwner(folder)
    if (beside !== undefined) return beside
    try {
      return { db: await openFolder(folder, options), readBy: undefined }
    } catch (error) {
      if (!(error instanceof StoreError && error.kind === 'FolderLocked')) throw error
      // It may be about to open the folder itself, and serve from then on.
      if (performance.now() >= until)
        throw new StoreError(
          'FolderLocked',
          `${error.message}, and readers go by way of it, but this one does not answer them`,
          error,
        )
      await delay(LOOK_MS)
    }
  }
}

const OPENING_MS = 2_000
const LOOK_MS = 100

async function besideOwner(folder: string): Promise<FolderToRead | undefined> {
  const owner = await findOwner(folder)
  if (owner === undefined) return undefined
  const db = await readBeside(folder, owner)
  return db === undefined ? undefined : { db, readBy: owner.name }
}

/**
 * Serves those who read the folder beside this process; does nothing where the system offers no sockets there, and then
 * nobody reads beside.
 */
async function readersOf(
  db: PGlite,
  folder: string,
  lock: FolderLock,
  { onReader = ignore }: OpenOptions,
): Promise<Stops> {
  const reading: ReadWork = async (work) => {
    lock.check()
    try {
      return await db.transaction(async (tx) => {
        // Once a statement has read, nothing makes the transaction one that writes.
        await tx.exec('set transaction read only; select 1')
        const done = await work((text, values) => run(tx, text, values))
        await tx.rollback()
        return done
      })
    } catch (error) {
      throw clearer(error, folder)
    }
  }
  await sweepSockets(folder, lock.number)
  return await serveReaders(lock.socket, reading, { name: folder, hasVector: true, onReader }).catch(() => NO_READERS)
}

interface Stops {
  stop(): Promise<void>
}
const NO_READERS: Stops = { stop: () => Promise.resolve() }

/** Less than this, and the engine cannot work; it does not always say that this is why it gave up. */
const LEAST_SPACE = 2 ** 21

/** What the disk of a folder has left; a disk that does not say counts as one with room. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Infinity
  }
}

function reasonOf(folder: string, error: unknown): StoreError {
  const failure = error instanceof StoreError ? error : unusable(folder, error)
  if (failure.kind === 'FolderTaken' || failure.kind === 'DiskFull') return failure
  return isOutOfSpace(error) || freeBytes(folder) < LEAST_SPACE ? noSpace(folder, error) : failure
}

const noSpace = (name: string, error: unknown): StoreError =>
  new StoreError('DiskFull', `there is no space left for ${name} (a new ledger takes 40 MB)`, error)

// The engine's file layer has numbers of its own for what the system refuses, and throws what is no `Error`.
const isErrno = (error: unknown): error is { readonly errno: unknown } =>
  typeof error === 'object' && error !== null && 'name' in error && error.name === 'ErrnoError' && 'errno' in error
const OUT_OF_SPACE: ReadonlySet<unknown> = new Set([19, 51])
const isOutOfSpace = (error: unknown): boolean =>
  codeOf(error) === '53100' || (isErrno(error) && OUT_OF_SPACE.has(error.errno))

/** A database that is gone when it is closed, for tests. It takes as long as a new folder. */
export async function openMemory(): Promise<Database> {
  const template = await readTemplate()
  const db = await start('the database in memory', template === undefined ? {} : { loadDataDir: template })
  return databaseOn(db, 'the database in memory', { check: ignore, release: () => Promise.resolve() }, NO_READERS)
}

const SCHEMA = 'context_ledger'
/**
 * `pgdata`, or `pgdata-<number of a lock>`; the highest counts, and one that is being copied has `.draft` behind its
 * name.
 */
const DATA = 'pgdata'
const DATA_FOLDER = /^pgdata(?:-(\d+))?$/
const DATA_OR_DRAFT = /^pgdata(?:-(\d+))?(?:\.draft)?$/
const MARKER = 'ledger.json'

const dataNumber = (name: string): number => Number(DATA_OR_DRAFT.exec(name)?.[1] ?? 0)

/**
 * The folder with the engine's files. Where an earlier owner may come back it is one that this owner does not know: it
 * goes on writing into files that it has open, whatever anybody says, and these are then nobody's.
 */
async function dataFolder(folder: string, lock: FolderLock, isReady: boolean): Promise<string> {
  const [current] = (await readdir(folder))
    .filter((name) => DATA_FOLDER.test(name))
    .toSorted((a, b) => dataNumber(b) - dataNumber(a))
  const own = lock.isDoubtful ? `${DATA}-${String(lock.number)}` : DATA
  // A process was killed before the first opening was through. Nothing can have been appended by then, so it starts
  // anew.
  if (!isReady || current === undefined) {
    await removeData(folder, lock, undefined)
    return own
  }
  if (!lock.isDoubtful) return current
  const draft = join(folder, `${own}.draft`)
  try {
    await cp(join(folder, current), draft, { recursive: true, mode: constants.COPYFILE_FICLONE })
    await rename(draft, join(folder, own))
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(ignore)
    throw error
  }
  return own
}

/**
 * Takes away the engine's folders but the one that is in use. A later owner's has a higher number than our lock, and is
 * left alone however late this comes.
 */
async function removeData(folder: string, lock: FolderLock, inUse: string | undefined): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name !== inUse && DATA_OR_DRAFT.test(name) && dataNumber(name) <= lock.number)
      await rm(join(folder, name), { recursive: true, force: true })
  }
}

async function start(name: string, where: { readonly dataDir?: string; readonly loadDataDir?: Blob }): Promise<PGlite> {
  let db: PGlite | undefined
  try {
    db = new PGlite({
      ...where,
      extensions: { vector },
      // Below 2^53 PGlite would give a number for an 8-byte integer; strings always, as the port promises.
      parsers: { [types.INT8]: asText, [types.NUMERIC]: asText },
    })
    freeTimers(db)
    await db.waitReady
    // The engine has armed its timer on the way already. One that is due sooner takes its place, and is one of ours.
    await db.exec(`set statement_timeout = '1s'; select 1; set statement_timeout = 0`)
    const [found] = await run<{ there: boolean }>(
      db,
      `select to_regnamespace('${SCHEMA}') is not null and exists (select from pg_extension where extname = 'vector') as there`,
    )
    if (found?.there !== true)
      await db.exec(`create schema if not exists ${SCHEMA}; create extension if not exists vector with schema public`)
    await db.exec(`set search_path to ${SCHEMA}, public`)
    return db
  } catch (error) {
    await db?.close().catch(ignore)
    throw clearer(error, name)
  }
}

/**
 * Behind a statement the engine arms a timer of its own, ten seconds ahead, for statistics that nobody reads. It would
 * keep a process alive that is done, and the engine offers no way to set it otherwise. A statement runs in one go, so
 * nobody else meets what is put in the timer's place.
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

/** What the engine writes ahead into: it makes a file of this size whenever the last one is full. */
const WAL_SEGMENT = 16 * 2 ** 20
/** What else a statement may need: pages of tables and indexes that it adds. */
const PAGES = 2 * 2 ** 20
/** What is written ahead for a text, and what is added to its table, where it is not compressed. */
const TIMES_WRITTEN = 3

const WRITES = /\b(?:insert|update|delete|copy|create|alter|drop|truncate|append_events|append_many|nextval)\b/iu

const lengthOf = (value: unknown): number =>
  typeof value === 'string'
    ? value.length
    : Array.isArray(value)
      ? value.reduce<number>((sum, each) => sum + lengthOf(each), 0)
      : 0

/**
 * Refuses a statement that writes where the disk has no room for what the engine may have to add. The engine itself
 * cannot refuse: where it finds no room for the next file that it writes ahead into, it tries again for ever, and its
 * process hears of nothing any more, no signal either.
 */
type CheckSpace = (text: string, values?: readonly unknown[]) => void

function spaceIn(folder: string): CheckSpace {
  return (text, values = []) => {
    if (!WRITES.test(text)) return
    const needed = WAL_SEGMENT + PAGES + lengthOf(values) * TIMES_WRITTEN
    const free = freeBytes(folder)
    if (free < needed)
      throw new StoreError(
        'DiskFull',
        `there is no space left for ${folder}: ${String(Math.ceil(needed / 2 ** 20))} MB have to be free for it to be written, and ${String(Math.floor(free / 2 ** 20))} MB are`,
      )
  }
}

function databaseOn(
  db: PGlite,
  name: string,
  lock: Pick<FolderLock, 'check' | 'release'>,
  readers: Stops,
  checkSpace: CheckSpace = ignore,
): Database {
  const running = new Set<Promise<unknown>>()
  const turn = createTurns()
  let closing: Promise<void> | undefined

  async function open<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StoreError('StoreUnavailable', `${name} is closed`)
    lock.check()
    const done = work()
    running.add(done)
    try {
      const result = await done
      await turn()
      // Behind the commit and before anybody hears of it: what was written after somebody else took the folder is in
      // files that nobody reads.
      lock.check()
      return result
    } catch (error) {
      // A later owner takes the files of this one away: whatever the engine says of that, this is why.
      lock.check()
      throw clearer(error, name)
    } finally {
      running.delete(done)
    }
  }

  async function close(): Promise<void> {
    await readers.stop()
    // Closing under a transaction would leave whoever runs it waiting for ever.
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
    // One session: nobody else does anything before it is through.
    snapshot: async (_tables, work) => await open(() => db.transaction((tx) => work(inside(tx, checkSpace)))),
    async listen(channel, wake) {
      const stop = await open(() => db.listen(channel, wake))
      return async () => {
        // With the database every channel ends.
        if (closing === undefined) await open(stop)
      }
    },
    async close() {
      closing ??= close()
      await closing
    },
  }
}

/** Work that the engine does without a break lets nothing else in for no longer than this. */
const TURN_MS = 20

/**
 * Waits for a turn of the event loop, where the last one is a while ago. The engine answers without ever leaving the
 * queue of promises, so who appends again and again would keep everybody from being heard: timers, signals, and readers
 * at the socket. All who ask meanwhile share a turn, and go on in their order.
 */
function createTurns(): () => Promise<void> {
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

/** The database's own failures pass as they came, with their code; those of the engine itself become clear ones. */
function clearer(error: unknown, name: string): unknown {
  if (error instanceof StoreError || /^[\dA-Z]{5}$/.test(codeOf(error) ?? '')) return error
  const said = sentenceOf(error)
  if (isErrno(error))
    return isOutOfSpace(error)
      ? noSpace(name, error)
      : new StoreError(
          'StoreUnavailable',
          `${name} cannot be read or written (number ${String(error.errno)} of the engine's file layer)`,
          error,
        )
  // The engine gives up (abort, unreachable code) where Postgres would end its process; nothing of this instance can be
  // used after that.
  if (error instanceof Error && (error.name === 'RuntimeError' || /abort|closed|exit/i.test(said)))
    return new StoreError('StoreUnavailable', `${name} has stopped: ${said}`, error)
  return error
}

const Marker = z.object({ ledger: z.literal('context-ledger'), version: z.number(), ready: z.boolean() })
type Marker = z.infer<typeof Marker>
const MARKER_VERSION = 1

/** Looks before anything is touched: a folder with other things in it is somebody else's. */
async function refuseForeign(folder: string): Promise<void> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw unusable(folder, error)
  }
  // What file systems and desktops put into an empty folder by themselves.
  const others = names.filter(
    (name) => name !== LOCK_NAME && !name.startsWith(`${MARKER}.`) && name !== 'lost+found' && name !== '.DS_Store',
  )
  if (others.length === 0) return
  if (!others.includes(MARKER)) {
    throw new StoreError(
      'NotALedger',
      `${folder} holds something else (${others.slice(0, 3).join(', ')}${others.length > 3 ? ', …' : ''}); nothing in it was touched. Name an empty folder, or one that does not exist`,
    )
  }
  await readMarker(folder)
}

async function readMarker(folder: string): Promise<Marker | undefined> {
  let text: string
  try {
    text = await readFile(join(folder, MARKER), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(folder, error)
  }
  const marker = parseMarker(text)
  if (marker === undefined)
    throw new StoreError(
      'NotALedger',
      `${join(folder, MARKER)} is not what this program writes; nothing in ${folder} was touched`,
    )
  if (marker.version > MARKER_VERSION) {
    throw new StoreError(
      'NewerSchema',
      `${folder} was made by a later version of this program (version ${String(marker.version)} of its layout, this program knows ${String(MARKER_VERSION)})`,
    )
  }
  return marker
}

function parseMarker(text: string): Marker | undefined {
  try {
    return Marker.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/**
 * In one step, so that a process killed here leaves the old marker or the new one. One that is there is never set back
 * by who comes late.
 */
async function writeMarker(folder: string, lock: FolderLock, ready: boolean): Promise<void> {
  const marker = join(folder, MARKER)
  const draft = `${marker}.${String(lock.number)}`
  await writeFile(
    draft,
    `${JSON.stringify({ ledger: 'context-ledger', version: MARKER_VERSION, ready } satisfies Marker)}\n`,
  )
  if (ready) return await rename(draft, marker)
  try {
    await link(draft, marker)
  } catch (error) {
    // A file system without hard links.
    if (codeOf(error) !== 'EEXIST') return await rename(draft, marker)
  }
  await rm(draft, { force: true })
}

const asText = (value: string): string => value

function ignore(): void {
  // The failure that led here is the one to report.
}
