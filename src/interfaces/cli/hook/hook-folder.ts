/**
 * The private directory of hooks: waiting notes, the compactions that already have a note, and problems. Hooks must start
 * fast, so this module uses only Node.js, and synchronous calls.
 */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../../../lib/is-record.js'
import { isBelow } from '../../../lib/platform.js'
import { ownFolder } from '../../../lib/user-folders.js'
import { codeOf } from '../../../ports/store-error.js'

/** The path of the directory on this machine. */
export const defaultHookFolder = (): string => ownFolder('state', 'hooks')

/** Exists only while a note is being made or waits for its agent. Installed commands test this before they start Node.js. */
export const notesFolder = (folder: string): string => join(folder, 'notes')

/** A note in the making. */
export interface PendingNote {
  readonly agent: string
  readonly sessionId: string
  readonly transcript: string
  /** When the first hook reported the compaction: milliseconds since 1970. */
  readonly reportedAt: number
  /** The worker gives up then. */
  readonly until: number
  /** The process that makes the note. */
  readonly worker?: number
}

/** A problem of a hook. Its agent never sees it; `install` prints it. */
export interface HookProblem {
  readonly at: string
  readonly agent: string
  readonly problem: string
}

const MODE = { mode: 0o600 } as const
const DAY_MS = 86_400_000
const MOST_LOG_BYTES = 64_000

/** The name of a session's files. */
export const sessionKey = (agent: string, sessionId: string): string =>
  createHash('sha256').update(`${agent}\0${sessionId}`).digest('hex').slice(0, 32)

/** `note` waits, `held` waits until its compaction is known, `pending` is in the making, `ended` is an unread report. */
type SessionFile = 'note' | 'held' | 'pending' | 'ended'

const fileOf = (folder: string, key: string, kind: SessionFile): string => join(notesFolder(folder), `${key}.${kind}`)

/**
 * Creates a directory in the private one. Fails without the private one: after a removal, agents that are still running
 * call their hooks, which must not create it again.
 */
export function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** Reads a text; undefined if the file does not exist. */
function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** Replaces a file in one step, so that no reader sees half of it. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${String(process.pid)}`
  try {
    writeFileSync(draft, text, MODE)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** The note in the making of a session. Undefined if there is none. */
export function readPending(folder: string, key: string): PendingNote | undefined {
  const text = readIfPresent(fileOf(folder, key, 'pending'))
  const value: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!isRecord(value)) return undefined
  const { agent, sessionId, transcript, reportedAt, until, worker } = value
  if (typeof reportedAt !== 'number' || typeof until !== 'number') return undefined
  return {
    agent: String(agent),
    sessionId: String(sessionId),
    transcript: String(transcript),
    reportedAt,
    until,
    ...(typeof worker === 'number' ? { worker } : {}),
  }
}

/** Records that a note is being made, unless another process has done it. Returns whether it was this one. */
export function beginPending(folder: string, key: string, pending: PendingNote): boolean {
  createFolder(notesFolder(folder))
  try {
    writeFileSync(fileOf(folder, key, 'pending'), JSON.stringify(pending), { ...MODE, flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Replaces the record of a note in the making. */
export function writePending(folder: string, key: string, pending: PendingNote): void {
  createFolder(notesFolder(folder))
  replaceFile(fileOf(folder, key, 'pending'), JSON.stringify(pending))
}

/**
 * Records that a compaction has ended, before anything else: until the worker has read this report, no note is taken,
 * because one that waits may be the note of an earlier compaction.
 */
export function reportEnd(folder: string, key: string, transcript: string): void {
  createFolder(notesFolder(folder))
  replaceFile(fileOf(folder, key, 'ended'), transcript)
}

/** Whether an end was reported that no worker has read. */
export const hasUnreadEnd = (folder: string, key: string): boolean => existsSync(fileOf(folder, key, 'ended'))

/** Reads a report, and keeps a waiting note from its agent. Returns the transcript; undefined without a report. */
export function takeEnd(folder: string, key: string): string | undefined {
  if (!hasUnreadEnd(folder, key)) return undefined
  rename(folder, key, 'note', 'held')
  return takeFile(folder, key, 'ended')
}

/** Lets a note wait for its agent. It replaces an older one, which lacks the last compaction. */
export function writeNote(folder: string, key: string, note: string): void {
  createFolder(notesFolder(folder))
  replaceFile(fileOf(folder, key, 'note'), note)
}

/** Ends the making of a note. A held note stays held only if its compaction is not the last one: it is removed. */
export function endPending(folder: string, key: string): void {
  for (const kind of ['held', 'pending'] as const) rmSync(fileOf(folder, key, kind), { force: true })
  removeIfEmpty(notesFolder(folder))
}

/** Lets a held note wait for its agent again: the end of its compaction was reported. */
export function releaseNote(folder: string, key: string): void {
  rename(folder, key, 'held', 'note')
}

/** Removes the note of an earlier compaction. */
export function removeNote(folder: string, key: string): void {
  for (const kind of ['note', 'held'] as const) rmSync(fileOf(folder, key, kind), { force: true })
}

function rename(folder: string, key: string, from: SessionFile, to: SessionFile): void {
  try {
    renameSync(fileOf(folder, key, from), fileOf(folder, key, to))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** Removes all files of a session. */
export function forgetSession(folder: string, key: string): void {
  removeNote(folder, key)
  rmSync(fileOf(folder, key, 'ended'), { force: true })
  endPending(folder, key)
}

/** Takes the note of a session. Of several processes that take it at once, one gets it. */
export function takeNote(folder: string, key: string): string | undefined {
  if (hasUnreadEnd(folder, key)) return undefined
  const note = takeFile(folder, key, 'note')
  removeIfEmpty(notesFolder(folder))
  return note
}

/** Reads and removes a file. Of several processes, one gets its text. */
function takeFile(folder: string, key: string, kind: SessionFile): string | undefined {
  const owned = join(notesFolder(folder), `${key}.${kind}-${String(process.pid)}`)
  try {
    renameSync(fileOf(folder, key, kind), owned)
  } catch {
    return undefined
  }
  const text = readFileSync(owned, 'utf8')
  rmSync(owned)
  return text
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // It has other files, or does not exist.
  }
}

/** The directory of exports of a program without transcript files. They are deleted after the import. */
const exportsFolder = (folder: string): string => join(folder, 'exports')

/** Removes the export of a session; a transcript of the program stays. */
export function removeExport(folder: string, transcript: string): void {
  if (isBelow(transcript, exportsFolder(folder))) rmSync(transcript, { force: true })
}

/** Removes all exports of a session, also those of a process that was killed. */
export function removeExportsOf(folder: string, sessionId: string): void {
  for (const name of existsSync(exportsFolder(folder)) ? readdirSync(exportsFolder(folder)) : [])
    if (name.startsWith(`${sessionId}.`)) rmSync(join(exportsFolder(folder), name), { force: true })
}

/** Deletes notes and exports older than a day: their sessions have ended. */
export function deleteOldFiles(folder: string, now: number): void {
  for (const each of [notesFolder(folder), exportsFolder(folder)])
    try {
      for (const name of readdirSync(each)) {
        const file = join(each, name)
        if (now - statSync(file).mtimeMs > DAY_MS) rmSync(file, { force: true })
      }
      removeIfEmpty(each)
    } catch {
      // It does not exist, or another hook has deleted the files.
    }
}

/** The last compaction of a session for which a note was made, by the program's own id. Undefined if there is none. */
export const lastNoted = (folder: string, key: string): string | undefined => readIfPresent(join(folder, 'noted', key))

/** Records that a note was made for a compaction, so that there is no second one. */
export function writeNoted(folder: string, key: string, compactionId: string): void {
  createFolder(join(folder, 'noted'))
  replaceFile(join(folder, 'noted', key), compactionId)
}

const logOf = (folder: string): string => join(folder, 'problems.jsonl')

/** Records a problem. Never throws, and does nothing without the private directory. */
export function logProblem(folder: string, agent: string, error: unknown): void {
  try {
    const log = logOf(folder)
    const problem: HookProblem = {
      at: new Date().toISOString(),
      agent,
      problem: error instanceof Error ? error.message : String(error),
    }
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > MOST_LOG_BYTES) renameSync(log, `${log}.old`)
    appendFileSync(log, `${JSON.stringify(problem)}\n`, MODE)
  } catch {
    // The agent continues without a note.
  }
}

/** The last problem of an agent's hooks. */
export function lastProblem(folder: string, agent: string): HookProblem | undefined {
  const lines = (readIfPresent(logOf(folder)) ?? '').split('\n').filter((line) => line !== '')
  return lines
    .flatMap((line) => {
      try {
        const value: unknown = JSON.parse(line)
        return isRecord(value)
          ? [{ at: String(value['at']), agent: String(value['agent']), problem: String(value['problem']) }]
          : []
      } catch {
        return []
      }
    })
    .findLast((problem) => problem.agent === agent)
}
