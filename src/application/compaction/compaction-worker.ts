/**
 * The compaction worker: takes conversations from the queue, several concurrently, and compacts what is due or can be
 * done ahead of need. It runs inside a process that owns the log, woken by its appends, and in separate processes that
 * follow the log and share the queue. If a worker dies, another one takes over its expired leases and continues from
 * the recorded events.
 */
import { Mutex } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Provenance } from '../../domain/events/codec.js'
import { triggerOf } from '../../domain/compaction/plan.js'
import { backoffMs } from '../../lib/backoff.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { sleep, type Clock } from '../../ports/clock.js'
import type { EventStore } from '../../ports/event-store.js'
import { keepExtending } from '../../ports/lease.js'
import type { LogCheckpoint, QueueStatus, Work, WorkQueue } from '../../ports/work-queue.js'
import { isCompactionDue, type Compact, type CompactFailure, type CompactionRun } from './compact.js'
import { enqueueFromLog } from './enqueue-from-log.js'
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

/** A caller that waits until work is settled, with the errors that occurred meanwhile. */
interface Waiting {
  /** Undefined: all work. */
  readonly conversationId: string | undefined
  readonly errors: unknown[]
}

type Defaults = 'leaseMs' | 'pollMs' | 'onCompaction' | 'onProblem' | 'onOtherLog'
type CompleteOptions = CompactionWorkerOptions & Required<Pick<CompactionWorkerOptions, Defaults>>

const DEFAULTS: Pick<CompleteOptions, Defaults> = {
  leaseMs: LEASE_MS,
  pollMs: POLL_MS,
  onCompaction: () => undefined,
  onProblem: () => undefined,
  onOtherLog: () => undefined,
}

class Worker implements CompactionWorker {
  private readonly running = new Map<string, Promise<void>>()
  private readonly settling = new Set<Waiting>()
  /** The request for the next run of each conversation. Another process may execute that run. */
  private readonly requestOf = new LRUCache<string, Provenance>({ max: MAX_PENDING_REQUESTS })
  private readonly taking = new Mutex()
  private readonly ending = new AbortController()
  private readonly aborting = new AbortController()
  private polling: NodeJS.Timeout | undefined
  private following: Promise<void> | undefined
  /** A summarizer that failed for every conversation is not called for the next one immediately. */
  private outage = { failures: 0, until: 0 }

  constructor(private readonly options: CompleteOptions) {}

  start(): void {
    if (this.ending.signal.aborted || this.polling !== undefined) return
    this.polling = setInterval(() => {
      this.pump()
    }, this.options.pollMs)
    this.pump()
    if (this.options.follow !== undefined) this.following = this.followOn(this.options.follow)
  }

  wake(conversationId: string, provenance?: Provenance): void {
    if (this.ending.signal.aborted) return
    if (provenance !== undefined) this.requestOf.set(conversationId, provenance)
    this.pump(() => this.options.queue.note([conversationId]))
  }

  async settled(conversationId?: string): Promise<void> {
    const waiting: Waiting = { conversationId, errors: [] }
    this.settling.add(waiting)
    await this.idle(conversationId)
    this.settling.delete(waiting)
    const [error] = waiting.errors
    if (error !== undefined) throw error
  }

  async stop(graceMs = 0): Promise<void> {
    clearInterval(this.polling)
    this.ending.abort()
    const ended = Promise.all([this.following, this.taking.waitForUnlock()]).then(() =>
      Promise.all(this.running.values()),
    )
    if (this.running.size > 0 && graceMs > 0) await Promise.race([ended, sleep(graceMs, this.aborting.signal)])
    this.aborting.abort()
    await ended
  }

  async status(): Promise<QueueStatus> {
    return await this.options.queue.status()
  }

  get #mode(): 'due' | 'ahead' {
    return this.options.ahead === false ? 'due' : 'ahead'
  }

  private now(): number {
    return this.options.clock.now().getTime()
  }

  /** Does the work of one conversation and returns when to look again; undefined if nothing is left. */
  private async compactOne(
    work: Work,
    goOn: () => boolean,
    provenance: Provenance | undefined,
  ): Promise<{ ms: number; failures: number; tokensPerDay?: number | undefined } | 'released' | undefined> {
    const state = await this.options.load(work.conversationId)
    const { signal } = this.aborting
    if (work.resting) {
      // It waits after a failure, but existing summaries may be used, and at the hard limit the fallback needs no
      // model.
      if (triggerOf(state) !== undefined)
        this.options.onCompaction(
          work.conversationId,
          await this.options.compact(work.conversationId, 'without-model', { signal, goOn, wait: false }),
        )
      return 'released'
    }
    if (!isCompactionDue(state, this.#mode)) return undefined
    if (this.options.backsOffByTime && this.outage.until > this.now())
      return { ms: this.outage.until - this.now(), failures: work.failures }
    const run = await this.options.compact(work.conversationId, this.#mode, {
      signal,
      goOn,
      wait: !this.options.backsOffByTime,
      provenance,
    })
    this.options.onCompaction(work.conversationId, run)
    const failure: CompactFailure | undefined = run.failure ?? run.fallbackFor
    if (run.busy === true) return { ms: BUSY_MS, failures: work.failures }
    if (run.postponedMs !== undefined) return { ms: run.postponedMs, failures: work.failures }
    if (!this.options.backsOffByTime) return undefined
    if (failure === undefined) {
      if (run.calls > 0) this.outage = { failures: 0, until: 0 }
      return undefined
    }
    // The log counts failures in a row, across workers; the queue counts errors that are not recorded.
    const failures = Math.max(work.failures, state.failures?.attempts ?? 0) + 1
    const backoff = backoffAfter(failure, failures, work.conversationId)
    if (backoff.everywhere)
      this.outage = {
        failures: this.outage.failures + 1,
        until: this.now() + Math.min(LONGEST_OUTAGE_MS, backoffAfter(failure, this.outage.failures + 1, '').ms),
      }
    const limited = failure.kind === 'SummarizerFailed' && failure.failure === 'limit-reached'
    return { ms: backoff.ms, failures, ...(limited ? { tokensPerDay: this.options.tokensPerDay } : {}) }
  }

  private async process(work: Work): Promise<void> {
    const extending = keepExtending(() => this.options.queue.extend(work, this.options.leaseMs), this.options.leaseMs)
    const provenance = this.requestOf.get(work.conversationId)
    this.requestOf.delete(work.conversationId)
    try {
      const next = await this.compactOne(work, () => !extending.lost.aborted && !this.ending.signal.aborted, provenance)
      if (next === undefined) await this.options.queue.finish(work)
      else if (next === 'released') await this.options.queue.release(work)
      else await this.options.queue.backOff(work, next)
    } catch (error) {
      this.options.onProblem(error, work.conversationId)
      for (const waiting of this.settling)
        if (waiting.conversationId === undefined || waiting.conversationId === work.conversationId)
          waiting.errors.push(error)
      const failures = work.failures + 1
      if (this.options.backsOffByTime)
        await this.options.queue
          .backOff(work, { ms: backoffAfter(undefined, failures, work.conversationId).ms, failures })
          .catch(() => undefined)
      else await this.options.queue.finish(work)
    } finally {
      await extending.end()
    }
  }

  private async takeAll(): Promise<void> {
    while (!this.ending.signal.aborted && this.running.size < this.options.concurrency) {
      const work = await this.options.queue.take({
        leaseMs: this.options.leaseMs,
        except: [...this.running.keys()],
        tokensPerDay: this.options.tokensPerDay,
      })
      if (work === undefined) return
      const { conversationId } = work
      const done = this.process(work)
        .catch((error: unknown) => {
          this.options.onProblem(error)
        })
        .finally(() => {
          this.running.delete(conversationId)
          this.pump()
        })
      this.running.set(conversationId, done)
    }
  }

  /** Takes available work, after running calls of this function. */
  private pump(before: () => Promise<unknown> = () => Promise.resolve()): void {
    void this.taking
      .runExclusive(async () => {
        await before()
        await this.takeAll()
      })
      .catch((error: unknown) => {
        this.options.onProblem(error)
      })
  }

  private async idle(conversationId: string | undefined): Promise<void> {
    for (;;) {
      await this.taking.waitForUnlock()
      const all = [...this.running.values()]
      const one = conversationId === undefined ? undefined : this.running.get(conversationId)
      if (one !== undefined) await one
      else if (conversationId === undefined && all.length > 0) await Promise.all(all)
      // If all slots are busy, it may wait for one.
      else if (conversationId !== undefined && all.length >= this.options.concurrency) await Promise.race(all)
      else return
    }
  }

  private async followOn(store: EventStore): Promise<void> {
    const { signal } = this.ending
    let failures = 0
    while (!signal.aborted) {
      try {
        await enqueueFromLog({
          store,
          queue: this.options.queue,
          signal,
          onOtherLog: this.options.onOtherLog,
          onAdvance: () => {
            failures = 0
            this.pump()
          },
        })
      } catch (error) {
        if (signal.aborted) return
        this.options.onProblem(error)
        failures += 1
        await sleep(backoffMs(failures, BACKOFF), signal)
      }
    }
  }
}

/** Creates a worker. It is idle until `start` or `wake`. */
export const createCompactionWorker = (options: CompactionWorkerOptions): CompactionWorker =>
  new Worker({ ...DEFAULTS, ...withoutUndefined(options) })
