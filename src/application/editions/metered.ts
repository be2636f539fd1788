/**
 * A summarizer with a spending limit. Before each call its cost is reserved; after the call the reservation is settled
 * with the reported usage. A request that fails without cost is retried, up to six attempts; one that may have been
 * paid for is sent at most twice. Every attempt counts. The summarizer must not retry by itself.
 */
import { costMicros, isWithoutModel, type Price, type TokenSums, type TokenUsage } from '../../domain/reports/prices.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { LimitReached, Spending, SpendingLimits } from '../../ports/spending.js'
import {
  isSummarizerFailure,
  type PreparedSummary,
  type Summarizer,
  type SummarizerFailure,
  type SummarizerFailureKind,
  type Summary,
} from '../../ports/summarizer.js'
import { backoffAfter } from '../compaction/backoff.js'
import { MOST_SENDS, requestTokens, wasFree } from '../compaction/summarize-step.js'

/** The cost of one run. */
export interface Paid extends TokenSums {
  /** Requests that were sent, including failed ones. A request that the server wants in another format counts once. */
  readonly calls: number
}

/** The total cost of an edition, with the amount if a price was given. */
export interface EditionSpending extends TokenSums {
  /** Millionths of the price table's currency; absent without prices. */
  readonly costMicros?: number
}

/** The cost of usage, if there is a price. */
export const costAt = (usage: TokenUsage, price: Price | undefined): { readonly costMicros?: number } =>
  price === undefined ? {} : { costMicros: costMicros(usage, price) }

export interface MeteredOptions {
  readonly editionId: string
  readonly spending: Spending
  readonly bound: SpendingLimits
  /** Called if the limit leaves no room for a call, which is then not sent. */
  readonly onNoRoom: (limit: LimitReached) => void
  /** Called for each call when it starts. */
  readonly onCall?: () => void
  /** False ends the waiting for another attempt. */
  readonly goOn: () => boolean
  /** Waits; ends early if the run stops. */
  readonly wait: (ms: number) => Promise<void>
}

/** Failures that may pass without a change of the request. */
const TRANSIENT: ReadonlySet<SummarizerFailureKind> = new Set(['timeout', 'rate-limited', 'unreachable'])
/** The maximum number of attempts without cost; together they wait about half a minute. */
const FREE_ATTEMPTS = 6

/** The longest answer that may have to be paid for: the request's own limit, if it has one. */
function longestAnswer({ parameters, job }: PreparedSummary): number {
  const limits = [parameters['max_tokens'], parameters['max_completion_tokens']].filter(
    (limit) => typeof limit === 'number',
  )
  return Math.max(job.maxSummaryTokens, ...limits)
}

const NO_ROOM: SummarizerFailure = {
  kind: 'SummarizerFailed',
  failure: 'limit-reached',
  detail: 'the bound on spending leaves no room for this call',
}

/** Summarizers that share one spending limit, with their total cost. */
class Metered {
  private readonly spent = { calls: 0, promptTokens: 0, completionTokens: 0 }
  /** The largest factor by which the model's own count exceeded our estimate; later estimates are multiplied by it. */
  private above = 1
  private underWay = 0
  private settled: (() => void)[] = []

  constructor(private readonly options: MeteredOptions) {}

  paid(): Paid {
    return { ...this.spent }
  }

  /** The same summarizer within the limit. A strategy without a model is returned unchanged. */
  paying(summarizer: Summarizer): Summarizer {
    return isWithoutModel(summarizer)
      ? summarizer
      : {
          ...summarizer,
          prepare: (job) => summarizer.prepare(job),
          summarize: (prepared, signal) => this.summarize(summarizer, prepared, signal),
        }
  }

  private mostOf(prepared: PreparedSummary): TokenUsage {
    return {
      promptTokens: Math.ceil(requestTokens(prepared) * this.above),
      completionTokens: longestAnswer(prepared),
    }
  }

  private usageOf(prepared: PreparedSummary, most: TokenUsage, answer: Summary | SummarizerFailure): TokenUsage {
    if (isSummarizerFailure(answer))
      return wasFree(answer) ? { promptTokens: 0, completionTokens: 0 } : (answer.answer?.usage ?? most)
    const { usage, text } = answer
    if (usage === undefined)
      return { promptTokens: requestTokens(prepared), completionTokens: defaultEstimator.text(text) }
    this.above = Math.max(this.above, usage.promptTokens / Math.max(1, requestTokens(prepared)))
    return usage
  }

  /**
   * Reserves the cost of a call. While other calls are running, they may cost less than reserved, so it waits for them
   * before it gives up.
   */
  private async reserve(prepared: PreparedSummary) {
    for (;;) {
      const limit = this.mostOf(prepared)
      const reservation = await this.options.spending.reserve(this.options.editionId, limit, this.options.bound)
      if (reservation.kind === 'set-aside') return { most: limit, given: reservation }
      if (this.underWay === 0 || !this.options.goOn()) {
        this.options.onNoRoom(reservation)
        return undefined
      }
      await new Promise<void>((resolve) => {
        this.settled.push(resolve)
      })
    }
  }

  private async attempt(
    summarizer: Summarizer,
    prepared: PreparedSummary,
    signal: AbortSignal | undefined,
  ): Promise<Summary | SummarizerFailure | undefined> {
    const found = await this.reserve(prepared)
    if (found === undefined) return undefined
    const { most, given } = found
    this.underWay += 1
    this.spent.calls += 1
    this.options.onCall?.()
    try {
      const answer = await summarizer.summarize(prepared, signal)
      const took = this.usageOf(prepared, most, answer)
      this.spent.promptTokens += took.promptTokens
      this.spent.completionTokens += took.completionTokens
      // If settling fails, the reservation stays. The paid answer is still used.
      await given.settle(took).catch(() => undefined)
      return answer
    } finally {
      this.underWay -= 1
      const waiting = this.settled
      this.settled = []
      for (const wake of waiting) wake()
    }
  }

  private async summarize(
    summarizer: Summarizer,
    prepared: PreparedSummary,
    signal: AbortSignal | undefined,
  ): Promise<Summary | SummarizerFailure> {
    let timesSent = 0
    for (let tried = 1; ; tried += 1) {
      const attempted = await this.attempt(summarizer, prepared, signal)
      if (attempted === undefined) return NO_ROOM
      if (!isSummarizerFailure(attempted)) return attempted
      if (!wasFree(attempted)) timesSent += attempted.timesSent ?? 1
      const failure = { ...attempted, ...(timesSent > 1 ? { timesSent } : {}) }
      const isLast = tried === FREE_ATTEMPTS || timesSent >= MOST_SENDS || signal?.aborted === true
      if (isLast || !TRANSIENT.has(failure.failure)) return failure
      if (this.options.goOn()) await this.options.wait(backoffAfter(failure, tried, prepared.requestHash).ms)
      if (!this.options.goOn()) return failure
    }
  }
}

/** Makes summarizers share one spending limit, and adds up their cost. */
export const createMetered = (options: MeteredOptions): Metered => new Metered(options)
