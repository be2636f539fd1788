/**
 * Compacts the same conversations by several candidates (strategy, prompt, model, policy) and measures the
 * cost and the kept of each. Every candidate is an edition: it is recorded, continues after an interruption, buys nothing twice,
 * and can be adopted. Candidates run one after the other, because one bound on spending covers all of them.
 */
import { either as E } from 'fp-ts'
import { contextOf } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { costMicros, isWithoutModel, type Price } from '../../domain/reports/prices.js'
import { sideOf, textOf } from '../../domain/reports/loss-report.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { keptOf, sumKept, type CompactedContext, type KeptCounts } from '../loss-report/kept.js'
import { conversationStream } from '../../domain/values/ids.js'
import { hardLimit, softLimit } from '../../domain/values/policy.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { RecordedMessages } from '../loss-report/recorded-messages.js'
import type { SpendingLimits } from '../../ports/spending.js'
import type { Summarizer } from '../../ports/summarizer.js'
import { loadConversation, seeUntil } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { SearchPorts } from '../search/search.js'
import { figuresOf, storedEdition, type Figures } from './compare.js'
import { erasedEditions } from './erased-editions.js'
import { editionIdOf } from './edition-plan.js'
import { evidenceOf, type EvidenceCounts, type EvidenceMessage, type LabelledQuestion } from './evidence-reach.js'
import { estimateReplay, type ReplayEstimate } from './estimate.js'
import { type EditionSpending } from './metered.js'
import { replay, type Replay, type ReplayAllDependencies, type ReplayFailure, type ReplayProgress } from './replay.js'

/** One way to compact. */
export interface Candidate {
  /** Names the candidate in reports. */
  readonly name: string
  readonly summarizer: Summarizer
  /** Settings over those of each conversation. */
  readonly settings: PolicySettings | undefined
  /** Price of the summarizer's model, if it is known. */
  readonly price: Price | undefined
}

interface EvaluationBound {
  /** Tokens of all candidates together, earlier runs included. */
  readonly tokens?: number | undefined
  /** Money of all candidates together, earlier runs included, in millionths of the currency of the prices. */
  readonly costMicros?: number | undefined
}

export interface EvaluateRequest {
  readonly conversationIds: readonly string[]
  readonly candidates: readonly Candidate[]
  readonly questions?: readonly LabelledQuestion[] | undefined
  readonly bound: EvaluationBound
  /** Conversations at the same time; default 4. */
  readonly concurrency?: number | undefined
  /** Ends it: calls in progress may finish and are recorded. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: EvaluationProgress) => void) | undefined
}

/** Progress of the candidate that runs now. */
export interface EvaluationProgress extends ReplayProgress {
  /** Name of the candidate. */
  readonly candidate: string
  /** Its number, from 1. */
  readonly number: number
  /** Number of candidates. */
  readonly candidates: number
}

/** Why a candidate has no result for a conversation, if the replay itself did not fail. */
export type CandidateUnfinished = {
  /**
   * `CandidateHasNoRoom`: the bound on spending has no room for the next call. `CandidateBusy`: another process makes the
   * same edition. `CandidateNotTried`: the evaluation was stopped, or another conversation failed in a way that all
   * conversations would.
   */
  readonly kind: 'CandidateHasNoRoom' | 'CandidateBusy' | 'CandidateNotTried'
}

/** Why a candidate has no result for a conversation. */
export type CandidateFailure = ReplayFailure | CandidateUnfinished

/** Tokens that a candidate's contexts may have: the same for all candidates unless a policy changes them. */
export interface CandidateBudget {
  /** Limit of every context, in tokens: `modelMaxTokens` less the reserves. */
  readonly hardLimit: number
  /** Tokens at which a cycle starts. */
  readonly softLimit: number
}

/** Measures of a candidate over all conversations. */
export interface CandidateMeasures {
  /** Sums over the conversations; `depth` is the largest. */
  readonly figures: Figures
  /** Items of the removed messages that the contexts keep. */
  readonly kept: KeptCounts
  /** Absent without questions. */
  readonly evidence?: EvidenceCounts
  /** The smallest and the largest budget of the conversations. */
  readonly budget: { readonly least: CandidateBudget; readonly most: CandidateBudget }
}

/** A candidate with its edition, its cost and its measures. */
export interface EvaluatedCandidate {
  /** The name in the request. */
  readonly name: string
  /** Id of the edition that it makes. */
  readonly editionId: string
  /** Strategy of its summarizer. */
  readonly strategy: string
  /** Provider of its model; `none` without a model. */
  readonly provider: string
  /** Name of its model. */
  readonly model: string
  /** Settings in addition to those of each conversation. */
  readonly settings: PolicySettings
  /** Requests that the edition sent to its model; 0 for a strategy without a model. Absent as `measures` is. */
  readonly calls?: number
  /** Model calls of this run, failed ones included. */
  readonly callsNow: number
  /** Summaries that this run took from other editions without a call. */
  readonly reused: number
  /** Tokens and cost of the edition, earlier runs included. */
  readonly spent: EditionSpending
  /** Absent if the candidate did not finish every conversation. */
  readonly measures?: CandidateMeasures
  /** Conversations that the candidate did not finish, with the reason. */
  readonly failures: readonly { readonly conversationId: string; readonly failure: CandidateFailure }[]
}

/** All candidates over the same conversations. */
export interface Evaluation {
  /** The conversations that were compacted. */
  readonly conversationIds: readonly string[]
  /** Messages of these conversations. */
  readonly messages: number
  /** Currency of the prices, if there are any. */
  readonly currency?: string
  /** False if candidates have different token budgets: then their figures cannot be compared directly. */
  readonly hasEqualBudgets: boolean
  /** Labelled questions that were read; those without evidence in the conversations are not counted. */
  readonly questions?: number
  /** In the order of the request. Candidates that make the same edition are listed once. */
  readonly candidates: readonly EvaluatedCandidate[]
  /** True if the signal ended it. */
  readonly isStopped: boolean
}

export interface EvaluateDependencies extends Omit<ReplayAllDependencies, 'summarizer'> {
  readonly search: SearchPorts
}

/** A candidate with its edition. */
interface PlannedCandidate extends Candidate {
  readonly editionId: string
}

/** Candidates that make the same edition are one: the first counts. */
async function planned(
  deps: EvaluateDependencies,
  { conversationIds, candidates }: Pick<EvaluateRequest, 'conversationIds' | 'candidates'>,
): Promise<PlannedCandidate[]> {
  const erased = await erasedEditions(deps.log, conversationIds)
  const byEdition = new Map<string, PlannedCandidate>()
  for (const candidate of candidates) {
    const editionId = editionIdOf({ ...candidate, persona: deps.persona }, erased)
    if (!byEdition.has(editionId)) byEdition.set(editionId, { ...candidate, editionId })
  }
  return [...byEdition.values()]
}

/** The bound of this candidate: the bound of all less the spending of the others. */
async function boundOf(
  { spending }: EvaluateDependencies,
  { tokens, costMicros: most }: EvaluationBound,
  candidate: PlannedCandidate,
  candidates: readonly PlannedCandidate[],
): Promise<SpendingLimits> {
  let [tokensElsewhere, microsElsewhere] = [0, 0]
  for (const { editionId, price } of candidates) {
    if (editionId === candidate.editionId) continue
    const spent = await spending.spentOn(editionId)
    tokensElsewhere += spent.promptTokens + spent.completionTokens
    if (price !== undefined) microsElsewhere += costMicros(spent, price)
  }
  return {
    ...(tokens === undefined ? {} : { tokens: Math.max(0, tokens - tokensElsewhere) }),
    ...(most === undefined || candidate.price === undefined
      ? {}
      : { cost: { micros: Math.max(0, most - microsElsewhere), price: candidate.price } }),
  }
}

function failuresOf({ conversations, ended }: Replay): EvaluatedCandidate['failures'] {
  const failureOf = ({ outcome }: Replay['conversations'][number]): CandidateFailure | undefined => {
    switch (outcome.kind) {
      case 'done':
        return undefined
      case 'busy':
        return { kind: 'CandidateBusy' }
      case 'stopped':
        return outcome.failure
      case 'postponed':
        return { kind: ended === 'bound' ? 'CandidateHasNoRoom' : 'CandidateNotTried' }
    }
  }
  return conversations.flatMap((each) => {
    const failure = failureOf(each)
    return failure === undefined ? [] : [{ conversationId: each.conversationId, failure }]
  })
}

/** Measures of one candidate in one conversation. */
interface ConversationMeasures {
  readonly figures: Figures
  readonly kept: KeptCounts
  readonly evidence: EvidenceCounts | undefined
  readonly budget: CandidateBudget
}

/** The messages of a conversation that are not withdrawn, as the loss report and the search need them. */
async function messagesOf(
  { log }: EvaluateDependencies,
  { conversationId, revision }: Conversation,
): Promise<{ readonly messages: readonly ReportMessage[]; readonly evidence: readonly EvidenceMessage[] }> {
  const messages = new RecordedMessages()
  const evidence = new Map<string, EvidenceMessage>()
  for await (const stored of log.store.readStream(conversationStream(conversationId), {
    limit: revision + 1,
  })) {
    const event = await decodeEvent(stored, log)
    messages.take(event)
    if (!isOfType(event, 'MessageAppended')) continue
    const { messageId } = event.data
    evidence.set(messageId, { messageId, revision: event.revision, text: textOf(event.data) })
  }
  return {
    messages: messages.all(),
    evidence: [...evidence.values()].filter(({ messageId }) => messages.has(messageId)),
  }
}

function shownBy(state: Conversation): CompactedContext {
  const context = contextOf(state)
  const shownIds = new Set(E.isRight(context) ? context.right.messageIds.flatMap((id) => id ?? []) : [])
  for (const { id } of E.isRight(context) ? (context.right.shortened ?? []) : []) shownIds.delete(id)
  return { summaryText: state.view?.text ?? '', shownIds }
}

/** Measures all editions of one conversation against the same messages, in the order of the editions. */
async function measureConversation(
  deps: EvaluateDependencies,
  conversationId: string,
  editionIds: readonly string[],
  questions: readonly LabelledQuestion[] | undefined,
): Promise<{ readonly messages: number; readonly byEdition: readonly ConversationMeasures[] }> {
  const head = await loadConversation(deps.log, conversationId)
  const { messages, evidence: searchedMessages } = await messagesOf(deps, head)
  const stored = []
  for (const editionId of editionIds) {
    const edition = await storedEdition(deps.log, conversationId, editionId)
    if (edition === undefined) throw new Error(`edition ${editionId} of "${conversationId}" was made and is not there`)
    stored.push({ ...edition, state: await seeUntil(deps.log, edition.state, head.revision) })
  }
  const byCompaction = keptOf(
    messages,
    stored.map(({ state }) => shownBy(state)),
  )
  const byEdition: ConversationMeasures[] = []
  for (const [at, { state, bought }] of stored.entries()) {
    const policy = state.configuration?.policy
    const counts = byCompaction[at]
    if (policy === undefined || counts === undefined) throw new Error(`edition of "${conversationId}" has no policy`)
    byEdition.push({
      figures: figuresOf(state, bought),
      kept: counts,
      evidence:
        questions === undefined
          ? undefined
          : await evidenceOf(deps.search, { state, side: sideOf(state) }, questions, searchedMessages),
      budget: { hardLimit: hardLimit(policy), softLimit: softLimit(policy) },
    })
  }
  return { messages: messages.length, byEdition }
}

function sumFigures(all: readonly Figures[]): Figures {
  const sum = (key: keyof Figures): number => all.reduce((total, figures) => total + figures[key], 0)
  return {
    contextTokens: sum('contextTokens'),
    viewTokens: sum('viewTokens'),
    batches: sum('batches'),
    depth: Math.max(0, ...all.map(({ depth }) => depth)),
    cycles: sum('cycles'),
    messagesCompressed: sum('messagesCompressed'),
    calls: sum('calls'),
    tokensBought: sum('tokensBought'),
  }
}

function sumEvidence(all: readonly EvidenceCounts[]): EvidenceCounts | undefined {
  if (all.length === 0) return undefined
  const sum = (of: (counts: EvidenceCounts) => number): number => all.reduce((total, counts) => total + of(counts), 0)
  return {
    questions: sum(({ questions }) => questions),
    inContext: sum(({ inContext }) => inContext),
    withinReach: sum(({ withinReach }) => withinReach),
    messages: {
      total: sum(({ messages }) => messages.total),
      inContext: sum(({ messages }) => messages.inContext),
      withinReach: sum(({ messages }) => messages.withinReach),
    },
  }
}

function measuresOf(all: readonly ConversationMeasures[]): CandidateMeasures {
  const budgets = all.map(({ budget }) => budget)
  const budget = (pick: (...values: number[]) => number): CandidateBudget => ({
    hardLimit: pick(...budgets.map((each) => each.hardLimit)),
    softLimit: pick(...budgets.map((each) => each.softLimit)),
  })
  const evidence = sumEvidence(all.flatMap((each) => each.evidence ?? []))
  return {
    figures: sumFigures(all.map(({ figures }) => figures)),
    kept: sumKept(all.map(({ kept }) => kept)),
    ...(evidence === undefined ? {} : { evidence }),
    budget: { least: budget(Math.min), most: budget(Math.max) },
  }
}

const callsOf = (summarizer: Summarizer, all: readonly ConversationMeasures[]): number =>
  isWithoutModel(summarizer) ? 0 : all.reduce((sum, { figures }) => sum + figures.calls, 0)

const isSameBudget = (a: CandidateBudget, b: CandidateBudget): boolean =>
  a.hardLimit === b.hardLimit && a.softLimit === b.softLimit

/** Runs one candidate over all conversations. */
async function runCandidate(
  deps: EvaluateDependencies,
  request: EvaluateRequest,
  candidates: readonly PlannedCandidate[],
  number: number,
): Promise<Replay> {
  const candidate = candidates[number - 1]
  if (candidate === undefined) throw new Error(`there is no candidate ${String(number)}`)
  const { onProgress } = request
  const bound = isWithoutModel(candidate.summarizer) ? {} : await boundOf(deps, request.bound, candidate, candidates)
  return await replay(
    { ...deps, summarizer: candidate.summarizer },
    {
      conversationIds: request.conversationIds,
      settings: candidate.settings,
      bound,
      price: candidate.price,
      concurrency: request.concurrency,
      signal: request.signal,
      ...(onProgress === undefined
        ? {}
        : {
            onProgress: (progress) => {
              onProgress({ ...progress, candidate: candidate.name, number, candidates: candidates.length })
            },
          }),
    },
  )
}

/** Makes an edition for each candidate and measures those that are finished. A failed candidate stops no other one. */
export async function evaluate(deps: EvaluateDependencies, request: EvaluateRequest): Promise<Evaluation> {
  const conversationIds = [...new Set(request.conversationIds)]
  const candidates = await planned(deps, { ...request, conversationIds })
  const made: { readonly replayed: Replay; readonly failures: EvaluatedCandidate['failures'] }[] = []
  for (const [at] of candidates.entries()) {
    const replayed = await runCandidate(deps, { ...request, conversationIds }, candidates, at + 1)
    made.push({ replayed, failures: failuresOf(replayed) })
  }
  const finished = made.flatMap(({ replayed, failures }) => (failures.length === 0 ? [replayed.editionId] : []))
  const measured = new Map<string, ConversationMeasures[]>(finished.map((editionId) => [editionId, []]))
  let messages = 0
  for (const conversationId of conversationIds) {
    const found = await measureConversation(deps, conversationId, finished, request.questions)
    messages += found.messages
    for (const [at, editionId] of finished.entries())
      measured.get(editionId)?.push(...found.byEdition.slice(at, at + 1))
  }
  const budgets = conversationIds.map((_id, at) => finished.flatMap((id) => measured.get(id)?.[at]?.budget ?? []))
  const currency = candidates.find(({ price }) => price !== undefined)?.price?.currency
  return {
    conversationIds,
    messages,
    ...(currency === undefined ? {} : { currency }),
    hasEqualBudgets: budgets.every((each) => each.every((one) => isSameBudget(one, each[0] ?? one))),
    ...(request.questions === undefined ? {} : { questions: request.questions.length }),
    candidates: candidates.flatMap(({ name, editionId, summarizer, settings = {} }, at): EvaluatedCandidate[] => {
      const one = made[at]
      const all = measured.get(editionId)
      return one === undefined
        ? []
        : [
            {
              name,
              editionId,
              strategy: summarizer.strategy,
              provider: summarizer.provider,
              model: summarizer.model,
              settings,
              callsNow: one.replayed.paid.calls,
              reused: one.replayed.conversations.reduce((sum, { reused }) => sum + reused, 0),
              spent: one.replayed.spent,
              ...(all === undefined ? {} : { calls: callsOf(summarizer, all), measures: measuresOf(all) }),
              failures: one.failures,
            },
          ]
    }),
    isStopped: request.signal?.aborted === true,
  }
}

/** The most that an evaluation would buy, candidate by candidate. */
export interface EvaluationEstimate {
  /** In the order of the request. */
  readonly candidates: readonly { readonly name: string; readonly estimate: ReplayEstimate }[]
  /** Calls of all candidates together. */
  readonly calls: number
}

/** Estimates every candidate. Records nothing and calls no model. Throws the signal's reason once that aborts. */
export async function estimateEvaluation(
  deps: EvaluateDependencies,
  { conversationIds, candidates, signal }: Pick<EvaluateRequest, 'conversationIds' | 'candidates' | 'signal'>,
): Promise<EvaluationEstimate> {
  const estimates: EvaluationEstimate['candidates'][number][] = []
  for (const { name, summarizer, settings, price } of await planned(deps, { conversationIds, candidates })) {
    // A strategy without a model buys nothing, and estimating it takes as long as the work.
    if (isWithoutModel(summarizer)) continue
    const estimate = await estimateReplay({ ...deps, summarizer }, { conversationIds, settings, price, signal })
    estimates.push({ name, estimate })
  }
  return { candidates: estimates, calls: estimates.reduce((sum, { estimate }) => sum + estimate.calls, 0) }
}
