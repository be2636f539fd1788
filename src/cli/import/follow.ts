/**
 * Keeps up with transcripts that grow or appear. The file system says that something changed, and a look at all of them
 * now and then finds what it did not say. Of a file of lines that grew, only what was appended is read; one that was
 * rotated, truncated or written anew is read whole. What is recorded is known by the program's ids: so neither a
 * rotation nor a truncation nor the end of this process in the middle loses or doubles anything.
 */
import { watch, type FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import { recognizeTranscript, type RecognizedTranscript } from '../../importers/index.js'
import type { Ledger } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { sentenceOf } from '../../ports/store-error.js'
import { line, note, noteColours, toJson } from '../output.js'
import { conversationLine } from './imported-transcript.js'
import { planImport, unlessGone, type PlannedFile } from './import-plan.js'

export interface FollowOptions {
  readonly from: string | undefined
  readonly scope: string | undefined
  readonly json: boolean
  /** How often all of it is looked at, whatever the file system says. */
  readonly pollMs: number
  readonly signal: AbortSignal
}

/** A file as it was at a look. */
interface Look {
  readonly inode: string
  readonly bytes: number
  readonly changedMs: number
}

/** A file as it was when it was imported last, and when it may be imported again. */
interface Seen extends Look {
  readonly notBefore: number
}

const lookAt = async (path: string): Promise<Look> => {
  const { dev, ino, size, mtimeMs } = await stat(path)
  return { inode: `${String(dev)}:${String(ino)}`, bytes: size, changedMs: mtimeMs }
}

const isSame = (one: Look, other: Look | undefined): boolean =>
  one.inode === other?.inode && one.bytes === other.bytes && one.changedMs === other.changedMs

/** Whose files are, read again only where they changed: a folder may hold thousands that do not. */
function createRecognizer() {
  const known = new Map<string, { readonly look: Look; readonly recognized: RecognizedTranscript | undefined }>()
  async function recognize(path: string): Promise<RecognizedTranscript | undefined> {
    const look = await lookAt(path)
    const before = known.get(path)
    if (before !== undefined && isSame(look, before.look)) return before.recognized
    // A log that grew is whose it was. Where it was written anew, the import notices.
    const grew = before?.recognized?.layout === 'lines' && look.inode === before.look.inode
    if (grew && look.bytes >= before.look.bytes) return before.recognized
    const recognized = await recognizeTranscript(path)
    known.set(path, { look, recognized })
    return recognized
  }
  /** Looks into the file again the next time. */
  const forget = (path: string): void => void known.delete(path)
  return { recognize, forget }
}

/** A file that is written to all the time is read so often that reading it takes at most a tenth of the time. */
const REST_FACTOR = 9
/** When something may be done again that was begun then and is done now. */
const restedAt = (begun: number): number => performance.now() + (performance.now() - begun) * REST_FACTOR
/** Changes that come together are one. */
const GATHER_MS = 100

/** Hears of changes from the file system. */
class Changes {
  private readonly watchers = new Map<string, FSWatcher>()
  /** Something changed since it was waited for last. */
  private happened = false
  private wake: () => void = () => undefined

  /** Watches these; one that cannot be watched is found by the looks in between. */
  watch(paths: readonly string[]): void {
    for (const path of paths) {
      if (this.watchers.has(path)) continue
      try {
        const watcher = watch(path, { recursive: true, persistent: false }, () => {
          this.happened = true
          this.wake()
        })
        // A folder that is gone is looked for again.
        watcher.on('error', () => {
          watcher.close()
          this.watchers.delete(path)
        })
        this.watchers.set(path, watcher)
      } catch {
        // It is not there, or its file system tells nothing: the looks in between find it.
      }
    }
  }

  /** Resolves behind a rest at the next change, after so many milliseconds, or when it is over. */
  async next(restMs: number, withinMs: number, signal: AbortSignal): Promise<void> {
    await this.pause(restMs, signal)
    if (!this.happened) await this.pause(withinMs, signal, (wake) => (this.wake = wake))
    this.wake = () => undefined
    if (this.happened) await this.pause(GATHER_MS, signal)
    this.happened = false
  }

  /** Resolves after so many milliseconds, when it is over, or when it is woken. */
  private async pause(ms: number, signal: AbortSignal, wakes?: (wake: () => void) => void): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done, { once: true })
      wakes?.(done)
    })
  }

  close(): void {
    for (const watcher of this.watchers.values()) watcher.close()
  }
}

/** Follows these paths until somebody ends it. */
export async function followTranscripts(
  ledger: Ledger,
  paths: readonly string[],
  { from, scope, json, pollMs, signal }: FollowOptions,
): Promise<void> {
  const seen = new Map<string, Seen>()
  /** What was told of a file, so that it is told once. */
  const told = new Map<string, string>()
  const changes = new Changes()
  const { recognize, forget } = createRecognizer()

  function tell(file: string, sentence: string): void {
    if (told.get(file) === sentence) return
    told.set(file, sentence)
    note(noteColours.yellow(`${file}: ${sentence}`))
  }

  /** The files that changed since they were imported, those that were written first before the others. */
  async function changed(): Promise<readonly { readonly file: PlannedFile; readonly look: Look }[]> {
    const files: PlannedFile[] = []
    for (const path of paths) {
      // What is not there yet has no files.
      if ((await stat(path).catch(() => undefined)) === undefined) continue
      try {
        files.push(...(await planImport([path], from, recognize)).files)
      } catch (error) {
        if ((await stat(path).catch(() => undefined)) !== undefined) tell(path, sentenceOf(error))
      }
    }
    const found: { readonly file: PlannedFile; readonly look: Look }[] = []
    for (const file of files) {
      if (file.program === undefined) continue
      const now = await lookAt(file.path).catch(unlessGone)
      if (now === undefined) continue
      const look = { inode: now.inode, bytes: file.bytes, changedMs: file.changedMs }
      const before = seen.get(file.path)
      const isDue = before === undefined || performance.now() >= before.notBefore
      if (isDue && !isSame(look, before)) found.push({ file, look })
    }
    return found.toSorted((one, other) => one.look.changedMs - other.look.changedMs)
  }

  async function importChanged({ path, program }: PlannedFile, look: Look): Promise<void> {
    const begun = performance.now()
    try {
      const imported = await ledger.importTranscript(path, {
        ...(program === undefined ? {} : { from: program }),
        ...(scope === undefined ? {} : { scope }),
        resumable: true,
        signal,
      })
      told.delete(path)
      for (const each of imported.conversations) {
        const isNew = each.messages + each.compactions + each.withdrawn + each.edits + each.damaged > 0
        if (isNew) await line(json ? toJson(each) : conversationLine(each))
      }
    } catch (error) {
      if (signal.aborted) return
      // What one file says wrong holds no other one up; a ledger that cannot be written to does.
      if (error instanceof LedgerError && error.fault !== 'input' && error.fault !== 'state') throw error
      if ((await stat(path).catch(() => undefined)) !== undefined) tell(path, sentenceOf(error))
      // It may be another program's by now, or what stood in its way may be gone: it is tried again behind a rest.
      forget(path)
      seen.set(path, { ...look, bytes: -1, notBefore: restedAt(begun) })
      return
    }
    seen.set(path, { ...look, notBefore: restedAt(begun) })
  }

  try {
    while (!signal.aborted) {
      changes.watch(paths)
      const begun = performance.now()
      const files = await changed()
      const lookedMs = performance.now() - begun
      for (const { file, look } of files) {
        if (signal.aborted) break
        await importChanged(file, look)
      }
      await changes.next(lookedMs * REST_FACTOR, pollMs, signal)
    }
  } finally {
    changes.close()
  }
}
