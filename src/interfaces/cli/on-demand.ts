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
import { callByName, partOf } from '../../library/call-paths.js'
import { mcpCalls, type McpLedger } from '../mcp/mcp-ledger.js'
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
  const opening = new OpeningOnDemand(open, onProblem)
  const reading = <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => opening.withRetries(false, work)
  const writing = <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => opening.withRetries(true, work)

  return {
    ledger: {
      ...partOf(
        mcpCalls.map(({ name, writes }) => [
          name,
          (...args) => opening.withRetries(writes, async (ledger) => await callByName(ledger, name, args)),
        ]),
      ),
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
    close: () => opening.close(),
  }
}

/** Opens the ledger for its first user, and closes it after a time without one. */
export class OpeningOnDemand {
  readonly #mutex = new Mutex()
  #current: Current | undefined
  #onIdle: () => void = () => undefined

  constructor(
    private readonly open: (writes: boolean) => Promise<Opened>,
    private readonly onProblem: (problem: unknown) => void,
  ) {}

  async withRetries<T>(writes: boolean, work: (ledger: Ledger) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const used = await this.#acquire(writes)
      try {
        return await work(used.ledger)
      } catch (error) {
        if (!isLost(used, error) || tries === TRIES) throw error
      } finally {
        this.#release(used)
      }
    }
  }

  /** Waits for open calls and closes the ledger. */
  async close(): Promise<void> {
    await this.#mutex.runExclusive(() => this.#closeCurrent())
  }

  async #closeCurrent(): Promise<void> {
    const closing = this.#current
    if (closing === undefined) return
    clearTimeout(closing.timer)
    if (closing.users > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    this.#current = undefined
    await closing.close()
  }

  async #acquire(writes: boolean): Promise<Current> {
    return await this.#mutex.runExclusive(async () => {
      let current = this.#current
      if (current === undefined || current.isLost === true || (writes && !current.writes)) {
        await this.#closeCurrent().catch(this.onProblem)
        current = { ...(await this.open(writes)), writes, users: 0 }
        this.#current = current
      }
      clearTimeout(current.timer)
      current.users += 1
      return current
    })
  }

  #release(used: Current): void {
    used.users -= 1
    if (used.users > 0) return
    this.#onIdle()
    if (used.idleMs === undefined || used !== this.#current) return
    used.timer = setTimeout(() => {
      this.#mutex
        .runExclusive(async () => {
          if (used === this.#current && used.users === 0) await this.#closeCurrent()
        })
        .catch(this.onProblem)
    }, used.idleMs)
  }
}

/** Whether the process that served the reads has ended. If so, the ledger can be opened again. */
function isLost(used: Current, error: unknown): boolean {
  if (used.writes || used.idleMs === undefined || kindOf(error) !== 'StoreUnavailable') return false
  used.isLost = true
  return true
}
