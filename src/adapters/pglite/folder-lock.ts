/**
 * A folder is open in one process at a time. PGlite itself has no such lock, and two processes on one folder lose acknowledged events without an error.
 *
 * Below `lock/` lie files named by numbers, each says who took the folder with it, and the highest counts. `<number>.free` beside it says that it was
 * given back (an empty file, because a full disk still takes one). Who wants the folder creates the next number, which the file system lets
 * exactly one process do. Only a process that is dead loses its lock, never one that is merely old or slow: time plays no part, where libraries
 * that go by a file's age would take the folder from a process that was suspended.
 */
import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { codeOf, sentenceOf, StoreError } from '../store-error.js'

export interface FolderLock {
  /** Lets others have the folder. Twice is once. */
  release(): Promise<void>
}

/** The one name that the lock uses in a folder. */
export const LOCK_NAME = 'lock'

/** Takes the folder for this process, making it where it is missing; throws a `StoreError` that says who has it or what is wrong with it. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const locks = join(folder, LOCK_NAME)
  await makeFolder(folder)
  const mine = await ownRecord()
  try {
    await mkdir(locks, { recursive: true })
    for (;;) {
      const highest = await highestLock(locks)
      if (highest > 0 && !(await isFree(locks, highest))) await refuseWhereHeld(folder, join(locks, String(highest)))
      const number = highest + 1
      if (!(await createLock(locks, number, mine))) continue
      // A number is swept away only when several higher ones are there. A process that stood still so long, between looking and creating,
      // that its number was free once more sees them now.
      if ((await highestLock(locks)) > number) {
        await rm(join(locks, String(number)), { force: true })
        continue
      }
      await sweep(locks, number)
      return { release: () => release(locks, number) }
    }
  } catch (error) {
    throw error instanceof StoreError ? error : unusable(folder, error)
  }
}

/** What a failure of the file system means for who wanted to open `folder`. */
export function unusable(folder: string, error: unknown): StoreError {
  const code = codeOf(error) ?? ''
  if (['ENOSPC', 'EDQUOT'].includes(code)) return new StoreError('DiskFull', `there is no space left for ${folder}`, error)
  if (['ENOTDIR', 'EEXIST'].includes(code)) return new StoreError('FolderUnusable', `${folder} is no folder`, error)
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return new StoreError('FolderUnusable', `${folder} may not be written by this process`, error)
  return new StoreError('FolderUnusable', `${folder} cannot be used: ${sentenceOf(error)}`, error)
}

const LOCK_FILE = /^(\d{1,15})(?:\.free)?$/
const DRAFT = 'draft-'
/** So many locks stay behind the highest. */
const KEPT = 4

const Record = z.object({
  pid: z.number(),
  host: z.string(),
  /** When the process started, for people. */
  startedAt: z.string(),
  command: z.string(),
  /** Start of the process in ticks since the machine started: a pid is given again, the two together are not. Linux alone tells. */
  startTicks: z.string().optional(),
  /** Which run of the machine, and whose pids: a container counts its own. Linux alone tells. */
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
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

/** Creates the file with its content in one step, so that nobody ever reads half a record; false where the number was taken. */
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

/** The record in a lock's file; `'gone'` where a later lock has replaced it. */
async function readRecord(file: string): Promise<Record | 'gone'> {
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
  throw new StoreError('FolderLocked', `${file} does not say who has the folder open; if no process has, delete that file`)
}

function parseRecord(text: string): Record | undefined {
  try {
    return Record.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

async function refuseWhereHeld(folder: string, file: string): Promise<void> {
  const owner = await readRecord(file)
  const where = owner === 'gone' ? 'nowhere' : await whereIs(owner)
  if (owner === 'gone' || where === 'nowhere') return
  const who = `process ${String(owner.pid)} on ${owner.host} (${owner.command}), running since ${owner.startedAt}`
  throw new StoreError(
    'FolderLocked',
    where === 'here'
      ? `${folder} is open in ${owner.pid === process.pid ? 'this very process' : who}; one process at a time has a folder open`
      : `${folder} was opened by ${who}, which cannot be seen from here; if it has ended, delete ${file}`,
  )
}

/** Whether the owner runs here, runs no more, or belongs to another machine or container, of which we cannot tell. */
async function whereIs(owner: Record): Promise<'here' | 'nowhere' | 'elsewhere'> {
  if (owner.host !== hostname()) return 'elsewhere'
  const { bootId, pidNamespace } = await machine()
  // The machine was started anew, and nothing from before runs any more.
  if (owner.bootId !== undefined && bootId !== undefined && owner.bootId !== bootId) return 'nowhere'
  if (owner.pidNamespace !== pidNamespace) return 'elsewhere'
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return 'nowhere'
    // EPERM: it runs, as another user.
  }
  const { startTicks, ended } = await processStat(owner.pid)
  if (ended) return 'nowhere'
  return owner.startTicks !== undefined && startTicks !== undefined && owner.startTicks !== startTicks ? 'nowhere' : 'here'
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

/** From `/proc`: when a process started, and whether it is one that has ended and waits for its parent to notice. Empty where there is no `/proc`. */
async function processStat(pid: number): Promise<{ startTicks: string | undefined; ended: boolean }> {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(none)
  // The second field is the program's name in brackets and may hold blanks and brackets; the fields after it do not.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
  return { startTicks: fields?.[19], ended: fields?.[0] === 'Z' || fields?.[0] === 'X' }
}

/** Takes away locks from long ago, and drafts: of processes that were killed while they wrote them, or that come too late. */
async function sweep(locks: string, number: number): Promise<void> {
  for (const name of await readdir(locks)) {
    const old = Number(LOCK_FILE.exec(name)?.[1] ?? number) < number - KEPT
    if (old || name.startsWith(DRAFT)) await rm(join(locks, name), { force: true })
  }
}

async function release(locks: string, number: number): Promise<void> {
  // Where even an empty file does not fit, or the folder was deleted: the process ends some time, and then the lock is free by itself.
  await writeFile(join(locks, `${String(number)}.free`), '').catch(none)
}

function none(): undefined {
  return undefined
}
