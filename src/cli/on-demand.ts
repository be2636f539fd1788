/**
 * A ledger for a process that may run for days and is asked now and then: opened by the first call that needs it, and
 * closed when nothing was asked for a while. A folder belongs to one process at a time, and others want it meanwhile. What
 * only reads goes beside a process that has the folder; what records has to have it.
 */
import { Mutex } from 'async-mutex'
import type { RecordedEvent } from '../domain/events/index.js'
import type { Ledger } from '../library/ledger.js'
import { COMPACT_CONTEXT, toolOf } from '../library/agent-tools.js'
import { kindOf } from '../library/problem.js'
import type { McpLedger } from '../mcp/tool.js'
import { MEMORY_READ } from '../search/read-memory.js'

/** How often a call is tried where the process that it goes by ends each time. */
const TRIES = 3

/** A ledger that is open, until it is let go. */
export interface Opened {
  readonly ledger: Ledger
  /** How long it stays open while nobody asks; `undefined` for one that nobody else waits for. */
  readonly idleMs: number | undefined
  readonly close: () => Promise<void>
}

/** What is open now. */
interface Current extends Opened {
  readonly writes: boolean
  users: number
  /** The process by way of which a folder was read has gone. */
  isLost?: boolean
  timer?: NodeJS.Timeout
}

/** A ledger that is open while it is used. */
export interface LedgerOnDemand {
  readonly ledger: McpLedger
  /** Waits for what is under way, and closes what is open. */
  readonly close: () => Promise<void>
}

/** Makes one; nothing is opened yet. */
export function ledgerOnDemand(
  open: (writes: boolean) => Promise<Opened>,
  onProblem: (problem: unknown) => void,
): LedgerOnDemand {
  const door = new Mutex()
  let current: Current | undefined
  let isIdle: () => void = () => undefined

  async function closeCurrent(): Promise<void> {
    const open_ = current
    if (open_ === undefined) return
    clearTimeout(open_.timer)
    if (open_.users > 0)
      await new Promise<void>((resolve) => {
        isIdle = resolve
      })
    current = undefined
    await open_.close()
  }

  async function taken(writes: boolean): Promise<Current> {
    return await door.runExclusive(async () => {
      if (current === undefined || current.isLost === true || (writes && !current.writes)) {
        await closeCurrent().catch(onProblem)
        current = { ...(await open(writes)), writes, users: 0 }
      }
      clearTimeout(current.timer)
      current.users += 1
      return current
    })
  }

  function released(used: Current): void {
    used.users -= 1
    if (used.users > 0) return
    isIdle()
    if (used.idleMs === undefined || used !== current) return
    used.timer = setTimeout(() => {
      door
        .runExclusive(async () => {
          if (used === current && used.users === 0) await closeCurrent()
        })
        .catch(onProblem)
    }, used.idleMs)
  }

  /** Whether the process by way of which a folder was read has gone: opened again, it is read all the same. */
  function isLost(used: Current, error: unknown): boolean {
    if (used.writes || used.idleMs === undefined || kindOf(error) !== 'StoreUnavailable') return false
    used.isLost = true
    return true
  }

  async function using<T>(writes: boolean, work: (ledger: Ledger) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const used = await taken(writes)
      try {
        return await work(used.ledger)
      } catch (error) {
        if (!isLost(used, error) || tries === TRIES) throw error
      } finally {
        released(used)
      }
    }
  }
  const reading = <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => using(false, work)
  const writing = <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => using(true, work)

  return {
    ledger: {
      context: (...given) => reading((ledger) => ledger.context(...given)),
      messages: (...given) => reading((ledger) => ledger.messages(...given)),
      diff: (...given) => reading((ledger) => ledger.diff(...given)),
      explain: (...given) => reading((ledger) => ledger.explain(...given)),
      forgotten: (...given) => reading((ledger) => ledger.forgotten(...given)),
      list: (...given) => reading((ledger) => ledger.list(...given)),
      search: (...given) => reading((ledger) => ledger.search(...given)),
      undo: (...given) => writing((ledger) => ledger.undo(...given)),
      pin: (...given) => writing((ledger) => ledger.pin(...given)),
      // Read to its end at once: half of it would be given twice where the process that it goes by ends meanwhile. Whoever
      // asks here asks for so many facts at most.
      async *log(...given) {
        yield* await reading(async (ledger) => {
          const events: RecordedEvent[] = []
          for await (const event of ledger.log(...given)) events.push(event)
          return events
        })
      },
      tools: (...given) => [
        {
          name: MEMORY_READ,
          call: (args) => reading((ledger) => toolOf(ledger.tools(...given), MEMORY_READ).call(args)),
        },
        {
          name: COMPACT_CONTEXT,
          call: (args) => writing((ledger) => toolOf(ledger.tools(...given), COMPACT_CONTEXT).call(args)),
        },
      ],
    },
    async close() {
      await door.runExclusive(closeCurrent)
    },
  }
}
