/**
 * A folder is open in one process at a time. PGlite itself has no such lock, and two processes on one folder lose
 * acknowledged events without an error.
 *
 * Below `lock/` lie files named by numbers, each says who took the folder with it, and the highest counts.
 * `<number>.free` beside it says that it was given back (an empty file, because a full disk still takes one). Who wants
 * the folder creates the next number, which the file system lets exactly one process do.
 *
 * Whether an owner that did not give it back is dead can be asked where it ran beside us: same run of the machine, same
 * process ids. Such a process loses its lock when it is dead, and never because it is old, slow or suspended. Of any
 * other owner (another machine or container, or the machine before it was started anew) only its heartbeat tells: it
 * touches its file every few seconds, from a thread, because the engine blocks the process for a whole query. Who wants
 * the folder watches the file by a clock of its own, and succeeds an owner that was quiet all the while. That owner may
 * be suspended and come back, so its successor leaves `<number>.doubt` and works on a copy of the data that the old one
 * does not know (`sql.ts`); the old one looks for a successor behind each statement, before it says that anything was
 * written.
 *
 * The record also says at which socket the owner serves those who only read (`serve-readers.ts`).
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, utimesSync } from 'node:fs'
import { link, mkdir, open, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { codeOf, sentenceOf, StoreError } from '../../ports/store-error.js'

export interface FolderLock {
  /** Counts up with each owner of the folder. */
  readonly number: number
  /** True where somebody who had the folder before may come back and write into the files that it has open. */
  readonly isDoubtful: boolean
  /** Where others are told that this owner serves readers. */
  readonly socket: string
  /** Says that nobody before us can reach the data any more. */
  settle(): Promise<void>
  /** Throws where another process has taken the folder meanwhile, because this one stood still or could not write. */
  check(): void
  /** Lets others have the folder. Twice is once. */
  release(): Promise<void>
}

export interface LockOptions {
  /** How often an owner touches its file. Default 2 s. */
  readonly beatMs?: number
  /** How long an owner that cannot be asked has to be quiet before it is succeeded. Default 10 s. */
  readonly quietMs?: number
  /** Hears what is waited for, in one sentence. */
  readonly onWait?: (sentence: string) => void
}

/** The one name that the lock uses in a folder. */
export const LOCK_NAME = 'lock'

const BEAT_MS = 2_000
const QUIET_MS = 10_000

/**
 * Takes the folder for this process, making it where it is missing; throws a `StoreError` that says who has it or what
 * is wrong with it.
 */
export async function lockFolder(folder: string, options: LockOptions = {}): Promise<FolderLock> {
  const { beatMs = BEAT_MS, quietMs = QUIET_MS } = options
  const locks = join(folder, LOCK_NAME)
  await makeFolder(folder)
  const mine = await ownRecord()
  try {
    await mkdir(locks, { recursive: true })
    for (;;) {
      const highest = await highestLock(locks)
      if (highest > 0 && !(await isFree(locks, highest))) {
        const owner = await ownerOf(folder, locks, highest, { ...options, quietMs })
        if (owner === 'gone') continue
        // Before the lock itself, so that a process that is killed between the two leaves the doubt behind.
        if (owner === 'quiet') await writeFile(doubtOf(locks, highest), '')
      }
      const number = highest + 1
      const socket = socketFor(folder, locks, number)
      if (!(await createLock(locks, number, { ...mine, socket }))) continue
      // A number is swept away only when several higher ones are there. A process that stood still so long, between
      // looking and creating, that its number was free once more sees them now.
      if ((await highestLock(locks)) > number) {
        await rm(join(locks, String(number)), { force: true })
        continue
      }
      await sweep(locks, number)
      return await held(folder, locks, number, socket, { beatMs, quietMs })
    }
  } catch (error) {
    throw error instanceof StoreError ? error : unusable(folder, error)
  }
}

/** Who has the folder by what its lock says, dead or alive, and where it serves readers. */
export interface FolderOwner {
  readonly name: string
  readonly socket: string | undefined
}

/** The owner that the newest lock names; undefined where it was given back, or where there is none. */
export async function findOwner(folder: string): Promise<FolderOwner | undefined> {
  const locks = join(folder, LOCK_NAME)
  const number = await highestLock(locks).catch(() => 0)
  if (number === 0 || (await isFree(locks, number))) return undefined
  const file = join(locks, String(number))
  const [owner, { uid }] = await Promise.all([readRecord(file), stat(file)]).catch(
    () => [undefined, { uid: -1 }] as const,
  )
  if (owner === undefined || owner === 'gone') return undefined
  // In the folder for temporary files anybody may have put a socket of that name.
  const isOwners =
    owner.socket !== undefined &&
    (isPipe(owner.socket) ||
      (await stat(owner.socket).then(
        (found) => found.isSocket() && found.uid === uid,
        () => false,
      )))
  return { name: nameOf(owner), socket: isOwners ? owner.socket : undefined }
}

/** What a failure of the file system means for who wanted to open `folder`. */
export function unusable(folder: string, error: unknown): StoreError {
  const code = codeOf(error) ?? ''
  if (['ENOSPC', 'EDQUOT'].includes(code))
    return new StoreError('DiskFull', `there is no space left for ${folder}`, error)
  if (['ENOTDIR', 'EEXIST'].includes(code)) return new StoreError('FolderUnusable', `${folder} is no folder`, error)
  if (['EACCES', 'EPERM', 'EROFS'].includes(code))
    return new StoreError(
      'FolderUnusable',
      `${folder} may not be written by this process, and a ledger is written to even where it is only read: give its user the right to, or name another folder`,
      error,
    )
  return new StoreError('FolderUnusable', `${folder} cannot be used: ${sentenceOf(error)}`, error)
}

/** Systems take no longer address of a socket: 108 bytes on Linux, 104 elsewhere. */
const LONGEST_SOCKET = 100
const SOCKET_FILE = /^(\d{1,15})\.sock$/
const isPipe = (socket: string): boolean => socket.startsWith('\\\\.\\pipe\\')

/**
 * The address for an owner's socket: beside its lock where that is short enough, else a name in the system's folder for
 * temporary files.
 */
function socketFor(folder: string, locks: string, number: number): string {
  const beside = join(locks, `${String(number)}.sock`)
  if (process.platform !== 'win32' && Buffer.byteLength(beside) <= LONGEST_SOCKET) return beside
  const name = `${temporaryName(folder)}${String(number)}.sock`
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), name)
}

const temporaryName = (folder: string): string =>
  `context-ledger-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}-`

/** Takes away the sockets that owners up to `number`, which is ours, left. */
export async function sweepSockets(folder: string, number: number): Promise<void> {
  const old = (name: string): boolean => Number(SOCKET_FILE.exec(name)?.[1] ?? Infinity) <= number
  for (const [where, prefix] of [
    [join(folder, LOCK_NAME), ''],
    [tmpdir(), temporaryName(folder)],
  ] as const) {
    const names = await readdir(where).catch(() => [])
    for (const name of names)
      if (name.startsWith(prefix) && old(name.slice(prefix.length)))
        await rm(join(where, name), { force: true }).catch(none)
  }
}

const LOCK_FILE = /^(\d{1,15})(?:\.free)?$/
const DOUBT_FILE = /^(\d{1,15})\.doubt$/
const DRAFT = 'draft-'
/** So many locks stay behind the highest. */
const KEPT = 4

const Record = z.object({
  pid: z.number(),
  host: z.string(),
  /** When the process started, for people. */
  startedAt: z.string(),
  command: z.string(),
  /**
   * Start of the process in ticks since the machine started: a pid is given again, the two together are not. Linux
   * alone tells.
   */
  startTicks: z.string().optional(),
  /** Which run of the machine, and whose pids: a container counts its own. Linux alone tells. */
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
  /** Where it serves readers; a program of an earlier version does not. */
  socket: z.string().optional(),
})
type Record = z.infer<typeof Record>

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    if (!(await stat(folder)).isDirectory()) throw new StoreError('FolderUnusable', `${folder} is no folder`)
  } catch (error) {
    throw error instanceof StoreError ? error : unusable(folder, error)
  }
}

async function highestLock(locks: string): Promise<number> {
  const names = await readdir(locks)
  return Math.max(0, ...names.map((name) => Number(LOCK_FILE.exec(name)?.[1] ?? 0)))
}

async function isFree(locks: string, number: number): Promise<boolean> {
  return await stat(join(locks, `${String(number)}.free`)).then(
    () => true,
    () => false,
  )
}

/**
 * Creates the file with its content in one step, so that nobody ever reads half a record; false where the number was
 * taken.
 */
async function createLock(locks: string, number: number, record: Record): Promise<boolean> {
  const draft = join(locks, DRAFT + randomUUID())
  try {
    await writeFile(draft, JSON.stringify(record))
    await link(draft, join(locks, String(number)))
    return true
  } catch (error) {
    const code = codeOf(error)
    // ENOENT: the one who took the lock swept our draft away.
    if (code === 'EEXIST' || code === 'ENOENT') return false
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error
    // A file system without hard links (exFAT, some shares). Who reads between creating and writing waits for the rest.
    return await writeFile(join(locks, String(number)), JSON.stringify(record), { flag: 'wx' }).then(
      () => true,
      (failure: unknown) => {
        if (codeOf(failure) === 'EEXIST') return false
        throw failure
      },
    )
  } finally {
    await rm(draft, { force: true })
  }
}

/**
 * The record in a lock's file; `'gone'` where a later lock has replaced it, `undefined` where it is none (a power cut
 * leaves files empty).
 */
async function readRecord(file: string): Promise<Record | 'gone' | undefined> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    })
    if (text === undefined) return 'gone'
    const record = parseRecord(text)
    if (record !== undefined) return record
    // Being written at this moment, on a file system without hard links.
    await delay(50)
  }
  return undefined
}

function parseRecord(text: string): Record | undefined {
  try {
    return Record.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

const nameOf = (owner: Record): string =>
  `process ${String(owner.pid)} on ${owner.host} (${owner.command}), running since ${owner.startedAt}`

/**
 * How the owner of a lock ended: it is dead, it was quiet for long enough, or its lock is gone. Throws where it has the
 * folder open.
 */
async function ownerOf(
  folder: string,
  locks: string,
  number: number,
  { quietMs, onWait }: LockOptions & { readonly quietMs: number },
): Promise<'dead' | 'quiet' | 'gone'> {
  const file = join(locks, String(number))
  const owner = await readRecord(file)
  if (owner === 'gone') return 'gone'
  const whereabouts = owner === undefined ? 'unknown' : await whereIs(owner)
  if (whereabouts === 'dead') return 'dead'
  const isOpen = (who: string): StoreError =>
    new StoreError('FolderLocked', `${folder} is open in ${who}; one process at a time writes into a folder`)
  if (whereabouts === 'runs' && owner !== undefined)
    throw isOpen(isThisProcess(owner) ? 'this very process' : nameOf(owner))

  const who = owner === undefined ? `a process that ${file} does not name` : nameOf(owner)
  const first = await beatOf(file)
  onWait?.(
    `${folder} was last opened by ${who}, which cannot be asked from here: waiting up to ${String(Math.ceil(quietMs / 1_000))} s to see whether it still has it open`,
  )
  const until = performance.now() + quietMs
  while (performance.now() < until) {
    await delay(Math.min(quietMs / 40, 250))
    const beat = await beatOf(file)
    if (beat === undefined || (await isFree(locks, number)) || (await highestLock(locks)) > number) return 'gone'
    if (beat !== first) throw isOpen(owner !== undefined && isThisProcess(owner) ? 'this very process' : who)
  }
  return 'quiet'
}

const isThisProcess = (owner: Record): boolean => owner.pid === process.pid && owner.host === hostname()

/** When an owner last touched its file, as that file says: to be compared with nothing but itself. */
async function beatOf(file: string): Promise<number | undefined> {
  // Opened, because a network's file system then asks the server, where it may answer a mere look from memory.
  const opened = await open(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (opened === undefined) return undefined
  try {
    return (await opened.stat()).mtimeMs
  } finally {
    await opened.close()
  }
}

/** Whether the owner runs beside us, is dead for certain, or is out of our sight. */
async function whereIs(owner: Record): Promise<'runs' | 'dead' | 'unknown'> {
  const { bootId, pidNamespace } = await machine()
  const isBesideUs =
    process.platform === 'linux'
      ? bootId !== undefined &&
        pidNamespace !== undefined &&
        owner.bootId === bootId &&
        owner.pidNamespace === pidNamespace
      : owner.host === hostname()
  if (!isBesideUs) return 'unknown'
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return 'dead'
    // EPERM: it runs, as another user.
  }
  const { startTicks, ended } = await processStat(owner.pid)
  if (ended) return 'dead'
  // Where nothing tells when a process started, its id may have been given again since.
  if (owner.startTicks === undefined || startTicks === undefined) return 'unknown'
  return owner.startTicks === startTicks ? 'runs' : 'dead'
}

async function ownRecord(): Promise<Record> {
  const { bootId, pidNamespace } = await machine()
  const { startTicks } = await processStat(process.pid)
  return {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
    command: ownCommand(),
    startTicks,
    bootId,
    pidNamespace,
  }
}

/** The program and its words before the first option: options may hold keys. */
function ownCommand(): string {
  const [program = process.title, ...words] = process.argv.slice(1)
  const firstOption = words.findIndex((word) => word.startsWith('-'))
  return [basename(program), ...words.slice(0, firstOption === -1 ? 2 : Math.min(firstOption, 2))].join(' ')
}

async function machine(): Promise<{ bootId: string | undefined; pidNamespace: string | undefined }> {
  const [bootId, pidNamespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(none),
    readlink('/proc/self/ns/pid').catch(none),
  ])
  return { bootId: bootId?.trim(), pidNamespace }
}

/**
 * From `/proc`: when a process started, and whether it is one that has ended and waits for its parent to notice. Empty
 * where there is no `/proc`.
 */
async function processStat(pid: number): Promise<{ startTicks: string | undefined; ended: boolean }> {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(none)
  // The second field is the program's name in brackets and may hold blanks and brackets; the fields after it do not.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
  return { startTicks: fields?.[19], ended: fields?.[0] === 'Z' || fields?.[0] === 'X' }
}

/**
 * Takes away locks from long ago, and drafts: of processes that were killed while they wrote them, or that come too
 * late.
 */
async function sweep(locks: string, number: number): Promise<void> {
  for (const name of await readdir(locks)) {
    const old = Number(LOCK_FILE.exec(name)?.[1] ?? number) < number - KEPT
    if (old || name.startsWith(DRAFT)) await rm(join(locks, name), { force: true })
  }
}

const doubtOf = (locks: string, number: number): string => join(locks, `${String(number)}.doubt`)

async function doubtsBelow(locks: string, number: number): Promise<string[]> {
  return (await readdir(locks))
    .filter((name) => Number(DOUBT_FILE.exec(name)?.[1] ?? number) < number)
    .map((name) => join(locks, name))
}

/** Beats for the lock `number`, which this process has just taken. */
async function held(
  folder: string,
  locks: string,
  number: number,
  socket: string,
  { beatMs, quietMs }: { readonly beatMs: number; readonly quietMs: number },
): Promise<FolderLock> {
  const file = join(locks, String(number))
  const successor = join(locks, String(number + 1))
  const heart = startHeart(file, beatMs)
  const doubts = await doubtsBelow(locks, number)
  let released: Promise<void> | undefined

  async function release(): Promise<void> {
    await heart.stop()
    // Where even an empty file does not fit, or the folder was deleted: the process ends some time, and then the lock
    // is free by itself.
    await writeFile(`${file}.free`, '').catch(none)
  }

  function refuseWhereTaken(): void {
    // Our own file is swept away by later owners, and before the one of our successor.
    if (!existsSync(successor) && existsSync(file)) return
    throw new StoreError(
      'FolderTaken',
      `another process took ${folder} over while this one stood still; what this one did not acknowledge before is not in it. Open it again to go on`,
    )
  }

  return {
    number,
    isDoubtful: doubts.length > 0,
    socket,
    settle: async () => {
      for (const doubt of doubts) await rm(doubt, { force: true })
    },
    check() {
      refuseWhereTaken()
      if (released !== undefined || heart.quietForMs() <= quietMs / 2) return
      // This process stood still, or its thread could not touch the file. It may go on only as one whom others see.
      try {
        heart.beat()
      } catch (error) {
        throw unusable(folder, error)
      }
      refuseWhereTaken()
    },
    release: async () => {
      released ??= release()
      await released
    },
  }
}

interface Heart {
  beat(): void
  quietForMs(): number
  stop(): Promise<void>
}

/** Touches the file from a thread of its own, which the engine cannot block. */
function startHeart(file: string, beatMs: number): Heart {
  // Two clocks: the steady one stands still while a machine sleeps, and the other may be set.
  const times = new BigInt64Array(new SharedArrayBuffer(16))
  const beaten = (steady: bigint, wall: number): void => {
    Atomics.store(times, 0, steady)
    Atomics.store(times, 1, BigInt(wall))
  }
  beaten(process.hrtime.bigint(), Date.now())
  const thread = new Worker(HEART, {
    eval: true,
    workerData: { file, beatMs, times },
    execArgv: [],
    name: 'context-ledger lock',
  })
  // Without the thread the file is touched by `check`.
  thread.on('error', none)
  thread.unref()
  return {
    beat() {
      const [steady, wall] = [process.hrtime.bigint(), Date.now()]
      utimesSync(file, new Date(), new Date())
      beaten(steady, wall)
    },
    quietForMs: () =>
      Math.max(
        Number(process.hrtime.bigint() - Atomics.load(times, 0)) / 1e6,
        Date.now() - Number(Atomics.load(times, 1)),
      ),
    stop: async () => {
      await thread.terminate()
    },
  }
}

const HEART = `
  const { utimesSync } = require('node:fs')
  const { workerData: { file, beatMs, times } } = require('node:worker_threads')
  setInterval(() => {
    const steady = process.hrtime.bigint(), wall = BigInt(Date.now())
    try {
      utimesSync(file, new Date(), new Date())
      Atomics.store(times, 0, steady)
      Atomics.store(times, 1, wall)
    } catch {}
  }, beatMs)`

function none(): undefined {
  return undefined
}
