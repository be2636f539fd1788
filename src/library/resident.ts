/**
 * The resident reader: a process that keeps a folder open after a command, so that later commands read it without
 * starting an engine. It owns the folder like any process, serves readers at its socket, and closes the folder when a
 * process asks for it, or after `IDLE_MS` without a reader.
 */
import { resolve } from 'node:path'
import { buildId } from '../lib/package-root.js'
import { hangUpSignals, onEndSignal } from '../lib/platform.js'
import type { Ledger } from './ledger.js'
import { evictResident, findOwner, openService, type FolderOwner } from './compose.js'

/** How long a resident reader stays without a reader. */
const IDLE_MS = 5 * 60_000
/** How long it lets connected readers finish when another process asks for the folder. */
const FINISH_MS = 1_000

/** The process that has a folder open; undefined if none has. */
export const ownerOf = async (store: string): Promise<FolderOwner | undefined> => await findOwner(resolve(store))

/** Ends the resident reader of a folder. Resolves to false if the folder has none. */
export async function stopResident(store: string): Promise<boolean> {
  const owner = await ownerOf(store)
  if (owner?.resident === undefined) return false
  return await evictResident(owner, async () => (await ownerOf(store))?.pid !== owner.pid)
}

/** Resolves at the end of the resident reader's work: a request for the folder, a signal, or `idleMs` without a reader. */
class Attendance {
  private count = 0
  private idle: NodeJS.Timeout | undefined
  // The sockets of readers do not keep the process alive.
  private readonly keepAlive = setInterval(() => undefined, IDLE_MS)
  private end: () => void = () => undefined
  private isYielding = false
  readonly ended = new Promise<void>((done) => {
    this.end = done
  })

  constructor(private readonly idleMs: number) {
    this.setReaders(0)
    const ignoreSignals = onEndSignal(() => {
      ignoreSignals()
      this.end()
    }, hangUpSignals())
  }

  setReaders(count: number): void {
    this.count = count
    clearTimeout(this.idle)
    if (count === 0) this.idle = setTimeout(this.end, this.idleMs)
    // The process that asks for the folder is connected too.
    if (this.isYielding && count <= 1) this.end()
  }

  close(): void {
    clearInterval(this.keepAlive)
    clearTimeout(this.idle)
  }

  yield(): void {
    this.isYielding = true
    setTimeout(this.end, FINISH_MS)
    this.setReaders(this.count)
  }
}

/** Counts what compactions lost where it is not counted yet: readers cannot cache their counts. Ends when the ledger is closed. */
async function countLost(ledger: Ledger): Promise<void> {
  const { conversations } = await ledger.list()
  for (const { conversationId, lost } of conversations) if (lost === undefined) await ledger.forgotten(conversationId)
}

/** Runs a command for another process. Resolves to its output, or to undefined if that process has to run it itself. */
export type RunCommand = (store: string, command: unknown, ledger: Ledger) => Promise<unknown>

/**
 * Serves readers of a folder and runs commands for them. Resolves after the folder is closed; immediately if another
 * process has it open. `onReady` is called when it serves.
 */
export async function runResident(
  store: string,
  {
    run,
    onReady = () => Promise.resolve(),
    idleMs = IDLE_MS,
  }: { readonly run: RunCommand; readonly onReady?: () => Promise<void>; readonly idleMs?: number },
): Promise<void> {
  if ((await ownerOf(store)) !== undefined) return
  const attendance = new Attendance(idleMs)
  const { ledger } = await openService(
    { store, ahead: false, onProblem: () => undefined },
    {
      resident: buildId(),
      onReaders: (count) => {
        attendance.setReaders(count)
      },
      onRun: async (command) => await run(store, command, ledger),
      onYield: () => {
        attendance.yield()
      },
    },
  )
  try {
    await ledger.admin.projections.catchUp()
    // A report that fails has another reader, which is told the reason.
    void countLost(ledger).catch(() => undefined)
    await onReady()
    await attendance.ended
  } finally {
    attendance.close()
    await ledger.close()
  }
}
