/** Waits until rows or log include a position, before a read. A ledger reads at least what was recorded through it. */
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
  readonly noteRecorded: (recorded: { readonly position: number | undefined }) => void
  /**
   * If this process runs the projections, waits until the log includes `waitFor`, if it is given, and brings the rows to
   * the end of the log, or to the last event of the one conversation that is read. If other processes run them, waits
   * until the rows include `waitFor`, or else this ledger's own last event.
   */
  readonly bringRows: (wait?: Wait, conversationId?: string) => Promise<void>
  /** Brings the rows to the end of the log, including events of other processes. */
  readonly bringRowsToHead: () => Promise<void>
  /** Waits until the log itself includes a position: a replica of a server may lag its leader. */
  readonly waitForLog: (wait: Wait) => Promise<void>
  /** How far the rows lag after `bringRows`: not at all if this process runs the projections. */
  readonly lagOfRows: (within?: Within) => Promise<{ readonly behind?: RowsLag }>
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
  /** Position of the last event that was recorded through this ledger. */
  let ownPosition = -1

  /** Waits until the rows, or those of one conversation, include `position`; throws if they do not in time. */
  async function waitForRows(position: number, timeoutMs: number, conversationId: string | undefined): Promise<void> {
    if (await runner.waitFor(position, timeoutMs, conversationId === undefined ? {} : { conversationId })) return
    const hint =
      readOnly?.keptBy === undefined ? 'is `context-ledger projections run` running?' : `${readOnly.keptBy} keeps them`
    const missing =
      position < 0
        ? 'there are no read models yet, and none came'
        : 'the read models have not come to the position that the read waits for'
    throw problem({ kind: 'ProjectionsBehind', detail: `${missing} within ${String(timeoutMs)} ms; ${hint}` })
  }

  /** The position of the newest event of a conversation. A read of one conversation does not wait for the others. */
  async function newestPosition(conversationId: string): Promise<number> {
    const stream = conversationStream(conversationId)
    for await (const { position } of log.store.readStream(stream, { direction: 'backwards', limit: 1 })) return position
    return -1
  }

  async function waitForLog({ waitFor, timeout: timeoutMs = WAIT_MS }: Wait): Promise<void> {
    if (waitFor === undefined) return
    const until = performance.now() + timeoutMs
    while ((await log.store.head()) < waitFor) {
      if (performance.now() >= until)
        throw problem({
          kind: 'ProjectionsBehind',
          detail: `the log has not come to the position that the read waits for within ${String(timeoutMs)} ms`,
        })
      await sleep(HEAD_POLL_MS)
    }
  }

  async function bringRows(wait: Wait = {}, conversationId?: string): Promise<void> {
    gate.open()
    if (workers === 'elsewhere') {
      await waitForRows(wait.waitFor ?? ownPosition, wait.timeout ?? WAIT_MS, conversationId)
      return
    }
    await waitForLog(wait)
    await runner.catchUp(conversationId === undefined ? undefined : await newestPosition(conversationId))
  }

  return {
    follow() {
      if (gate.isClosed() || following || workers === 'elsewhere') return
      following = true
      runner.start()
    },
    noteRecorded({ position }) {
      if (position !== undefined && position > ownPosition) ownPosition = position
    },
    bringRows,
    async bringRowsToHead() {
      gate.open()
      await bringRows(workers === 'elsewhere' ? { waitFor: await log.store.head() } : {})
    },
    waitForLog,
    async lagOfRows(within) {
      if (workers === 'inside') return {}
      const behind = await runner.behind(
        within !== undefined && 'conversationId' in within ? { conversationId: within.conversationId } : {},
      )
      return behind === undefined ? {} : { behind }
    },
  }
}
