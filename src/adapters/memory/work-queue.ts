/**
 * The work queue in memory, for tests and for a process that has a folder open alone.
 */
import type { Clock } from '../../ports/clock.js'
import type { LogCheckpoint, Work, WorkQueue } from '../../ports/work-queue.js'

interface Row {
  readonly conversationId: string
  noted: number
  looked: number
  readyAt: number
  failures: number
  tokensPerDay: number | undefined
  lease: string | undefined
  leaseUntil: number
  isBacklog: boolean
}

/** Ready at any time, even if the clock is set back; ready rows are taken in the order of the map. */
const READY = 0

/** Creates an empty queue; leases expire by `clock`. */
export const createMemoryWorkQueue = (clock: Clock): WorkQueue => new MemoryWorkQueue(clock)

class MemoryWorkQueue implements WorkQueue {
  // A map keeps the order of insertion; a row that is put back goes to the end.
  readonly #rows = new Map<string, Row>()
  #checkpoint: LogCheckpoint | undefined
  #leases = 0

  constructor(private readonly clock: Clock) {}

  async checkpoint(): Promise<LogCheckpoint | undefined> {
    return this.#checkpoint
  }

  async note(...[conversationIds, move]: Parameters<WorkQueue['note']>): Promise<boolean> {
    if (move !== undefined) {
      const { position, eventId } = this.#checkpoint ?? {}
      if (position !== move.from?.position || eventId !== move.from?.eventId) return false
      this.#checkpoint = move.to
    }
    for (const conversationId of conversationIds) this.#noteOne(conversationId, false)
    return true
  }

  async noteBacklog(conversationIds: readonly string[]): Promise<void> {
    for (const conversationId of conversationIds) this.#noteOne(conversationId, true)
  }

  #noteOne(conversationId: string, isBacklog: boolean): void {
    const row = this.#rows.get(conversationId)
    if (row === undefined)
      this.#rows.set(conversationId, {
        conversationId,
        noted: 1,
        looked: 0,
        readyAt: READY,
        failures: 0,
        tokensPerDay: undefined,
        lease: undefined,
        leaseUntil: 0,
        isBacklog,
      })
    else if (!isBacklog) Object.assign(row, { noted: row.noted + 1, isBacklog })
    // To the end: the backlog is taken from there.
    else if (row.isBacklog) {
      this.#rows.delete(conversationId)
      this.#rows.set(conversationId, { ...row, noted: row.noted + 1 })
    }
  }

  async take({ leaseMs, except, tokensPerDay }: Parameters<WorkQueue['take']>[0]): ReturnType<WorkQueue['take']> {
    const at = this.#now()
    const free = [...this.#rows.values()].filter(
      (row) => (row.lease === undefined || row.leaseUntil <= at) && !except.includes(row.conversationId),
    )
    const ready = (row: Row): boolean =>
      row.readyAt <= at ||
      (row.tokensPerDay !== undefined && (tokensPerDay === undefined || tokensPerDay > row.tokensPerDay))
    const row =
      free.filter((one) => ready(one) && !one.isBacklog).toSorted((a, b) => a.readyAt - b.readyAt)[0] ??
      free.findLast((one) => one.isBacklog) ??
      free.find((one) => one.noted > one.looked)
    if (row === undefined) return undefined
    row.lease = String((this.#leases += 1))
    row.leaseUntil = at + leaseMs
    row.looked = row.noted
    return { conversationId: row.conversationId, lease: row.lease, failures: row.failures, resting: !ready(row) }
  }

  async extend(work: Work, leaseMs: number): Promise<boolean> {
    const row = this.#leased(work)
    if (row !== undefined) row.leaseUntil = this.#now() + leaseMs
    return row !== undefined
  }

  async finish(work: Work): Promise<void> {
    const row = this.#leased(work)
    if (row === undefined) return
    if (row.noted === row.looked) this.#rows.delete(row.conversationId)
    else this.#putBack(row, { failures: 0, tokensPerDay: undefined, readyAt: READY })
  }

  async backOff(work: Work, { ms, failures, tokensPerDay }: Parameters<WorkQueue['backOff']>[1]): Promise<void> {
    const row = this.#leased(work)
    if (row !== undefined) this.#putBack(row, { readyAt: this.#now() + ms, failures, tokensPerDay })
  }

  async release(work: Work): Promise<void> {
    const row = this.#leased(work)
    if (row !== undefined) this.#putBack(row, {})
  }

  async status(): ReturnType<WorkQueue['status']> {
    const at = this.#now()
    const all = [...this.#rows.values()]
    const running = all.filter((row) => row.lease !== undefined && row.leaseUntil > at)
    const free = all.filter((row) => !running.includes(row))
    return {
      waiting: free.filter((row) => row.readyAt <= at).length,
      running: running.length,
      resting: free.filter((row) => row.readyAt > at).length,
    }
  }

  #now(): number {
    return this.clock.now().getTime()
  }

  #leased(work: Work): Row | undefined {
    const row = this.#rows.get(work.conversationId)
    return row?.lease === work.lease ? row : undefined
  }

  #putBack(row: Row, changes: Partial<Row>): void {
    this.#rows.delete(row.conversationId)
    this.#rows.set(row.conversationId, { ...row, lease: undefined, isBacklog: false, ...changes })
  }
}
