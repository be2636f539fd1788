/**
 * Compacts the history of many conversations again, several concurrently. After an interruption, the next run continues
 * from the recorded events and pays for nothing twice. A failure in one conversation does not stop the others. A
 * failure that would affect every conversation ends the run, and so does the spending limit.
 */
import { either as E } from 'fp-ts'
import type { BadPolicy } from '../../domain/values/policy.js'
import type { Price } from '../../domain/reports/prices.js'
import type { Claims } from '../../ports/claims.js'
import { sleep } from '../../ports/clock.js'
import type { Lease } from '../../ports/lease.js'
import type { LimitReached, Spending, SpendingLimits } from '../../ports/spending.js'
import { isSummarizerFailure, type Summarizer } from '../../ports/summarizer.js'
import type { CompactFailure } from '../compaction/compact.js'
import { editionStreamsOnce, type EditionStreams } from '../recording/conversation-streams.js'
import { EDITION_PATIENCE_MS, holdEdition } from './edition-claim.js'
import { erasedEditions } from './erased-editions.js'
import { editionIdOf, planEdition, type EditionMakers } from './edition-plan.js'
import { isUnreadableEvent } from '../recording/read-event.js'
import type { Conversations } from '../recording/handle-command.js'
import { costAt, createMetered, type EditionSpending, type Paid } from './metered.js'
import { recallSummaries } from './recall-summaries.js'
import { openReplay, type ReplayDependencies } from './replay-conversation.js'

export interface ReplayAllDependencies extends Omit<ReplayDependencies, 'budget' | 'recall'> {
  readonly claims: Claims
  readonly spending: Spending
  readonly conversations: Pick<Conversations, 'load'>
  /** Waits for this time, or until the signal aborts. Default: the system clock. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface ReplayRequest {
  readonly conversationIds: readonly string[]
  /** Settings that override those of each conversation. */
  readonly settings?: EditionMakers['settings']
  /** The number of concurrent conversations; default 4. */
  readonly concurrency?: number | undefined
  /** The total cost of the edition, including earlier runs at any price. */
  readonly bound?: SpendingLimits | undefined
  /** The price for reported costs. */
  readonly price?: Price | undefined
  /** Stops the run gracefully: running calls may finish and are recorded, and no other is started. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
}

/** The progress of a replay and its cost so far: tokens, and millionths of the currency of the price. */
export interface ReplayProgress extends Paid {
  /** The number of conversations in the run. */
  readonly conversations: number
  /** The number of completed conversations. */
  readonly conversationsDone: number
  /** Messages that the edition has seen. */
  readonly messages: number
  /** The total number of messages. */
  readonly messagesOf: number
  /** Reused summaries. */
  readonly reused: number
  /** In millionths, if there is a price. */
  readonly costMicros?: number
  /** Undefined if it is too early for an estimate. */
  readonly secondsLeft: number | undefined
}

export type ReplayFailure =
  | CompactFailure
  | BadPolicy
  /** An event of the conversation or of its edition cannot be read. */
  | { readonly kind: 'UnreadableLog'; readonly detail: string }

type ConversationOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped'; readonly failure: ReplayFailure }
  /** It was not started or not finished; the same replay continues it. */
  | { readonly kind: 'postponed' }
  /** Another process is building it. */
  | { readonly kind: 'busy' }

/** The result for one conversation. `messagesOf` grows if messages are appended meanwhile. */
export interface ReplayedConversation {
  /** Id of the conversation. */
  readonly conversationId: string
  /** How it ended. */
  readonly outcome: ConversationOutcome
  /** Messages that the edition has seen. */
  readonly messages: number
  /** Messages in the conversation. */
  readonly messagesOf: number
  /** Summaries recorded by this run, including reused ones but not those of earlier runs. */
  readonly summaries: number
  /** Reused summaries, which cost nothing. */
  readonly reused: number
}

/** The result of a replay. Costs are in millionths of the currency of the price, 0 without one. */
export interface Replay {
  /** The edition. */
  readonly editionId: string
  /** The result of each conversation. */
  readonly conversations: readonly ReplayedConversation[]
  /** Why it ended: complete, stopped on request, the spending limit, or a failure that affects every conversation. */
  readonly ended: 'done' | 'asked' | 'bound' | 'failing'
  /** The spending limit that was reached, and the rejected amount. */
  readonly noRoom?: LimitReached
  /** The cost of this run. */
  readonly paid: Paid
  /** The same in millionths, if there is a price. */
  readonly costMicros?: number
  /** The total cost of the edition, including the reservations of killed runs. */
  readonly spent: EditionSpending
}

const CONCURRENCY = 4
/** How long running calls may continue after a stop: shorter than a scheduler waits before it kills the process. */
const GRACE_MS = 8_000

/** Failures that would affect every other conversation. An unreachable model was retried several times before. */
const SHARED_FAILURES: ReadonlySet<string> = new Set(['unauthorized', 'unknown-model', 'unreachable'])

/** Counters of one conversation, or of all. */
export interface Counts {
  readonly messages: number
  /** At least `messages`: the conversation may grow meanwhile. */
  readonly messagesOf: number
  /** Messages that the edition had seen when this run began. */
  readonly from: number
  readonly summaries: number
  readonly reused: number
  /** 1 if the conversation is complete. */
  readonly done: number
}

const NOTHING: Counts = { messages: 0, messagesOf: 0, from: 0, summaries: 0, reused: 0, done: 0 }

/**
 * Counters by conversation, and their sums. The sums are updated with each change: adding them up for each message
 * would take longer with more conversations.
 */
export class Tally {
  private readonly startedAt = performance.now()
  private sums = { ...NOTHING }
  private readonly each = new Map<string, Counts>()

  of(conversationId: string): Counts {
    return this.each.get(conversationId) ?? NOTHING
  }

  all(): Counts {
    return this.sums
  }

  /** The progress of a run of so many conversations, and what it paid so far. */
  progress(conversations: number, paid: Paid, price: Price | undefined): ReplayProgress {
    const { messages, messagesOf, from, reused, done } = this.sums
    const seenNow = messages - from
    const seconds = (performance.now() - this.startedAt) / 1_000
    return {
      ...paid,
      conversations,
      conversationsDone: done,
      messages,
      messagesOf,
      reused,
      ...costAt(paid, price),
      secondsLeft: seconds < 1 || seenNow === 0 ? undefined : (seconds * (messagesOf - messages)) / seenNow,
    }
  }

  set(conversationId: string, changes: Partial<Counts>): void {
    const before = this.of(conversationId)
    const after = { ...before, ...changes }
    after.messagesOf = Math.max(after.messagesOf, after.messages)
    this.each.set(conversationId, after)
    const { sums } = this
    this.sums = {
      messages: sums.messages + after.messages - before.messages,
      messagesOf: sums.messagesOf + after.messagesOf - before.messagesOf,
      from: sums.from + after.from - before.from,
      summaries: sums.summaries + after.summaries - before.summaries,
      reused: sums.reused + after.reused - before.reused,
      done: sums.done + after.done - before.done,
    }
  }
}

/** One conversation of the run, and its outcome. */
interface ConversationRun {
  readonly conversationId: string
  outcome: ConversationOutcome | undefined
}

/** The end of a run: no other call is started, and running ones are aborted after the grace period. */
class RunEnd {
  /** Why it ended. */
  reason: Replay['ended'] = 'done'
  private readonly stop = new AbortController()
  private readonly abort = new AbortController()
  /** Aborts if no other call may be started. */
  readonly stopped = this.stop.signal
  /** Aborts the running calls. */
  readonly aborted = this.abort.signal

  stopFor(reason: Replay['ended']): void {
    if (this.stopped.aborted) return
    this.reason = reason
    this.stop.abort()
    setTimeout(() => {
      this.abort.abort()
    }, GRACE_MS).unref()
  }
}

class ReplayRun {
  private readonly payer: ReturnType<typeof createMetered>
  private readonly owner: string
  private readonly runs: ConversationRun[]
  private readonly tally = new Tally()
  private readonly end = new RunEnd()
  private noRoom: Replay['noRoom']
  private readonly streams: () => Promise<EditionStreams>

  constructor(
    private readonly deps: ReplayAllDependencies,
    private readonly request: ReplayRequest,
    private readonly editionId: string,
  ) {
    this.owner = deps.clock.newId()
    this.streams = editionStreamsOnce(deps.log)
    const conversationIds = [...new Set(request.conversationIds)]
    this.runs = conversationIds.map((conversationId) => ({ conversationId, outcome: undefined }))
    this.payer = createMetered({
      editionId,
      spending: deps.spending,
      bound: request.bound ?? {},
      onNoRoom: (reached) => {
        this.noRoom ??= reached
        this.end.stopFor('bound')
      },
      onCall: () => {
        this.reportProgress()
      },
      goOn: () => !this.end.stopped.aborted,
      wait: (ms) => this.wait(ms),
    })
  }

  private wait(ms: number): Promise<void> {
    return (this.deps.wait ?? sleep)(ms, this.end.stopped)
  }

  private reportProgress(): void {
    const { onProgress, price } = this.request
    onProgress?.(this.tally.progress(this.runs.length, this.payer.paid(), price))
  }

  private async make(run: ConversationRun, lease: Lease): Promise<ConversationOutcome> {
    const {
      deps,
      request: { settings },
    } = this
    const conversation = await deps.conversations.load(run.conversationId)
    const plan = planEdition(this.editionId, conversation, { ...deps, settings })
    if (E.isLeft(plan)) return { kind: 'stopped', failure: plan.left }
    const recall = recallSummaries(deps.log, run.conversationId, this.streams)
    const conversationAbort = new AbortController()
    const goOn = (): boolean => !this.end.stopped.aborted && !lease.lost.aborted
    const paying = this.payer.paying(deps.summarizer)
    const summarizer: Summarizer = {
      ...paying,
      prepare: (job) => paying.prepare(job),
      summarize: async (prepared) => {
        const answer = await paying.summarize(prepared, this.end.aborted)
        // A failure during a stop is not a failure of the model, and is not recorded as one.
        if (isSummarizerFailure(answer) && !goOn()) conversationAbort.abort()
        return answer
      },
    }
    const opened = await openReplay({ ...deps, summarizer, recall }, plan.right, {
      recording: true,
      signal: conversationAbort.signal,
      goOn,
      onMessage: (state, { reused }) => {
        this.tally.set(run.conversationId, { messages: state.messagesAppended, reused })
        this.reportProgress()
      },
    })
    if (E.isLeft(opened)) return { kind: 'stopped', failure: opened.left }
    const replay = opened.right
    const from = replay.state().messagesAppended
    this.tally.set(run.conversationId, { from, messages: from })
    const reached = await replay.advance()
    const { summaries, reused } = replay.spent
    this.tally.set(run.conversationId, { messages: replay.state().messagesAppended, summaries, reused })
    return lease.lost.aborted ? { kind: 'busy' } : reached
  }

  private async one(run: ConversationRun, patienceMs: number): Promise<void> {
    const lease = await holdEdition(this.deps.claims, this.editionId, run.conversationId, this.owner, {
      patienceMs,
      signal: this.end.stopped,
      wait: this.deps.wait,
    })
    if (lease === undefined) {
      run.outcome = { kind: 'busy' }
      return
    }
    try {
      run.outcome = await this.make(run, lease)
    } catch (error) {
      if (!isUnreadableEvent(error)) throw error
      run.outcome = { kind: 'stopped', failure: { kind: 'UnreadableLog', detail: error.message } }
    } finally {
      await lease.release().catch(() => undefined)
    }
    const { outcome } = run
    this.tally.set(run.conversationId, { done: outcome.kind === 'done' ? 1 : 0 })
    if (
      outcome.kind === 'stopped' &&
      outcome.failure.kind === 'SummarizerFailed' &&
      SHARED_FAILURES.has(outcome.failure.failure)
    )
      this.end.stopFor('failing')
    this.reportProgress()
  }

  /** Processes several conversations concurrently, until all were tried or the run stops. */
  private async all(runs: readonly ConversationRun[], patienceMs: number): Promise<void> {
    const queue = [...runs]
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined && !this.end.stopped.aborted; next = queue.shift())
        await this.one(next, patienceMs)
    }
    const workers = await Promise.allSettled(
      Array.from({ length: Math.min(runs.length, this.request.concurrency ?? CONCURRENCY) }, async () => {
        try {
          await work()
        } catch (error) {
          // A bug or an unavailable store: the other workers finish their conversations, then the error is thrown.
          this.end.stopFor('failing')
          throw error
        }
      }),
    )
    for (const worker of workers) if (worker.status === 'rejected') throw worker.reason
  }

  async run(): Promise<Replay> {
    const { deps, request } = this
    const stopOnRequest = (): void => {
      this.end.stopFor('asked')
    }
    if (request.signal?.aborted === true) stopOnRequest()
    request.signal?.addEventListener('abort', stopOnRequest, { once: true })
    try {
      for (const { conversationId } of this.runs)
        this.tally.set(conversationId, { messagesOf: (await deps.conversations.load(conversationId)).messagesAppended })
      // The first step may be a call that takes minutes.
      this.reportProgress()
      await this.all(this.runs, 0)
      const busy = this.runs.filter(({ outcome }) => outcome?.kind === 'busy')
      await this.all(busy, EDITION_PATIENCE_MS)
    } finally {
      request.signal?.removeEventListener('abort', stopOnRequest)
    }
    const paid = this.payer.paid()
    const spent = await deps.spending.spentOn(this.editionId)
    return {
      editionId: this.editionId,
      conversations: this.runs.map(({ conversationId, outcome }) => {
        const { messages, messagesOf, summaries, reused } = this.tally.of(conversationId)
        return { conversationId, outcome: outcome ?? { kind: 'postponed' }, messages, messagesOf, summaries, reused }
      }),
      ended: this.end.reason,
      ...(this.noRoom === undefined ? {} : { noRoom: this.noRoom }),
      paid,
      ...costAt(paid, request.price),
      spent: { ...spent, ...costAt(spent, request.price) },
    }
  }
}

/** Builds an edition of conversations, new or continued from an earlier run. */
export const replay = async (deps: ReplayAllDependencies, request: ReplayRequest): Promise<Replay> => {
  const erased = await erasedEditions(deps.log, request.conversationIds)
  return await new ReplayRun(deps, request, editionIdOf({ ...deps, settings: request.settings }, erased)).run()
}
