/** Evaluations as the library offers them: checks the options and the models, and calls the use case. */
import type { Claims } from '../ports/claims.js'
import type { ModelCheck, ModelEndpoint } from '../ports/model-check.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { SearchPorts } from '../application/search/search.js'
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
import { createEditionNames } from './edition-names.js'
import { MICROS } from './editions.js'
import * as calls from '../schema/calls/editions.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { CandidateOptions, EditionsEvaluated, EvaluationRequest } from './ledger-evaluation.js'
import type { Lookup } from './lookup.js'
import { bad } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export interface EvaluationParts
  extends
    Pick<LedgerParts, 'db' | 'candidateSummarizer' | 'checkModel'>,
    Omit<AdoptDependencies, 'conversations' | 'summarizer'> {
  readonly claims: Claims
  readonly conversations: Conversations
  readonly searchPorts: SearchPorts
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

/** The endpoint of a candidate's model; undefined if the ledger does not know one. */
function endpointOf({ summarizer }: Pick<CandidateOptions, 'summarizer'>): ModelEndpoint | undefined {
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
  const { candidateSummarizer, checkModel, searchPorts, gate, freshness, lookup, provenanceOf } = parts
  const { existing } = createEditionNames(parts)
  const checkUsable = createModelChecks(checkModel)

  /**
   * Conversations and candidates, all checked before anything is bought or recorded.
   * @param mustHavePrices the cost is bounded, so the price of every model has to be known
   */
  async function requestOf(
    { conversations: ids, candidates: options, signal }: EvaluationRequest,
    mustHavePrices: boolean,
  ): Promise<{
    readonly conversationIds: readonly string[]
    readonly candidates: readonly Candidate[]
  }> {
    const candidates = options.map(({ name, summarizer, policy, price }) => ({
      name,
      summarizer: candidateSummarizer(summarizer),
      settings: policy,
      price,
    }))
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
      const options = gate.enter(calls.estimateEvaluation, given)
      const request = await requestOf(options, false)
      return await estimateEvaluation(depsFor(provenanceOf({}).actor), { ...request, signal: options.signal })
    },
    async evaluate(given) {
      const { questions, concurrency, onProgress, maxTokens, maxCost, actor, ...rest } = gate.enter(
        calls.evaluate,
        given,
      )
      const { actor: by } = provenanceOf({ actor })
      const request = await requestOf(rest, maxCost !== undefined)
      // Evidence is searched in the read models.
      if (questions !== undefined) await freshness.bringRows()
      return await evaluate(depsFor(by), {
        ...request,
        questions,
        bound: { tokens: maxTokens, costMicros: maxCost === undefined ? undefined : Math.floor(maxCost * MICROS) },
        concurrency,
        signal: rest.signal,
        onProgress,
      })
    },
  }
}
