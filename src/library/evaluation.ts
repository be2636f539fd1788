/** Evaluations as the library offers them: checks the options and the models, and calls the use case. */
import type { Claims } from '../ports/claims.js'
import type { ModelCheck, ModelEndpoint } from '../ports/model-check.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { SearchPorts } from '../application/search/search.js'
import { unknownName } from '../domain/text/known-names.js'
import { isWithoutModel } from '../domain/reports/prices.js'
import { hashOf } from '../domain/values/hash.js'
import { modelUnusable } from '../application/editions/failures.js'
import type { AdoptDependencies } from '../application/editions/adopt.js'
import {
  estimateEvaluation,
  evaluate,
  type Candidate,
  type EvaluateDependencies,
} from '../application/editions/evaluate.js'
import type { LabelledQuestion } from '../application/editions/evidence-reach.js'
import { createEditionNames } from './edition-names.js'
import { BOUND, checkBound, MICROS, priceGiven } from './editions.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { CandidateOptions, EditionsEvaluated, EvaluateOptions, EvaluationRequest } from './ledger-evaluation.js'
import type { Lookup } from './lookup.js'
import {
  ACTOR,
  bad,
  conversationsGiven,
  listenerGiven,
  optionsGiven,
  settingsOf,
  signalGiven,
  textGiven,
  wholeNumberGiven,
  type Names,
} from './options.js'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

const REQUEST: Names<EvaluationRequest> = { conversations: true, candidates: true, signal: true }
const EVALUATE: Names<EvaluateOptions> = {
  ...REQUEST,
  ...BOUND,
  ...ACTOR,
  questions: true,
  concurrency: true,
  onProgress: true,
}
const CANDIDATE: Names<CandidateOptions> = { name: true, summarizer: true, policy: true, price: true }

export interface EvaluationParts
  extends
    Pick<LedgerParts, 'db' | 'onProblem' | 'candidateSummarizer' | 'checkModel'>,
    Omit<AdoptDependencies, 'conversations' | 'summarizer'> {
  readonly claims: Claims
  readonly conversations: Conversations
  readonly searchPorts: SearchPorts
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

function questionsGiven(questions: readonly LabelledQuestion[] | undefined): readonly LabelledQuestion[] | undefined {
  if (questions !== undefined && !Array.isArray(questions)) throw bad('questions', 'must be a list')
  return questions
}

/** The endpoint of a candidate's model; undefined if the ledger does not know one. */
function endpointOf({ summarizer }: CandidateOptions): ModelEndpoint | undefined {
  if (typeof summarizer !== 'object' || !('kind' in summarizer) || summarizer.kind !== 'openai') return undefined
  const { model, baseUrl, apiKey, timeoutMs } = summarizer
  return { model, baseUrl, apiKey, timeoutMs }
}

/**
 * Checks endpoints, each once: an estimate and its evaluation share the checks. The check throws `ModelUnusable`
 * or `ModelUnavailable` if the model cannot be used.
 */
function createModelChecks(
  checkModel: LedgerParts['checkModel'],
): (endpoint: ModelEndpoint, signal: AbortSignal | undefined) => Promise<void> {
  const checks = new Map<string, Promise<ModelCheck>>()

  return async (endpoint, signal) => {
    const key = hashOf({ ...endpoint })
    const known = checks.get(key) ?? checkModel(endpoint, signal)
    checks.set(key, known)
    const check = await known
    if (check.kind === 'usable') return
    // The next call checks again: the endpoint may be repaired by then.
    checks.delete(key)
    const { model, baseUrl } = endpoint
    throw problem(modelUnusable({ model, baseUrl, failure: check.failure, detail: check.detail }))
  }
}

/** A candidate, checked; throws `BadInput` for an option that is wrong. */
function candidateOf(
  options: CandidateOptions,
  at: number,
  candidateSummarizer: LedgerParts['candidateSummarizer'],
): Candidate {
  const field = `candidates[${String(at)}]`
  if (typeof options !== 'object' || options === null) throw bad(field, 'must have a name and a summarizer')
  const wrong = unknownName(options, Object.keys(CANDIDATE), 'option of a candidate')
  if (wrong !== undefined) throw bad(`${field}.${wrong.field}`, wrong.detail)
  if (options.summarizer === undefined) throw bad(`${field}.summarizer`, 'is missing')
  return {
    name: textGiven(`${field}.name`, options.name),
    summarizer: candidateSummarizer(options.summarizer),
    settings: settingsOf(options.policy),
    price: priceGiven(options.price),
  }
}

/** Throws if prices are in several currencies, or if the cost is bounded and a model has no price. */
function checkPrices(candidates: readonly Candidate[], mustHavePrices: boolean): void {
  const currencies = new Set(candidates.flatMap(({ price }) => price?.currency ?? []))
  if (currencies.size > 1) throw bad('candidates', `have prices in several currencies: ${[...currencies].join(', ')}`)
  const unpriced = candidates.find(({ summarizer, price }) => price === undefined && !isWithoutModel(summarizer))
  if (mustHavePrices && unpriced !== undefined)
    throw bad('maxCost', `needs the price of the model of every candidate, and "${unpriced.name}" has none`)
}

/** Builds the part of the ledger that evaluates. */
export function createEvaluations(parts: EvaluationParts): EditionsEvaluated {
  const { candidateSummarizer, checkModel, searchPorts, gate, freshness, lookup, provenanceOf, onProblem } = parts
  const { existing } = createEditionNames(parts)
  const checkUsable = createModelChecks(checkModel)

  /**
   * Conversations and candidates, all checked before anything is bought or recorded.
   * @param mustHavePrices the cost is bounded, so the price of every model has to be known
   */
  async function requestOf(
    { conversations, candidates: list, signal }: Partial<EvaluationRequest>,
    mustHavePrices: boolean,
  ): Promise<{
    readonly conversationIds: readonly string[]
    readonly candidates: readonly Candidate[]
  }> {
    signalGiven(signal)
    const ids = conversationsGiven('conversations', conversations)
    if (!Array.isArray(list) || list.length === 0) throw bad('candidates', 'are missing: give at least one')
    const options: readonly CandidateOptions[] = Array.from(list)
    const candidates = options.map((each, at) => candidateOf(each, at, candidateSummarizer))
    checkPrices(candidates, mustHavePrices)
    const conversationIds = ids === 'all' ? await lookup.all() : ids
    if (conversationIds.length === 0) throw bad('conversations', 'are missing: there is no conversation')
    for (const conversationId of conversationIds) await existing(conversationId)
    for (const endpoint of options.map(endpointOf)) if (endpoint !== undefined) await checkUsable(endpoint, signal)
    return { conversationIds, candidates }
  }

  const depsFor = (actor: string): EvaluateDependencies => ({ ...parts, actor, search: searchPorts })

  return {
    async estimateEvaluation(given) {
      gate.open()
      const { signal, ...rest } = optionsGiven('editions.estimateEvaluation', given, REQUEST)
      const request = await requestOf({ ...rest, ...(signal === undefined ? {} : { signal }) }, false)
      return await estimateEvaluation(depsFor(provenanceOf({}).actor), { ...request, signal })
    },
    async evaluate(given) {
      gate.writes('editions.evaluate')
      const { questions, concurrency, onProgress, maxTokens, maxCost, actor, ...rest } = optionsGiven(
        'editions.evaluate',
        given,
        EVALUATE,
      )
      checkBound({ ...(maxTokens === undefined ? {} : { maxTokens }), ...(maxCost === undefined ? {} : { maxCost }) })
      wholeNumberGiven('concurrency', concurrency, 1)
      const labelled = questionsGiven(questions)
      const listener = listenerGiven('onProgress', onProgress, onProblem)
      const { actor: by } = provenanceOf(actor === undefined ? {} : { actor })
      const request = await requestOf(rest, maxCost !== undefined)
      // Evidence is searched in the read models.
      if (labelled !== undefined) await freshness.rows()
      return await evaluate(depsFor(by), {
        ...request,
        questions: labelled,
        bound: { tokens: maxTokens, costMicros: maxCost === undefined ? undefined : Math.floor(maxCost * MICROS) },
        concurrency,
        signal: rest.signal,
        onProgress: listener,
      })
    },
  }
}
