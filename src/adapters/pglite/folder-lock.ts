/**
 * The lock that keeps a folder open in one process at a time. PGlite has no such lock, and two processes on one folder
 * lose acknowledged events without an error.
 *
 * The folder `lock/` holds files named by numbers. Each records the process that took the folder; the highest number is
 * the current owner. The owner releases the lock by creating `<number>.free` (an empty file, because even a full disk
 * accepts one). A process takes the folder by creating the next number, which the file system allows exactly once.
 *
 * An owner may end without releasing the lock. If it ran in the same boot and pid namespace as this process, its pid
 * shows whether it is dead: such an owner loses its lock only when it is dead, never because it is old, slow or
 * suspended. For any other owner (another machine or container, or an earlier boot) only the heartbeat counts: the owner
 * touches its file every few seconds, from a thread, because the engine blocks the process for a whole query. The next
 * process watches the file by its own clock, and takes over if the file does not change for `takeoverMs`. That owner may
 * only be suspended and return later. So its successor creates `<number>.doubt` and works on a copy of the data, which
 * the old owner does not know (`sql.ts`); and the old owner looks for a successor after each statement, before it
 * acknowledges any write.
 *
 * The record also names the socket at which the owner serves readers (`serve-readers.ts`), and whether the owner is a
 * resident reader, which gives the folder to any process that asks (`resident.ts`).
 */
import { type LedgerError } from '../../lib/ledger-error.js'
import { hasPidNamespaces, socketAddress } from '../../lib/platform.js'
import { highestLock, isFree, isSocketOf, LOCK_FILE, LOCK_NAME } from '../../lib/lock-record.js'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { link, mkdir, open, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../ports/private-files.js'
import { codeOf, sentenceOf, isStoreError, storeError } from '../../ports/store-error.js'
import { evictResident } from './evict-resident.js'

export interface FolderLock {
  /** Counts up with each owner of the folder. */
  readonly number: number
  /** True if an earlier owner may return and write into the files that it has open. */
  readonly mayOwnerReturn: boolean
  /** The address at which this owner serves readers; readers find it in the lock's record. */
  readonly socket: string
  /** Removes the takeover marks. Called when the data is out of reach of every earlier owner. */
  clearTakeovers(): Promise<void>
  /** Throws if another process has taken over the folder because this one was suspended or could not write. */
  check(): void
  /** Releases the folder to other processes. Idempotent. */
  release(): Promise<void>
}

export interface LockOptions {
  /** The build of this program, if this process is a resident reader. */
  readonly resident?: string | undefined
  /** How often an owner touches its file. Default 2 s. */
  readonly beatMs?: number
  /** How long an owner out of reach must miss its heartbeat before another process takes over. Default 10 s. */
  readonly takeoverMs?: number
  /** Called with one sentence for people when opening has to wait. */
  readonly onWait?: (sentence: string) => void
}

const BEAT_MS = 2_000
const QUIET_MS = 10_000

/**
 * Takes the folder for this process and creates it if it is missing. Throws a `LedgerError` that names the owner, or the
 * reason that the folder cannot be used.
 */
export async function lockFolder(folder: string, options: LockOptions = {}): Promise<FolderLock> {
  const { beatMs = BEAT_MS, takeoverMs = QUIET_MS } = options
  const locks = join(folder, LOCK_NAME)
  await makeFolder(folder)
  const record = {
    ...(await recordOfThisProcess()),
    ...(options.resident === undefined ? {} : { resident: options.resident }),
  }
  try {
    await mkdir(locks, { recursive: true, mode: PRIVATE_FOLDER })
    for (;;) {
      const highest = await highestLock(locks)
      if (highest > 0 && !(await isFree(locks, highest))) {
        const end = await endOfOwner(folder, locks, highest, { ...options, takeoverMs })
        if (end === 'replaced') continue
        // Written before the lock, so that the mark remains if this process is killed between the two.
        if (end === 'unresponsive') await writeFile(takeoverMark(locks, highest), '', { mode: PRIVATE_FILE })
      }
      const number = highest + 1
      const socket = socketFor(folder, locks, number)
      if (!(await createLock(locks, number, { ...record, socket }))) continue
      // `sweep` removes a number only after several higher ones exist. If this process was suspended after it read
      // `highest` for so long that its number was swept, it sees the higher ones now.
      if ((await highestLock(locks)) > number) {
        await rm(join(locks, String(number)), { force: true })
        continue
      }
      await sweep(locks, number)
      return await holdLock(folder, locks, number, socket, { beatMs, takeoverMs })
    }
  } catch (error) {
    throw isStoreError(error) ? error : unusable(folder, error)
  }
}

/** The owner that a lock records, dead or alive, and the socket at which it serves readers. */
export interface FolderOwner {
  readonly name: string
  readonly pid: number
  readonly socket: string | undefined
  /** The build of the program, if the owner is a resident reader. */
  readonly resident: string | undefined
}

/** The owner in the newest lock; undefined if that lock was released or there is none. */
export async function findOwner(folder: string): Promise<FolderOwner | undefined> {
  const locks = join(folder, LOCK_NAME)
  const number = await highestLock(locks).catch(() => 0)
  return number === 0 || (await isFree(locks, number)) ? undefined : await ownerIn(locks, number)
}

async function ownerIn(locks: string, number: number): Promise<FolderOwner | undefined> {
  const file = join(locks, String(number))
  const [owner, { uid }] = await Promise.all([readRecord(file), stat(file)]).catch(
    () => [undefined, { uid: -1 }] as const,
  )
  if (owner === undefined || owner === 'replaced') return undefined
  const isOwnersSocket = owner.socket !== undefined && (await isSocketOf(owner.socket, uid))
  const { pid, socket, resident } = owner
  return { name: nameOf(owner), pid, socket: isOwnersSocket ? socket : undefined, resident }
}

/** A file-system error as the reason that `folder` cannot be opened. */
export function unusable(folder: string, error: unknown): LedgerError {
  const code = codeOf(error) ?? ''
  if (['ENOSPC', 'EDQUOT'].includes(code)) return storeError('DiskFull', `there is no space left for ${folder}`, error)
  if (['ENOTDIR', 'EEXIST'].includes(code)) return storeError('FolderUnusable', `${folder} is not a folder`, error)
  if (['EACCES', 'EPERM', 'EROFS'].includes(code))
    return storeError(
      'FolderUnusable',
      `this process has no permission to write to ${folder}, which is required even for reading: grant write access to its user, or name another folder`,
      error,
    )
  return storeError('FolderUnusable', `${folder} cannot be used: ${sentenceOf(error)}`, error)
}

const SOCKET_FILE = /^(\d{1,15})\.sock$/

/** The address for an owner's socket: in the lock's folder, or, if that path is too long, in the temporary folder. */
function socketFor(folder: string, locks: string, number: number): string {
  const name = `${temporaryName(folder)}${String(number)}.sock`
  return socketAddress(name, [join(locks, `${String(number)}.sock`), join(tmpdir(), name)])
}

const temporaryName = (folder: string): string =>
  `context-ledger-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}-`

/** Removes the sockets of earlier owners. `number` is the lock of this process. */
export function sweepSockets(folder: string, number: number): void {
  const isOld = (name: string): boolean => Number(SOCKET_FILE.exec(name)?.[1] ?? Infinity) <= number
  for (const [parent, prefix] of [
    [join(folder, LOCK_NAME), ''],
    [tmpdir(), temporaryName(folder)],
  ] as const) {
    // A socket that cannot be removed harms nobody: the next owner tries again.
    try {
      for (const name of readdirSync(parent))
        if (name.startsWith(prefix) && isOld(name.slice(prefix.length))) rmSync(join(parent, name), { force: true })
    } catch {
      continue
    }
  }
}

const TAKEOVER_MARK = /^(\d{1,15})\.doubt$/
const DRAFT = 'draft-'
/** Number of older locks that `sweep` keeps. */
const OLDER_LOCKS = 4

const Record = z.object({
  pid: z.number(),
  host: z.string(),
  /** Start of the process as a date, for messages. */
  startedAt: z.string(),
  command: z.string(),
  /**
   * Start of the process in ticks since the boot. The system reuses a pid, but not a pid with the same start. Linux
   * only.
   */
  startTicks: z.string().optional(),
  /** The boot and the pid namespace, which differs in each container. Linux only. */
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
  /** The address at which it serves readers; missing in the record of an earlier version. */
  socket: z.string().optional(),
  /** The build of the program, if the process is a resident reader. */
  resident: z.string().optional(),
})
type Record = z.infer<typeof Record>

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
    if (!(await stat(folder)).isDirectory()) throw storeError('FolderUnusable', `${folder} is not a folder`)
  } catch (error) {
    throw isStoreError(error) ? error : unusable(folder, error)
  }
}

/**
 * Creates the file and its content atomically, so that no process ever reads half a record. Returns false if the number
 * was taken.
 */
async function createLock(locks: string, number: number, record: Record): Promise<boolean> {
  const draft = join(locks, DRAFT + randomUUID())
  try {
    await writeFile(draft, JSON.stringify(record), { mode: PRIVATE_FILE })
    await link(draft, join(locks, String(number)))
    return true
  } catch (error) {
    const code = codeOf(error)
    // ENOENT: the process that took the lock swept our draft.
    if (code === 'EEXIST' || code === 'ENOENT') return false
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error
    // A file system without hard links (exFAT, some network shares). `readRecord` waits for a half-written record.
    return await writeFile(join(locks, String(number)), JSON.stringify(record), {
      flag: 'wx',
      mode: PRIVATE_FILE,
    }).then(
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
 * The record in a lock's file; `'replaced'` if a later owner swept the file, `undefined` if its content is not a record
 * (a power cut leaves files empty).
 */
async function readRecord(file: string): Promise<Record | 'replaced' | undefined> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    })
    if (text === undefined) return 'replaced'
    const record = parseRecord(text)
    if (record !== undefined) return record
    // On a file system without hard links, the owner may still be writing it.
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
 * How the owner of a lock ended: it is dead, its heartbeat stopped for `takeoverMs`, or it released the lock or lost it to
 * another process. Throws if the owner has the folder open.
 */
async function endOfOwner(
  folder: string,
  locks: string,
  number: number,
  { takeoverMs, onWait }: LockOptions & { readonly takeoverMs: number },
): Promise<'dead' | 'unresponsive' | 'replaced'> {
  const file = join(locks, String(number))
  const owner = await readRecord(file)
  if (owner === 'replaced') return 'replaced'
  const state = owner === undefined ? 'unknown' : await processStateOf(owner)
  if (state === 'dead') return 'dead'
  const folderLocked = (ownerName: string): LedgerError =>
    storeError('FolderLocked', `${folder} is open in ${ownerName}; only one process at a time can write to a folder`)
  if (state === 'runs' && owner?.resident !== undefined && !isThisProcess(owner)) {
    const isReleased = async (): Promise<boolean> =>
      (await isFree(locks, number)) || (await processStateOf(owner)) === 'dead'
    if (await evictResident((await ownerIn(locks, number)) ?? { pid: owner.pid, socket: undefined }, isReleased))
      return (await isFree(locks, number)) ? 'replaced' : 'dead'
  }
  if (state === 'runs' && owner !== undefined)
    throw folderLocked(isThisProcess(owner) ? 'this same process' : nameOf(owner))

  const ownerName = owner === undefined ? `an unknown process (${file} has no valid record)` : nameOf(owner)
  const first = await beatOf(file)
  onWait?.(
    `${folder} was last opened by ${ownerName}, which this process cannot check: waiting up to ${String(Math.ceil(takeoverMs / 1_000))} s to see whether it still has the folder open`,
  )
  const until = performance.now() + takeoverMs
  while (performance.now() < until) {
    await delay(Math.min(takeoverMs / 40, 250))
    const beat = await beatOf(file)
    if (beat === undefined || (await isFree(locks, number)) || (await highestLock(locks)) > number) return 'replaced'
    if (beat !== first)
      throw folderLocked(owner !== undefined && isThisProcess(owner) ? 'this same process' : ownerName)
  }
  return 'unresponsive'
}

const isThisProcess = (owner: Record): boolean => owner.pid === process.pid && owner.host === hostname()

/** Modification time of an owner's file, by the file system's clock: compare it only with an earlier result. */
async function beatOf(file: string): Promise<number | undefined> {
  // A network file system may answer `stat` from its cache; opening the file makes it ask the server.
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

/** Whether the owner runs or is dead; `'unknown'` if it has no pid that this process can check. */
async function processStateOf(owner: Record): Promise<'runs' | 'dead' | 'unknown'> {
  const { bootId, pidNamespace } = await machine()
  const hasOurPids = hasPidNamespaces()
    ? bootId !== undefined &&
      pidNamespace !== undefined &&
      owner.bootId === bootId &&
      owner.pidNamespace === pidNamespace
    : owner.host === hostname()
  if (!hasOurPids) return 'unknown'
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return 'dead'
    // EPERM: it runs, as another user.
  }
  const { startTicks, ended } = await processStat(owner.pid)
  if (ended) return 'dead'
  // Without the start of the process, the pid may belong to a later process.
  if (owner.startTicks === undefined || startTicks === undefined) return 'unknown'
  return owner.startTicks === startTicks ? 'runs' : 'dead'
}

async function recordOfThisProcess(): Promise<Record> {
  const { bootId, pidNamespace } = await machine()
  const { startTicks } = await processStat(process.pid)
  return {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
    command: commandOfThisProcess(),
    startTicks,
    bootId,
    pidNamespace,
  }
}

/** Names of the program of the command line, as it is installed and in a checkout. */
const OWN_PROGRAMS: ReadonlySet<string> = new Set(['context-ledger', 'main.js'])

/** The program, and the name of its command if it is the command line. Arguments may have private words or keys. */
function commandOfThisProcess(): string {
  const [program = process.title, command = ''] = process.argv.slice(1)
  const name = basename(program)
  return OWN_PROGRAMS.has(name) && /^[a-z][a-z-]*$/u.test(command) ? `${name} ${command}` : name
}

async function machine(): Promise<{ bootId: string | undefined; pidNamespace: string | undefined }> {
  const [bootId, pidNamespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(none),
    readlink('/proc/self/ns/pid').catch(none),
  ])
  return { bootId: bootId?.trim(), pidNamespace }
}

/**
 * From `/proc`: when a process started, and whether it is a zombie or dead. Returns no start if there is no `/proc`.
 */
async function processStat(pid: number): Promise<{ startTicks: string | undefined; ended: boolean }> {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(none)
  // The second field is the program's name in parentheses. It may contain blanks and parentheses; later fields do not.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
  return { startTicks: fields?.[19], ended: fields?.[0] === 'Z' || fields?.[0] === 'X' }
}

/** Removes old locks, and drafts of processes that were killed while they wrote them or that lost the race. */
async function sweep(locks: string, number: number): Promise<void> {
  for (const name of await readdir(locks)) {
    const isOld = Number(LOCK_FILE.exec(name)?.[1] ?? number) < number - OLDER_LOCKS
    if (isOld || name.startsWith(DRAFT)) await rm(join(locks, name), { force: true })
  }
}

/** The file which says that the lock `number` was taken over and its owner may return. */
const takeoverMark = (locks: string, number: number): string => join(locks, `${String(number)}.doubt`)

async function takeoverMarksBelow(locks: string, number: number): Promise<string[]> {
  return (await readdir(locks))
    .filter((name) => Number(TAKEOVER_MARK.exec(name)?.[1] ?? number) < number)
    .map((name) => join(locks, name))
}

/** Starts the heartbeat of the lock `number`, which this process has just taken. */
async function holdLock(
  folder: string,
  locks: string,
  number: number,
  socket: string,
  { beatMs, takeoverMs }: { readonly beatMs: number; readonly takeoverMs: number },
): Promise<FolderLock> {
  const file = join(locks, String(number))
  const successor = join(locks, String(number + 1))
  const heartbeat = startHeartbeat(file, beatMs)
  const marks = await takeoverMarksBelow(locks, number)
  let released: Promise<void> | undefined

  async function release(): Promise<void> {
    await heartbeat.stop()
    // This fails if the disk has no space even for an empty file, or the folder was deleted. The lock is then free when
    // this process ends.
    await writeFile(`${file}.free`, '', { mode: PRIVATE_FILE }).catch(none)
  }

  function throwIfTaken(): void {
    // Later owners sweep our file, and they sweep it before the file of our successor.
    if (!existsSync(successor) && existsSync(file)) return
    throw storeError(
      'FolderTaken',
      `another process took over ${folder} while this one was unresponsive; writes that were not acknowledged before are lost. Open the folder again to continue`,
    )
  }

  return {
    number,
    mayOwnerReturn: marks.length > 0,
    socket,
    clearTakeovers: async () => {
      for (const mark of marks) await rm(mark, { force: true })
    },
    check() {
      throwIfTaken()
      if (released !== undefined || heartbeat.msSinceBeat() <= takeoverMs / 2) return
      // This process was suspended, or its thread could not touch the file. It must beat before it continues.
      try {
        heartbeat.beat()
      } catch (error) {
        throw unusable(folder, error)
      }
      throwIfTaken()
    },
    release: async () => {
      released ??= release()
      await released
    },
  }
}

interface Heartbeat {
  beat(): void
  msSinceBeat(): number
  stop(): Promise<void>
}

/** Touches the file from a separate thread, which the engine cannot block. */
function startHeartbeat(file: string, beatMs: number): Heartbeat {
  // Two clocks: the monotonic one stops while the machine sleeps, and the wall clock may be set.
  const times = new BigInt64Array(new SharedArrayBuffer(16))
  const recordBeat = (steady: bigint, wall: number): void => {
    Atomics.store(times, 0, steady)
    Atomics.store(times, 1, BigInt(wall))
  }
  recordBeat(process.hrtime.bigint(), Date.now())
  const thread = new Worker(HEARTBEAT_SCRIPT, {
    eval: true,
    workerData: { file, beatMs, times },
    execArgv: [],
    name: 'context-ledger lock',
  })
  // If the thread fails, `check` touches the file.
  thread.on('error', none)
  thread.unref()
  return {
    beat() {
      const [steady, wall] = [process.hrtime.bigint(), Date.now()]
      utimesSync(file, new Date(), new Date())
      recordBeat(steady, wall)
    },
    msSinceBeat: () =>
      Math.max(
        Number(process.hrtime.bigint() - Atomics.load(times, 0)) / 1e6,
        Date.now() - Number(Atomics.load(times, 1)),
      ),
    stop: async () => {
      await thread.terminate()
    },
  }
}

const HEARTBEAT_SCRIPT = `
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
