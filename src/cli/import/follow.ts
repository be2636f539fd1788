/**
 * Keeps up with transcripts that grow or appear. The file system says that something changed, and a look at all of them
 * now and then finds what it did not say. A file that changed is imported again, and what is recorded is known by the
 * program's ids: so neither a rotation nor a truncation nor the end of this process in the middle loses or doubles
 * anything.
 */
import { watch, type FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Ledger } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { sentenceOf } from '../../ports/store-error.js'
import { InputError } from '../errors.js'
import { line, note, noteColours, toJson } from '../output.js'
import { conversationLine } from './imported-transcript.js'
import { planImport, type PlannedFile } from './import-plan.js'

export interface FollowOptions {
  readonly from: string | undefined
  readonly scope: string | undefined
  readonly json: boolean
  /** How often all of it is looked at, whatever the file system says. */
  readonly pollMs: number
  readonly signal: AbortSignal
}

/** How a file was when it was imported last, and when it may be imported again. */
interface Seen {
  readonly bytes: number
  readonly changedMs: number
  readonly notBefore: number
}

/** A file that is written to all the time is read so often that reading it takes at most a tenth of the time. */
const REST_FACTOR = 9
/** Changes that come together are one. */
const GATHER_MS = 100

/** Wakes whoever waits, when the file system tells of a change. */
class Changes {
  private readonly watchers = new Map<string, FSWatcher>()
  private wake: () => void = () => undefined

  /** Watches these; one that cannot be watched is found by the looks in between. */
  watch(paths: readonly string[]): void {
    for (const path of paths) {
      if (this.watchers.has(path)) continue
      try {
        const watcher = watch(path, { recursive: true, persistent: false }, () => {
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

  /** Resolves at the next change, after so many milliseconds, or when it is over. */
  async next(withinMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.wake = () => undefined
        resolve()
      }
      const timer = setTimeout(done, withinMs)
      signal.addEventListener('abort', done, { once: true })
      this.wake = () => {
        this.wake = () => undefined
        setTimeout(done, GATHER_MS)
      }
    })
  }

  close(): void {
    for (const watcher of this.watchers.values()) watcher.close()
  }
}

/** The files of these paths; what is not there yet has none. */
async function filesOf(paths: readonly string[], from: string | undefined): Promise<readonly PlannedFile[]> {
  const there: string[] = []
  for (const path of paths) if ((await stat(path).catch(() => undefined)) !== undefined) there.push(path)
  try {
    return (await planImport(there, from)).files
  } catch (error) {
    // A file that vanished between two looks is gone.
    if (error instanceof InputError) return []
    throw error
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

  function tell(file: string, sentence: string): void {
    if (told.get(file) === sentence) return
    told.set(file, sentence)
    note(noteColours.yellow(`${file}: ${sentence}`))
  }

  async function importChanged({ path, program }: PlannedFile): Promise<void> {
    const { size, mtimeMs } = await stat(path)
    const before = seen.get(path)
    const now = performance.now()
    if (before !== undefined && before.bytes === size && before.changedMs === mtimeMs) return
    if (before !== undefined && now < before.notBefore) return
    const imported = await ledger.importTranscript(path, {
      ...(program === undefined ? {} : { from: program }),
      ...(scope === undefined ? {} : { scope }),
      signal,
    })
    const took = performance.now() - now
    seen.set(path, { bytes: size, changedMs: mtimeMs, notBefore: performance.now() + took * REST_FACTOR })
    told.delete(path)
    for (const each of imported.conversations) {
      const isNew = each.messages + each.compactions + each.withdrawn + each.edits + each.damaged > 0
      if (isNew) await line(json ? toJson(each) : conversationLine(each))
    }
  }

  try {
    while (!signal.aborted) {
      changes.watch(paths)
      for (const file of await filesOf(paths, from)) {
        if (signal.aborted) break
        if (file.program === undefined) continue
        try {
          await importChanged(file)
        } catch (error) {
          if (signal.aborted) break
          // What one file says wrong holds no other one up; a ledger that cannot be written to does.
          if (error instanceof LedgerError && error.fault !== 'input' && error.fault !== 'state') throw error
          tell(file.path, sentenceOf(error))
        }
      }
      await changes.next(pollMs, signal)
    }
  } finally {
    changes.close()
  }
}
