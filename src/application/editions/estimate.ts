/**
 * Estimates the cost of a replay. It takes the same steps and prepares the same requests, with a filler instead of each
 * call. The filler has the maximum length, so the estimate is an upper bound: models usually write less, and shorter
 * summaries lead to fewer cycles.
 */
import { either as E } from 'fp-ts'
import { isWithoutModel, type Price } from '../../domain/reports/prices.js'
import type { Summarizer } from '../../ports/summarizer.js'
import { editionsOf, editionStreamsOnce } from '../recording/conversation-streams.js'
import { erasedEditions } from './erased-editions.js'
import { editionIdOf, makesEdition, planEdition } from './edition-plan.js'
import { costAt, type EditionSpending } from './metered.js'
import { recallSummaries } from './recall-summaries.js'
import { openReplay, type EditionPlan } from './replay-conversation.js'
import { whyNotAdopted, type EditionFailure } from './adopt.js'
import type { ReplayAllDependencies, ReplayFailure, ReplayRequest } from './replay.js'
import { requestTokens } from '../compaction/summarize-step.js'

/** The maximum cost of a replay. */
export interface ReplayEstimate {
  /** The edition. */
  readonly editionId: string
  /** Conversations in the replay. */
  readonly conversations: number
  /** Conversations without new messages. */
  readonly upToDate: number
  /** Messages that the edition has not seen yet. */
  readonly messages: number
  /** All messages of these conversations. */
  readonly messagesOf: number
  /** Calls to a model. */
  readonly calls: number
  /** Tokens of the requests. */
  readonly promptTokens: number
  /** Maximum tokens of the answers. */
  readonly completionTokens: number
  /** In millionths, if there is a price. */
  readonly costMicros?: number
  /** The price table's currency, if there are prices. */
  readonly currency?: string
  /** Recorded summaries that would be reused. */
  readonly reused: number
  /** The cost of the edition so far. */
  readonly spent: EditionSpending
  /** Conversations that could not be replayed or adopted, and why. */
  readonly failures: readonly { readonly conversationId: string; readonly failure: ReplayFailure | EditionFailure }[]
}

export interface EstimateRequest extends Pick<ReplayRequest, 'conversationIds' | 'settings' | 'signal'> {
  readonly price?: Price | undefined
  /**
   * An existing edition that is to catch up before its adoption. Default: the edition that the summarizer and the
   * settings make, new or existing.
   */
  readonly editionId?: string | undefined
}

interface Counts {
  calls: number
  promptTokens: number
  completionTokens: number
}

const FILLER = 'and so on, '

/** Answers with a filler of maximum length, and counts the requests. A strategy without a model runs as it is. */
function estimating(summarizer: Summarizer, counts: Counts): Summarizer {
  if (isWithoutModel(summarizer)) return summarizer
  return {
    ...summarizer,
    prepare: (job) => summarizer.prepare(job),
    summarize: async (prepared) => {
      const { maxSummaryTokens } = prepared.job
      counts.calls += 1
      counts.promptTokens += requestTokens(prepared)
      counts.completionTokens += maxSummaryTokens
      return {
        text: FILLER.repeat(Math.ceil((maxSummaryTokens * 4) / FILLER.length)).slice(0, maxSummaryTokens * 4),
        durationMs: 0,
      }
    },
  }
}

/**
 * Estimates a replay, or catching up before an adoption. Nothing is recorded and no model is called.
 * @throws the reason of the signal once it aborts
 */
export async function estimateReplay(
  deps: ReplayAllDependencies,
  { conversationIds, settings, price, signal, editionId: toAdopt }: EstimateRequest,
): Promise<ReplayEstimate> {
  const wouldBe = editionIdOf({ ...deps, settings }, await erasedEditions(deps.log, conversationIds))
  const editionId = toAdopt ?? wouldBe
  const streams = editionStreamsOnce(deps.log)
  const mayBuy = editionId === wouldBe || makesEdition({ ...deps, settings }, editionId, editionsOf(await streams()))
  const counts: Counts = { calls: 0, promptTokens: 0, completionTokens: 0 }
  const failures: ReplayEstimate['failures'][number][] = []
  let [upToDate, messages, messagesOf, reused] = [0, 0, 0, 0]
  const ids = [...new Set(conversationIds)]
  for (const conversationId of ids) {
    // Conversations without new messages never yield, so signals are handled here.
    await new Promise(setImmediate)
    signal?.throwIfAborted()
    const conversation = await deps.conversations.load(conversationId)
    messagesOf += conversation.messagesAppended
    if (toAdopt !== undefined && conversation.lineage?.edition?.editionId === toAdopt) {
      upToDate += 1
      continue
    }
    const failure = toAdopt === undefined ? undefined : await whyNotAdopted(deps.log, conversationId, toAdopt)
    const plan: E.Either<ReplayFailure | EditionFailure, EditionPlan> =
      failure === undefined ? planEdition(editionId, conversation, { ...deps, settings }) : E.left(failure)
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
      // With another summarizer an edition continues only while no summary must be made.
      { recording: false, mayBuy, ...(signal === undefined ? {} : { signal }) },
    )
    if (E.isLeft(opened)) {
      failures.push({ conversationId, failure: opened.left })
      continue
    }
    const before = opened.right.state().messagesAppended
    const reached = await opened.right.advance()
    // A partial sum must not be returned as the whole.
    signal?.throwIfAborted()
    if (reached.kind === 'stopped') failures.push({ conversationId, failure: reached.failure })
    const { messagesAppended } = opened.right.state()
    const newMessages = messagesAppended - before
    messages += newMessages
    messagesOf += Math.max(0, messagesAppended - conversation.messagesAppended)
    reused += opened.right.spent.reused
    if (newMessages === 0) upToDate += 1
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
