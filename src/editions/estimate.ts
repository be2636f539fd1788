/**
 * Reckons what a replay would cost before it is paid for. It takes the same steps and makes the same requests, with a
 * made-up answer in the place of each call. That answer is as long as an answer may be, so the estimate is an upper
 * bound: models mostly write less, and shorter summaries make fewer cycles.
 */
import { either as E } from 'fp-ts'
import { isWithoutModel, type Price } from '../domain/reports/prices.js'
import type { Summarizer } from '../ports/summarizer.js'
import { editionStreamsOnce } from '../recording/conversation-streams.js'
import { editionIdOf, planEdition } from './edition-plan.js'
import { costAt, type EditionSpending } from './metered.js'
import { recallSummaries } from './recall-summaries.js'
import { openReplay, type EditionPlan } from './replay-conversation.js'
import { whyNotAdopted, type EditionFailure } from './adopt.js'
import type { ReplayAllDependencies, ReplayFailure, ReplayRequest } from './replay.js'
import { requestTokens } from '../compaction/summarize-step.js'

/** What a replay would come to at most. */
export interface ReplayEstimate {
  /** The edition that it is an estimate of. */
  readonly editionId: string
  /** Conversations that it would go through. */
  readonly conversations: number
  /** Conversations of which there is nothing more to see. */
  readonly upToDate: number
  /** Messages that the edition has still to see, of all. */
  readonly messages: number
  /** Messages that these have. */
  readonly messagesOf: number
  /** Calls to a model, and what they would take at most. */
  readonly calls: number
  /** Tokens that would be sent. */
  readonly promptTokens: number
  /** Tokens that would be answered, at most. */
  readonly completionTokens: number
  /** In millionths, where there is a price. */
  readonly costMicros?: number
  /** The price table's currency, where there are prices. */
  readonly currency?: string
  /** Summaries that are recorded already, and would be taken over. */
  readonly reused: number
  /** What the edition has taken so far. */
  readonly spent: EditionSpending
  /** Conversations that could not be replayed, or not be adopted in, and why. */
  readonly failures: readonly { readonly conversationId: string; readonly failure: ReplayFailure | EditionFailure }[]
}

export interface EstimateRequest extends Pick<ReplayRequest, 'conversationIds' | 'settings' | 'signal'> {
  readonly price?: Price | undefined
  /**
   * An edition that is there, to be caught up before it is adopted. Default: the one that the summarizer and the
   * settings make, new or begun before.
   */
  readonly editionId?: string | undefined
}

interface Counts {
  calls: number
  promptTokens: number
  completionTokens: number
}

const FILLER = 'and so on, '

/** Answers what is as long as it may be, and counts what it was asked. One that costs nothing answers by itself. */
function estimating(summarizer: Summarizer, counts: Counts): Summarizer {
  if (isWithoutModel(summarizer)) return summarizer
  return {
    ...summarizer,
    prepare: (job) => summarizer.prepare(job),
    summarize: (prepared) => async () => {
      const { maxSummaryTokens } = prepared.job
      counts.calls += 1
      counts.promptTokens += requestTokens(prepared)
      counts.completionTokens += maxSummaryTokens
      return E.right({
        text: FILLER.repeat(Math.ceil((maxSummaryTokens * 4) / FILLER.length)).slice(0, maxSummaryTokens * 4),
        durationMs: 0,
      })
    },
  }
}

/**
 * Reckons what a replay would come to, or what adopting an edition would. Nothing is recorded and no model is asked.
 * Once the signal aborts it throws the reason, for there is no estimate then.
 */
export async function estimateReplay(
  deps: ReplayAllDependencies,
  { conversationIds, settings, price, signal, editionId: toAdopt }: EstimateRequest,
): Promise<ReplayEstimate> {
  const wouldBe = editionIdOf({ ...deps, settings })
  const editionId = toAdopt ?? wouldBe
  const counts: Counts = { calls: 0, promptTokens: 0, completionTokens: 0 }
  const failures: ReplayEstimate['failures'][number][] = []
  const streams = editionStreamsOnce(deps.log)
  let [upToDate, messages, messagesOf, reused] = [0, 0, 0, 0]
  const ids = [...new Set(conversationIds)]
  for (const conversationId of ids) {
    // Of conversations that are up to date nothing is seen, and so none of them gives signals their turn.
    await new Promise(setImmediate)
    signal?.throwIfAborted()
    const conversation = await deps.conversations.load(conversationId)
    messagesOf += conversation.messagesAppended
    if (toAdopt !== undefined && conversation.lineage?.edition?.editionId === toAdopt) {
      upToDate += 1
      continue
    }
    const refused = toAdopt === undefined ? undefined : await whyNotAdopted(deps.log, conversationId, toAdopt)
    const plan: E.Either<ReplayFailure | EditionFailure, EditionPlan> =
      refused === undefined ? planEdition(editionId, conversation, { ...deps, settings }) : E.left(refused)
    if (E.isLeft(plan)) {
      failures.push({ conversationId, failure: plan.left })
      continue
    }
    const recall = recallSummaries(deps.log, conversationId, streams)
    const opened = await openReplay(
      {
        ...deps,
        summarizer: estimating(deps.summarizer, counts),
        registerPrompt: () => Promise.resolve(),
        recall,
      },
      plan.right,
      // By another summarizer an edition goes on as long as nothing is to be bought.
      { recording: false, mayBuy: editionId === wouldBe, ...(signal === undefined ? {} : { signal }) },
    )
    if (E.isLeft(opened)) {
      failures.push({ conversationId, failure: opened.left })
      continue
    }
    const before = opened.right.state().messagesAppended
    const reached = await opened.right.advance()
    // Half of the sum would be told as the whole.
    signal?.throwIfAborted()
    if (reached.kind === 'stopped') failures.push({ conversationId, failure: reached.failure })
    const { messagesAppended } = opened.right.state()
    const seen = messagesAppended - before
    messages += seen
    messagesOf += Math.max(0, messagesAppended - conversation.messagesAppended)
    reused += opened.right.spent.reused
    if (seen === 0) upToDate += 1
  }
  const { calls, promptTokens, completionTokens } = counts
  const spent = await deps.spending.spentOn(editionId)
  return {
    editionId,
    conversations: ids.length,
    upToDate,
    messages,
    messagesOf,
    calls,
    promptTokens,
    completionTokens,
    ...(price === undefined ? {} : { ...costAt(counts, price), currency: price.currency }),
    reused,
    spent: { ...spent, ...costAt(spent, price) },
    failures,
  }
}
