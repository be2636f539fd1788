/**
 * Reads that see what the reader has to see: rows that have come to a position, or a log that has. A ledger sees at
 * least what was recorded through it.
 */
import type { ProjectionRunner } from '../../projections/engine/runner.js'
import type { RowsLag } from '../../projections/engine/watch.js'
import { conversationStream } from '../domain/values/ids.js'
import type { Within } from '../ports/archive-index.js'
import { sleep } from '../ports/clock.js'
import type { Gate } from './gate.js'
import type { WaitOptions } from './ledger-options.js'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'

/** How long to wait, and for which position; as the options of a call have it. */
export type Wait = { readonly [Name in keyof WaitOptions]?: WaitOptions[Name] | undefined }

export interface Freshness {
  /** Starts to follow the log if this process runs the projections. */
  readonly follow: () => void
  /** Notes what was recorded through this ledger. */
  readonly recordedHere: (recorded: { readonly position: number | undefined }) => void
  /**
   * Brings the rows to `waitFor` if it is given. Otherwise, if this process runs the projections, to the end of the
   * log, or to the last event of the one conversation that is read; else to this ledger's own last event.
   */
  readonly rows: (wait?: Wait, conversationId?: string) => Promise<void>
  /** Brings the rows to the end of the log, including events of other processes. */
  readonly rowsAtHead: () => Promise<void>
  /** Waits until the log itself includes a position: a replica of a server may lag its leader. */
  readonly log: (wait: Wait) => Promise<void>
  /** How far the rows lag. If this process runs the projections, they were just brought to the end of the log. */
  readonly behind: (within?: Within) => Promise<{ readonly behind?: RowsLag }>
}

/** Default wait of a reader for projections that another process runs. */
const WAIT_MS = 5_000
const HEAD_POLL_MS = 20

export function createFreshness({
  log,
  runner,
  gate,
  workers,
  readOnly,
}: Pick<LedgerParts, 'log' | 'workers' | 'readOnly'> & {
  readonly runner: ProjectionRunner
  readonly gate: Gate
}): Freshness {
  let following = false
  /** Position of the last fact that was recorded through this ledger. */
  let ownPosition = -1

  /** Waits until the rows show `position`, those of one conversation where it is named; throws where they do not. */
  async function rowsShow(position: number, timeoutMs: number, conversationId: string | undefined): Promise<void> {
    if (await runner.waitFor(position, timeoutMs, conversationId === undefined ? {} : { conversationId })) return
    const hint =
      readOnly?.keptBy !== undefined
        ? `; ${readOnly.keptBy} keeps them`
        : workers === 'elsewhere'
          ? '; is `context-ledger projections run` running?'
          : ''
    const missing =
      position < 0
        ? 'there are no read models yet, and none came'
        : 'the read models have not come to the position that the read waits for'
    throw problem({ kind: 'ProjectionsBehind', detail: `${missing} within ${String(timeoutMs)} ms${hint}` })
  }

  /** The position of the newest event of a conversation. A read of one conversation does not wait for the others. */
  async function newestPosition(conversationId: string): Promise<number> {
    const stream = conversationStream(conversationId)
    for await (const { position } of log.store.readStream(stream, { direction: 'backwards', limit: 1 })) return position
    return -1
  }

  async function rows(wait: Wait = {}, conversationId?: string): Promise<void> {
    gate.open()
    const { timeout: timeoutMs = WAIT_MS } = wait
    if (wait.waitFor !== undefined) await rowsShow(wait.waitFor, timeoutMs, conversationId)
    else if (workers === 'elsewhere') await rowsShow(ownPosition, timeoutMs, conversationId)
    else await runner.catchUp(conversationId === undefined ? undefined : await newestPosition(conversationId))
  }

  return {
    follow() {
      if (gate.isClosed() || following || workers === 'elsewhere') return
      following = true
      runner.start()
    },
    recordedHere({ position }) {
      if (position !== undefined && position > ownPosition) ownPosition = position
    },
    rows,
    async rowsAtHead() {
      gate.open()
      await rows(workers === 'elsewhere' ? { waitFor: await log.store.head() } : {})
    },
    async log(wait) {
      if (wait.waitFor === undefined) return
      const { timeout: timeoutMs = WAIT_MS } = wait
      const until = performance.now() + timeoutMs
      while ((await log.store.head()) < wait.waitFor) {
        if (performance.now() >= until)
          throw problem({
            kind: 'ProjectionsBehind',
            detail: `the log has not come to the position that the read waits for within ${String(timeoutMs)} ms`,
          })
        await sleep(HEAD_POLL_MS)
      }
    },
    async behind(within) {
      if (workers === 'inside') return {}
      const behind = await runner.behind(
        within !== undefined && 'conversationId' in within ? { conversationId: within.conversationId } : {},
      )
      return behind === undefined ? {} : { behind }
    },
  }
}
