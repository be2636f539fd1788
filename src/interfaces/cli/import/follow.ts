/**
 * Imports transcripts as they grow or appear. File system events trigger an import, and a regular scan finds changes
 * without an event. If a file of lines has grown, only the new lines are read; a rotated, truncated or rewritten file
 * is read completely. Messages are recognized by the ids of the program, so rotation, truncation or an interrupted
 * import neither loses nor duplicates messages.
 */
import { isLedgerError } from '../../../lib/ledger-error.js'
import { watch, type FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import { recognizeTranscript, type RecognizedTranscript } from '../../../application/importers/index.js'
import type { Ledger, Transcripts } from '../../../library/ledger.js'
import { titlesOf } from '../../../library/titles.js'

import { sentenceOf, isStoreError } from '../../../ports/store-error.js'
import { line, note, noteColours } from '../output.js'
import { pause } from '../pause.js'
import { toWire } from '../../../domain/values/revision.js'
import { conversationLine } from './imported-transcript.js'
import { planImport, ignoreRemoved, type PlannedFile } from './import-plan.js'

export interface FollowOptions {
  readonly from: string | undefined
  readonly scope: string | undefined
  readonly json: boolean
  /** Interval of the scans. */
  readonly pollMs: number
  readonly signal: AbortSignal
}

/** The state of a file in a scan. */
interface FileState {
  readonly inode: string
  readonly bytes: number
  readonly modifiedAtMs: number
}

/** The state of a file at its last import, and the earliest time of the next import. */
interface ImportedState extends FileState {
  readonly notBefore: number
}

const readState = async (path: string): Promise<FileState> => {
  const { dev, ino, size, mtimeMs } = await stat(path)
  return { inode: `${String(dev)}:${String(ino)}`, bytes: size, modifiedAtMs: mtimeMs }
}

const isSame = (one: FileState, other: FileState | undefined): boolean =>
  one.inode === other?.inode && one.bytes === other.bytes && one.modifiedAtMs === other.modifiedAtMs

/**
 * Recognizes the program of a file. Results are cached until the file changes, because a directory may have thousands
 * of unchanged files.
 */
function createRecognizer() {
  const known = new Map<string, { readonly state: FileState; readonly recognized: RecognizedTranscript | undefined }>()
  async function recognize(path: string): Promise<RecognizedTranscript | undefined> {
    const state = await readState(path)
    const before = known.get(path)
    if (before !== undefined && isSame(state, before.state)) return before.recognized
    // A file of lines that has grown belongs to the same program. If it was rewritten, the import detects it.
    const isSameFile = before?.recognized?.layout === 'lines' && state.inode === before.state.inode
    if (isSameFile && state.bytes >= before.state.bytes) return before.recognized
    const recognized = await recognizeTranscript(path)
    known.set(path, { state, recognized })
    return recognized
  }
  /** Removes the cached result. */
  const forget = (path: string): void => void known.delete(path)
  return { recognize, forget }
}

/** Pause after an import, as a multiple of its duration: a constantly written file uses at most a tenth of the time. */
const REST_FACTOR = 9
/** The earliest time of the next import of a file whose import started at `startedAt` and ends now. */
const nextImportAt = (startedAt: number): number => performance.now() + (performance.now() - startedAt) * REST_FACTOR
/** Changes within this time are handled together. */
const GATHER_MS = 100

/** Waits for changes in the file system. */
class Changes {
  private readonly watchers = new Map<string, FSWatcher>()
  /** True if something changed since the last wait. */
  private hasChanged = false
  private wake: () => void = () => undefined

  /** Watches the paths. Changes of a path that cannot be watched are found by the scans. */
  watch(paths: readonly string[]): void {
    for (const path of paths) {
      if (this.watchers.has(path)) continue
      try {
        const watcher = watch(path, { recursive: true, persistent: false }, () => {
          this.hasChanged = true
          this.wake()
        })
        // If the directory was removed, the next call watches it again.
        watcher.on('error', () => {
          watcher.close()
          this.watchers.delete(path)
        })
        this.watchers.set(path, watcher)
      } catch {
        // The path does not exist, or its file system has no events: the scans find its changes.
      }
    }
  }

  /** Pauses for `restMs`, then resolves at the next change, after `withinMs`, or when the signal is aborted. */
  async next(restMs: number, withinMs: number, signal: AbortSignal): Promise<void> {
    await pause(restMs, signal)
    if (!this.hasChanged) await pause(withinMs, signal, (wake) => (this.wake = wake))
    this.wake = () => undefined
    if (this.hasChanged) await pause(GATHER_MS, signal)
    this.hasChanged = false
  }

  close(): void {
    for (const watcher of this.watchers.values()) watcher.close()
  }
}

/** What follows transcripts: a ledger, or a queue for the ledger of a service. */
export interface FollowTarget extends Pick<Ledger, 'list'> {
  readonly transcripts: Pick<Transcripts, 'import'>
}

/** Follows the paths until the signal is aborted. */
export async function followTranscripts(
  ledger: FollowTarget,
  paths: readonly string[],
  { from, scope, json, pollMs, signal }: FollowOptions,
): Promise<void> {
  const imports = new Map<string, ImportedState>()
  /** The last warning for each file, so that it is printed once. */
  const warnings = new Map<string, string>()
  const changes = new Changes()
  const { recognize, forget } = createRecognizer()

  function warn(file: string, sentence: string): void {
    if (warnings.get(file) === sentence) return
    warnings.set(file, sentence)
    note(noteColours.yellow(`${file}: ${sentence}`))
  }

  /** The files that changed since their last import, oldest change first. */
  async function findChanged(): Promise<readonly { readonly file: PlannedFile; readonly state: FileState }[]> {
    const files: PlannedFile[] = []
    for (const path of paths) {
      // The path may not exist yet.
      if ((await stat(path).catch(() => undefined)) === undefined) continue
      try {
        files.push(...(await planImport([path], from, recognize)).files)
      } catch (error) {
        if ((await stat(path).catch(() => undefined)) !== undefined) warn(path, sentenceOf(error))
      }
    }
    const found: { readonly file: PlannedFile; readonly state: FileState }[] = []
    for (const file of files) {
      if (file.program === undefined) continue
      const now = await readState(file.path).catch(ignoreRemoved)
      if (now === undefined) continue
      const state = { inode: now.inode, bytes: file.bytes, modifiedAtMs: file.modifiedAtMs }
      const before = imports.get(file.path)
      const isDue = before === undefined || performance.now() >= before.notBefore
      if (isDue && !isSame(state, before)) found.push({ file, state })
    }
    return found.toSorted((one, other) => one.state.modifiedAtMs - other.state.modifiedAtMs)
  }

  async function importChanged({ path, program }: PlannedFile, state: FileState): Promise<void> {
    const startedAt = performance.now()
    try {
      const imported = await ledger.transcripts.import(path, {
        ...(program === undefined ? {} : { from: program }),
        ...(scope === undefined ? {} : { scope }),
        resumable: true,
        signal,
      })
      warnings.delete(path)
      for (const each of imported.conversations) {
        const isNew = each.messages + each.compactions + each.withdrawn + each.edits + each.damaged > 0
        if (!isNew) continue
        await line(json ? toWire(each) : conversationLine(each, await titlesOf(ledger, [each.conversationId])))
      }
    } catch (error) {
      if (signal.aborted) return
      // An invalid file does not stop the others; a ledger that cannot be written does.
      if (isLedgerError(error) && !isStoreError(error) && error.fault !== 'input' && error.fault !== 'state')
        throw error
      if ((await stat(path).catch(() => undefined)) !== undefined) warn(path, sentenceOf(error))
      // Retry after a pause: the file may belong to another program by now, or the cause may be fixed.
      forget(path)
      imports.set(path, { ...state, bytes: -1, notBefore: nextImportAt(startedAt) })
      return
    }
    imports.set(path, { ...state, notBefore: nextImportAt(startedAt) })
  }

  try {
    while (!signal.aborted) {
      changes.watch(paths)
      const startedAt = performance.now()
      const files = await findChanged()
      const scanMs = performance.now() - startedAt
      for (const { file, state } of files) {
        if (signal.aborted) break
        await importChanged(file, state)
      }
      await changes.next(scanMs * REST_FACTOR, pollMs, signal)
    }
  } finally {
    changes.close()
  }
}
