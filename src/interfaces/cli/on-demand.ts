/**
 * A ledger for a process that runs for days and gets occasional calls. The first call opens the ledger, and an idle
 * time closes it, because a directory has one owner at a time and other processes need it too. A call that only reads
 * works while another process owns the directory; a call that records must own it.
 */
import { Mutex } from 'async-mutex'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { Ledger } from '../../library/ledger.js'
import { COMPACT_CONTEXT, toolOf } from '../../library/agent-tools.js'
import { kindOf } from '../../library/problem.js'
import type { McpLedger } from '../mcp/tool.js'
import { MEMORY_READ } from '../../application/search/read-memory.js'

/** Attempts per call, if the process that serves the read ends each time. */
const TRIES = 3

/** An open ledger. */
export interface Opened {
  readonly ledger: Ledger
  /** Idle time after which it is closed; `undefined` keeps it open, because no other process waits for it. */
  readonly idleMs: number | undefined
  readonly close: () => Promise<void>
}

/** The ledger that is open now. */
interface Current extends Opened {
  readonly writes: boolean
  users: number
  /** The process that served the reads has ended. */
  isLost?: boolean
  timer?: NodeJS.Timeout
}

export interface LedgerOnDemand {
  readonly ledger: McpLedger
  /** Waits for open calls and closes the ledger. */
  readonly close: () => Promise<void>
}

/** Creates the ledger without opening it. */
export function ledgerOnDemand(
  open: (writes: boolean) => Promise<Opened>,
  onProblem: (problem: unknown) => void,
): LedgerOnDemand {
  const mutex = new Mutex()
  let current: Current | undefined
  let onIdle: () => void = () => undefined

  async function closeCurrent(): Promise<void> {
    const closing = current
    if (closing === undefined) return
    clearTimeout(closing.timer)
    if (closing.users > 0)
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    current = undefined
    await closing.close()
  }

  async function acquire(writes: boolean): Promise<Current> {
    return await mutex.runExclusive(async () => {
      if (current === undefined || current.isLost === true || (writes && !current.writes)) {
        await closeCurrent().catch(onProblem)
        current = { ...(await open(writes)), writes, users: 0 }
      }
      clearTimeout(current.timer)
      current.users += 1
      return current
    })
  }

  function release(used: Current): void {
    used.users -= 1
    if (used.users > 0) return
    onIdle()
    if (used.idleMs === undefined || used !== current) return
    used.timer = setTimeout(() => {
      mutex
        .runExclusive(async () => {
          if (used === current && used.users === 0) await closeCurrent()
        })
        .catch(onProblem)
    }, used.idleMs)
  }

  /** Whether the process that served the reads has ended. If so, the ledger can be opened again. */
  function isLost(used: Current, error: unknown): boolean {
    if (used.writes || used.idleMs === undefined || kindOf(error) !== 'StoreUnavailable') return false
    used.isLost = true
    return true
  }

  async function withRetries<T>(writes: boolean, work: (ledger: Ledger) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const used = await acquire(writes)
      try {
        return await work(used.ledger)
      } catch (error) {
        if (!isLost(used, error) || tries === TRIES) throw error
      } finally {
        release(used)
      }
    }
  }
  const reading = <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => withRetries(false, work)
  const writing = <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => withRetries(true, work)

  return {
    ledger: {
      context: (...args) => reading((ledger) => ledger.context(...args)),
      messages: (...args) => reading((ledger) => ledger.messages(...args)),
      diff: (...args) => reading((ledger) => ledger.diff(...args)),
      explain: (...args) => reading((ledger) => ledger.explain(...args)),
      forgotten: (...args) => reading((ledger) => ledger.forgotten(...args)),
      recall: (...args) => reading((ledger) => ledger.recall(...args)),
      list: (...args) => reading((ledger) => ledger.list(...args)),
      search: (...args) => reading((ledger) => ledger.search(...args)),
      editions: { undo: (...args) => writing((ledger) => ledger.editions.undo(...args)) },
      // Buffers all events: if the serving process ended in the middle, a retry would return some events twice. Callers
      // set a limit on the number of events.
      async *log(...args) {
        yield* await reading(async (ledger) => {
          const events: RecordedEvent[] = []
          for await (const event of ledger.log(...args)) events.push(event)
          return events
        })
      },
      conversation: (...args) => {
        const call = (name: string) => (input: unknown) => (ledger: Ledger) =>
          toolOf(ledger.conversation(...args).tools.list, name).call(input)
        return {
          pin: (...pinned) => writing((ledger) => ledger.conversation(...args).pin(...pinned)),
          tools: {
            list: [
              { name: MEMORY_READ, call: (input) => reading(call(MEMORY_READ)(input)) },
              { name: COMPACT_CONTEXT, call: (input) => writing(call(COMPACT_CONTEXT)(input)) },
            ],
          },
        }
      },
    },
    async close() {
      await mutex.runExclusive(closeCurrent)
    },
  }
}
