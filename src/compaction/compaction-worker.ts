/**
 * The compaction worker: takes conversations from the queue, so many at once, and compacts what is due or can be done
 * ahead of need. The same code runs inside a process that has the log to itself, woken by its appends, and in processes
 * of its own that follow the log and share the queue. A worker that dies is followed by whoever finds its leases
 * expired; what it had recorded is taken up.
 */
import { Mutex } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Provenance } from '../domain/events/codec.js'
import { triggerOf } from '../domain/compaction/plan.js'
import { backoffMs } from '../ports/backoff.js'
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
  /** Conversations at once. */
  readonly concurrency: number
  /** The log to follow; without it, `wake` says what there is to do. */
  readonly follow?: EventStore
  /**
   * A conversation whose compaction failed rests, by the clock, longer after each failure. Without it a failure rests
   * until further messages came and no longer, so that the same appends always lead to the same facts.
   */
  readonly backsOffByTime: boolean
  /** False: only what a limit asks for is done. Default true. */
  readonly ahead?: boolean
  /** What the worker may spend a day; who rests because of a lower limit is taken again. */
  readonly tokensPerDay?: number | undefined
  readonly leaseMs?: number
  /** How often it looks for what others left: leases that ran out, rests that are over. */
  readonly pollMs?: number
  readonly onCompaction?: (conversationId: string, run: CompactionRun) => void
  /**
   * What nobody foresaw: a store that cannot be reached, a fact that cannot be read. Without a conversation: while
   * following the log or taking work.
   */
  readonly onProblem?: (problem: unknown, conversationId?: string) => void
  readonly onOtherLog?: (checkpoint: LogCheckpoint) => void
}

export interface CompactionWorker {
  /** Begins to follow the log and to look for work. */
  start(): void
  /** Says that something came in a conversation; with a provenance, that this request asks for what is due. */
  wake(conversationId: string, provenance?: Provenance): void
  /**
   * Resolves when nothing of this conversation (or of any) is under way or could be begun; rejects where a run met
   * something that nobody foresaw.
   */
  settled(conversationId?: string): Promise<void>
  /** Takes nothing more, lets the calls under way end for so long, then aborts them, and gives back what it has. */
  stop(graceMs?: number): Promise<void>
  status(): Promise<QueueStatus>
}

/**
 * As long as the claim of a compaction: longer than a process is busy with one thing, and short enough for the work of
 * a dead one.
 */
const LEASE_MS = 15_000
const POLL_MS = 1_000
/** Another compactor, one that asked by hand, has the conversation: how long until it is looked at again. */
const BUSY_MS = 1_000
/** After failures that every conversation would meet, none is tried for so long at most. */
const LONGEST_OUTAGE_MS = 30_000
/** Of a log or a database that cannot be reached. */
const BACKOFF = { firstMs: 500, mostMs: 30_000 }

/** Conversations whose asking request is remembered until they run. */
const ASKED_BY = 10_000

/** Makes a worker; nothing happens before `start` or `wake`. */
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
  /** Who waits until all is settled, and what went wrong while they waited. */
  const settling = new Set<{ readonly conversationId: string | undefined; readonly errors: unknown[] }>()
  /** The requests that ask for what the next run of a conversation does. Another process may be the one that runs it. */
  const askedBy = new LRUCache<string, Provenance>({ max: ASKED_BY })
  const ending = new AbortController()
  const aborting = new AbortController()
  let polling: NodeJS.Timeout | undefined
  let following: Promise<void> | undefined
  /** A summarizer that failed for every conversation is not asked for the next one at once. */
  let outage = { failures: 0, until: 0 }

  // --- One conversation ---

  const now = (): number => clock.now().getTime()

  /** Runs what is to be done, and says when to look again; undefined where there is nothing left. */
  async function compactOne(
    work: Work,
    goOn: () => boolean,
    provenance: Provenance | undefined,
  ): Promise<{ ms: number; failures: number; tokensPerDay?: number | undefined } | 'released' | undefined> {
    const state = await load(work.conversationId)
    const { signal } = aborting
    if (work.resting) {
      // Its failure rests, but what is summarized already may leave, and at the hard limit there is one who needs no
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
    // The log counts failures in a row, across workers and for as long as it takes; the queue's own count is for what
    // is not recorded.
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
    const provenance = askedBy.get(work.conversationId)
    askedBy.delete(work.conversationId)
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

  /** Takes what there is, after whoever is taking already. */
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
      // With every place taken it may wait for one.
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
      if (provenance !== undefined) askedBy.set(conversationId, provenance)
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
