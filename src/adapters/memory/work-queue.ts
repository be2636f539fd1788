/**
 * The work queue in memory, for tests and for a process that has a folder open alone.
 */
import type { Clock } from '../../ports/clock.js'
import type { LogCheckpoint, QueueStatus, Work, WorkQueue } from '../../ports/work-queue.js'

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

/** The free row to take first: one that is ready, then of the backlog, then one with news that is not ready. */
const nextRow = (free: readonly Row[], ready: (row: Row) => boolean): Row | undefined =>
  free.filter((row) => ready(row) && !row.isBacklog).toSorted((a, b) => a.readyAt - b.readyAt)[0] ??
  free.findLast((row) => row.isBacklog) ??
  free.find((row) => row.noted > row.looked)

function statusOf(rows: readonly Row[], at: number): QueueStatus {
  const free = rows.filter((row) => row.lease === undefined || row.leaseUntil <= at)
  const waiting = free.filter((row) => row.readyAt <= at).length
  return { waiting, running: rows.length - free.length, resting: free.length - waiting }
}

/** Creates an empty queue; leases expire by `clock`. */
export function createMemoryWorkQueue(clock: Clock): WorkQueue {
  // A map keeps the order of insertion; a row that is put back goes to the end.
  const rows = new Map<string, Row>()
  let checkpoint: LogCheckpoint | undefined
  let leases = 0

  const now = (): number => clock.now().getTime()
  const leasedRow = (work: Work): Row | undefined => {
    const row = rows.get(work.conversationId)
    return row?.lease === work.lease ? row : undefined
  }
  const putBack = (row: Row, changes: Partial<Row>): void => {
    rows.delete(row.conversationId)
    rows.set(row.conversationId, { ...row, lease: undefined, isBacklog: false, ...changes })
  }

  const note = (conversationId: string, isBacklog: boolean): void => {
    const row = rows.get(conversationId)
    if (row === undefined)
      rows.set(conversationId, {
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
      rows.delete(conversationId)
      rows.set(conversationId, { ...row, noted: row.noted + 1 })
    }
  }

  return {
    async checkpoint() {
      return checkpoint
    },
    async note(conversationIds, move) {
      if (move !== undefined) {
        if (checkpoint?.position !== move.from?.position || checkpoint?.eventId !== move.from?.eventId) return false
        checkpoint = move.to
      }
      for (const conversationId of conversationIds) note(conversationId, false)
      return true
    },
    async noteBacklog(conversationIds) {
      for (const conversationId of conversationIds) note(conversationId, true)
    },
    async take({ leaseMs, except, tokensPerDay }) {
      const at = now()
      const ready = (row: Row): boolean =>
        row.readyAt <= at ||
        (row.tokensPerDay !== undefined && (tokensPerDay === undefined || tokensPerDay > row.tokensPerDay))
      const row = nextRow(
        [...rows.values()].filter(
          (one) => (one.lease === undefined || one.leaseUntil <= at) && !except.includes(one.conversationId),
        ),
        ready,
      )
      if (row === undefined) return undefined
      row.lease = String((leases += 1))
      row.leaseUntil = at + leaseMs
      row.looked = row.noted
      return { conversationId: row.conversationId, lease: row.lease, failures: row.failures, resting: !ready(row) }
    },
    async extend(work, leaseMs) {
      const row = leasedRow(work)
      if (row !== undefined) row.leaseUntil = now() + leaseMs
      return row !== undefined
    },
    async finish(work) {
      const row = leasedRow(work)
      if (row === undefined) return
      if (row.noted === row.looked) rows.delete(row.conversationId)
      else putBack(row, { failures: 0, tokensPerDay: undefined, readyAt: READY })
    },
    async backOff(work, { ms, failures, tokensPerDay }) {
      const row = leasedRow(work)
      if (row !== undefined) putBack(row, { readyAt: now() + ms, failures, tokensPerDay })
    },
    async release(work) {
      const row = leasedRow(work)
      if (row !== undefined) putBack(row, {})
    },
    async status() {
      return statusOf([...rows.values()], now())
    },
  }
}
