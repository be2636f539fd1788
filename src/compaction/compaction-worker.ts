/**
 * The compaction worker: takes conversations from the queue, several concurrently, and compacts what is due or can be
 * done ahead of need. It runs inside a process that owns the log, woken by its appends, and in separate processes that
 * follow the log and share the queue. If a worker dies, another one takes over its expired leases and continues from
 * the recorded events.
 */
import { Mutex } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Provenance } from '../domain/events/codec.js'
import { triggerOf } from '../domain/compaction/plan.js'
import { backoffMs } from '../lib/backoff.js'
import { sleep, type Clock } from '../ports/clock.js'
import type { EventStore } from '../ports/event-store.js'
import { keepExtending } from '../ports/lease.js'
import type { LogCheckpoint, QueueStatus, Work, WorkQueue } from '../ports/work-queue.js'
import { isCompactionDue, type Compact, type CompactFailure, type CompactionRun } from './compact.js'
import { followLog } from './follow-log.js'
import { backoffAfter } from './backoff.js'

export interface CompactionWorkerOptions {
  readonly queue: WorkQueue
  readonly load: (conversationId: string) => Promise<Conversation>
  readonly compact: Compact
  readonly clock: Clock
  /** The maximum number of concurrent conversations. */
  readonly concurrency: number
  /** The log to follow. Without it, `wake` announces work. */
  readonly follow?: EventStore
  /**
   * True: a conversation whose compaction failed waits for a time that grows with each failure. False: it waits only
   * for further messages, so that the same appends always lead to the same events.
   */
  readonly backsOffByTime: boolean
  /** False: only work that a limit requires is done. Default true. */
  readonly ahead?: boolean
  /** Tokens that the worker may spend per day. Conversations that wait because of a lower limit are taken again. */
  readonly tokensPerDay?: number | undefined
  readonly leaseMs?: number
  /** The interval of looking for expired leases and ended waits. */
  readonly pollMs?: number
  readonly onCompaction?: (conversationId: string, run: CompactionRun) => void
  /**
   * Called with unexpected errors: a store that cannot be reached, an event that cannot be read. Without a
   * conversation: while following the log or taking work.
   */
  readonly onProblem?: (problem: unknown, conversationId?: string) => void
  readonly onOtherLog?: (checkpoint: LogCheckpoint) => void
}

export interface CompactionWorker {
  /** Starts to follow the log and to take work. */
  start(): void
  /** Announces a change of a conversation; with a provenance, for this request. */
  wake(conversationId: string, provenance?: Provenance): void
  /**
   * Resolves when no work of this conversation (or of any) is running or could be started; rejects if a run met an
   * unexpected error.
   */
  settled(conversationId?: string): Promise<void>
  /** Takes no more work, waits this long for running calls, then aborts them, and releases its leases. */
  stop(graceMs?: number): Promise<void>
  status(): Promise<QueueStatus>
}

/**
 * As long as the lease of a compaction: longer than a process blocks, and short enough to take over the work of a dead
 * one.
 */
const LEASE_MS = 15_000
const POLL_MS = 1_000
/** The wait if another process is compacting the conversation. */
const BUSY_MS = 1_000
/** The longest pause of all conversations after failures that affect every one. */
const LONGEST_OUTAGE_MS = 30_000
/** For a log or a database that cannot be reached. */
const BACKOFF = { firstMs: 500, mostMs: 30_000 }

/** The maximum number of requests that are remembered until their conversations run. */
const MAX_PENDING_REQUESTS = 10_000

/** Creates a worker. It is idle until `start` or `wake`. */
export function createCompactionWorker(options: CompactionWorkerOptions): CompactionWorker {
  const {
    queue,
    load,
    compact,
    clock,
    concurrency,
    follow,
    backsOffByTime,
    tokensPerDay,
    leaseMs = LEASE_MS,
    pollMs = POLL_MS,
  } = options
  const mode = options.ahead === false ? 'due' : 'ahead'
  const { onCompaction = () => undefined, onProblem = () => undefined, onOtherLog = () => undefined } = options
  const running = new Map<string, Promise<void>>()
  /** The callers that wait until all work is settled, with the errors that occurred meanwhile. */
  const settling = new Set<{ readonly conversationId: string | undefined; readonly errors: unknown[] }>()
  /** The request for the next run of each conversation. Another process may execute that run. */
  const requestOf = new LRUCache<string, Provenance>({ max: MAX_PENDING_REQUESTS })
  const ending = new AbortController()
  const aborting = new AbortController()
  let polling: NodeJS.Timeout | undefined
  let following: Promise<void> | undefined
  /** A summarizer that failed for every conversation is not called for the next one immediately. */
  let outage = { failures: 0, until: 0 }

  // --- One conversation ---

  const now = (): number => clock.now().getTime()

  /** Does the work of one conversation and returns when to look again; undefined if nothing is left. */
  async function compactOne(
    work: Work,
    goOn: () => boolean,
    provenance: Provenance | undefined,
  ): Promise<{ ms: number; failures: number; tokensPerDay?: number | undefined } | 'released' | undefined> {
    const state = await load(work.conversationId)
    const { signal } = aborting
    if (work.resting) {
      // It waits after a failure, but existing summaries may be used, and at the hard limit the fallback needs no
      // model.
      if (triggerOf(state) !== undefined)
        onCompaction(
          work.conversationId,
          await compact(work.conversationId, 'without-model', { signal, goOn, wait: false }),
        )
      return 'released'
    }
    if (!isCompactionDue(state, mode)) return undefined
    if (backsOffByTime && outage.until > now()) return { ms: outage.until - now(), failures: work.failures }
    const run = await compact(work.conversationId, mode, { signal, goOn, wait: !backsOffByTime, provenance })
    onCompaction(work.conversationId, run)
    const failure: CompactFailure | undefined = run.failure ?? run.fallbackFor
    if (run.busy === true) return { ms: BUSY_MS, failures: work.failures }
    if (run.postponedMs !== undefined) return { ms: run.postponedMs, failures: work.failures }
    if (!backsOffByTime) return undefined
    if (failure === undefined) {
      if (run.calls > 0) outage = { failures: 0, until: 0 }
      return undefined
    }
    // The log counts failures in a row, across workers; the queue counts errors that are not recorded.
    const failures = Math.max(work.failures, state.failures?.attempts ?? 0) + 1
    const backoff = backoffAfter(failure, failures, work.conversationId)
    if (backoff.everywhere)
      outage = {
        failures: outage.failures + 1,
        until: now() + Math.min(LONGEST_OUTAGE_MS, backoffAfter(failure, outage.failures + 1, '').ms),
      }
    const limited = failure.kind === 'SummarizerFailed' && failure.failure === 'limit-reached'
    return { ms: backoff.ms, failures, ...(limited ? { tokensPerDay } : {}) }
  }

  async function process(work: Work): Promise<void> {
    const extending = keepExtending(() => queue.extend(work, leaseMs), leaseMs)
    const provenance = requestOf.get(work.conversationId)
    requestOf.delete(work.conversationId)
    try {
      const next = await compactOne(work, () => !extending.lost.aborted && !ending.signal.aborted, provenance)
      if (next === undefined) await queue.finish(work)
      else if (next === 'released') await queue.release(work)
      else await queue.backOff(work, next)
    } catch (error) {
      onProblem(error, work.conversationId)
      for (const waiting of settling)
        if (waiting.conversationId === undefined || waiting.conversationId === work.conversationId)
          waiting.errors.push(error)
      const failures = work.failures + 1
      if (backsOffByTime)
        await queue
          .backOff(work, { ms: backoffAfter(undefined, failures, work.conversationId).ms, failures })
          .catch(() => undefined)
      else await queue.finish(work)
    } finally {
      await extending.end()
    }
  }

  // --- Taking work ---

  const taking = new Mutex()

  async function takeAll(): Promise<void> {
    while (!ending.signal.aborted && running.size < concurrency) {
      const work = await queue.take({ leaseMs, except: [...running.keys()], tokensPerDay })
      if (work === undefined) return
      const { conversationId } = work
      const done = process(work)
        .catch(onProblem)
        .finally(() => {
          running.delete(conversationId)
          pump()
        })
      running.set(conversationId, done)
    }
  }

  /** Takes available work, after running calls of this function. */
  function pump(before: () => Promise<unknown> = () => Promise.resolve()): void {
    void taking
      .runExclusive(async () => {
        await before()
        await takeAll()
      })
      .catch((error: unknown) => {
        onProblem(error)
      })
  }

  async function idle(conversationId: string | undefined): Promise<void> {
    for (;;) {
      await taking.waitForUnlock()
      const all = [...running.values()]
      const one = conversationId === undefined ? undefined : running.get(conversationId)
      if (one !== undefined) await one
      else if (conversationId === undefined && all.length > 0) await Promise.all(all)
      // If all slots are busy, it may wait for one.
      else if (conversationId !== undefined && all.length >= concurrency) await Promise.race(all)
      else return
    }
  }

  async function followOn(store: EventStore): Promise<void> {
    const { signal } = ending
    let failures = 0
    while (!signal.aborted) {
      try {
        await followLog({
          store,
          queue,
          signal,
          onOtherLog,
          onNoted: () => {
            failures = 0
            pump()
          },
        })
      } catch (error) {
        if (signal.aborted) return
        onProblem(error)
        failures += 1
        await sleep(backoffMs(failures, BACKOFF), signal)
      }
    }
  }

  return {
    start() {
      if (ending.signal.aborted || polling !== undefined) return
      polling = setInterval(() => {
        pump()
      }, pollMs)
      pump()
      if (follow !== undefined) following = followOn(follow)
    },
    wake(conversationId, provenance) {
      if (ending.signal.aborted) return
      if (provenance !== undefined) requestOf.set(conversationId, provenance)
      pump(() => queue.note([conversationId]))
    },
    async settled(conversationId) {
      const waiting = { conversationId, errors: [] }
      settling.add(waiting)
      await idle(conversationId)
      settling.delete(waiting)
      const [error] = waiting.errors
      if (error !== undefined) throw error
    },
    async stop(graceMs = 0) {
      clearInterval(polling)
      ending.abort()
      const ended = Promise.all([following, taking.waitForUnlock()]).then(() => Promise.all(running.values()))
      if (running.size > 0 && graceMs > 0) await Promise.race([ended, sleep(graceMs, aborting.signal)])
      aborting.abort()
      await ended
    },
    status: () => queue.status(),
  }
}
