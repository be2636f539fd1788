/**
 * A summarizer that costs money. Before each call its cost is set aside within a bound; after the call what it took is
 * settled. A call that fails for a moment is tried again later. Every attempt counts, because a time-out or an empty
 * answer may be paid for too. So the summarizer given here must not try again by itself.
 */
import { either as E } from 'fp-ts'
import { costMicros, isWithoutModel, type Price, type TokenUsage } from '../domain/reports/prices.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import type { NoRoom, Spending, SpendingBound } from '../ports/spending.js'
import type {
  PreparedSummary,
  Summarizer,
  SummarizerFailure,
  SummarizerFailureKind,
  Summary,
} from '../ports/summarizer.js'
import { backoffAfter } from '../compaction/backoff.js'
import { requestTokens, wasFree } from '../compaction/summarize-step.js'

/** What one run has paid for. */
export interface Paid extends TokenUsage {
  /** Requests that were made, failed ones included. One that a server wants spelled otherwise is made once. */
  readonly calls: number
}

/** What an edition has taken in all, and what that costs where a price was given. */
export interface EditionSpending extends TokenUsage {
  /** Millionths of the price table's currency; absent without prices. */
  readonly costMicros?: number
}

/** What usage costs, where there is a price; nothing is told of a cost where there is none. */
export const costAt = (usage: TokenUsage, price: Price | undefined): { readonly costMicros?: number } =>
  price === undefined ? {} : { costMicros: costMicros(usage, price) }

export interface MeteredOptions {
  readonly editionId: string
  readonly spending: Spending
  readonly bound: SpendingBound
  /** Hears that there is no room for a call: it is not made. */
  readonly onNoRoom: (room: NoRoom) => void
  /** Hears of each call when it is made. */
  readonly onCall?: () => void
  /** False ends the waiting for another attempt. */
  readonly goOn: () => boolean
  /** Waits; ends early where the run is to stop. */
  readonly wait: (ms: number) => Promise<void>
}

/** What may go away by itself. An answer that is over-long or refused comes the same again. */
const PASSING: ReadonlySet<SummarizerFailureKind> = new Set([
  'timeout',
  'rate-limited',
  'unreachable',
  'empty',
  'malformed',
  'cut-off',
])
/** Attempts at one summary; they wait about half a minute together. */
const ATTEMPTS = 6

/** Where the request itself says how long an answer may be, that is what may have to be paid. */
function longestAnswer({ parameters, job }: PreparedSummary): number {
  const limits = [parameters['max_tokens'], parameters['max_completion_tokens']].filter(
    (limit) => typeof limit === 'number',
  )
  return Math.max(job.maxSummaryTokens, ...limits)
}

/** Makes summarizers pay out of one purse, and keeps account of it. */
export function createMetered({ editionId, spending, bound, onNoRoom, onCall, goOn, wait }: MeteredOptions) {
  const paid = { calls: 0, promptTokens: 0, completionTokens: 0 }
  /** By how much the model's own count was above our estimate, at most: the next requests are reckoned with it. */
  let above = 1
  let underWay = 0
  let settled: (() => void)[] = []

  const mostOf = (prepared: PreparedSummary): TokenUsage => ({
    promptTokens: Math.ceil(requestTokens(prepared) * above),
    completionTokens: longestAnswer(prepared),
  })

  function tookFor(
    prepared: PreparedSummary,
    most: TokenUsage,
    answer: E.Either<SummarizerFailure, Summary>,
  ): TokenUsage {
    if (E.isLeft(answer)) return wasFree(answer.left) ? { promptTokens: 0, completionTokens: 0 } : most
    const { usage, text } = answer.right
    if (usage === undefined)
      return { promptTokens: requestTokens(prepared), completionTokens: defaultEstimator.text(text) }
    above = Math.max(above, usage.promptTokens / Math.max(1, requestTokens(prepared)))
    return usage
  }

  /**
   * Room for a call. Where others are under way, less than was set aside for them may be spent: then there is room
   * after all.
   */
  async function room(prepared: PreparedSummary) {
    for (;;) {
      const most = mostOf(prepared)
      const given = await spending.setAside(editionId, most, bound)
      if (given.kind === 'set-aside') return { most, given }
      if (underWay === 0 || !goOn()) {
        onNoRoom(given)
        return undefined
      }
      await new Promise<void>((resolve) => {
        settled.push(resolve)
      })
    }
  }

  async function attempt(
    summarizer: Summarizer,
    prepared: PreparedSummary,
    signal: AbortSignal | undefined,
  ): Promise<E.Either<SummarizerFailure, Summary> | undefined> {
    const found = await room(prepared)
    if (found === undefined) return undefined
    const { most, given } = found
    underWay += 1
    paid.calls += 1
    onCall?.()
    try {
      const answer = await summarizer.summarize(prepared, signal)()
      const took = tookFor(prepared, most, answer)
      paid.promptTokens += took.promptTokens
      paid.completionTokens += took.completionTokens
      // What could not be settled stays set aside; an answer that is paid for is not thrown away for that.
      await given.settle(took).catch(() => undefined)
      return answer
    } finally {
      underWay -= 1
      const waiting = settled
      settled = []
      for (const wake of waiting) wake()
    }
  }

  const noRoom: SummarizerFailure = {
    kind: 'SummarizerFailed',
    failure: 'limit-reached',
    detail: 'the bound on spending leaves no room for this call',
  }

  async function summarize(
    summarizer: Summarizer,
    prepared: PreparedSummary,
    signal: AbortSignal | undefined,
  ): Promise<E.Either<SummarizerFailure, Summary>> {
    for (let tried = 1; ; tried += 1) {
      const answer = await attempt(summarizer, prepared, signal)
      if (answer === undefined) return E.left(noRoom)
      if (E.isRight(answer) || !PASSING.has(answer.left.failure) || tried === ATTEMPTS || signal?.aborted === true)
        return answer
      if (goOn()) await wait(backoffAfter(answer.left, tried, prepared.requestHash).ms)
      if (!goOn()) return answer
    }
  }

  return {
    paid: (): Paid => ({ ...paid }),
    /** The same summarizer, paid for. One that asks no model costs nothing, and is left as it is. */
    paying: (summarizer: Summarizer): Summarizer =>
      isWithoutModel(summarizer)
        ? summarizer
        : {
            ...summarizer,
            prepare: (job) => summarizer.prepare(job),
            summarize: (prepared, signal) => () => summarize(summarizer, prepared, signal),
          },
  }
}
