/** The part of the ledger's interface that evaluates ways to compact. */
import type { PolicySettings } from '../domain/values/policy.js'
import type { LabelledQuestion } from '../application/editions/evidence-reach.js'
import type { Evaluation, EvaluationEstimate, EvaluationProgress } from '../application/editions/evaluate.js'
import type { ActorOptions, LedgerOptions } from './ledger-options.js'
import type { EditionBound, Price, ReplayOptions } from './ledger-editions.js'

export type {
  CandidateBudget,
  CandidateFailure,
  CandidateMeasures,
  EvaluatedCandidate,
  Evaluation,
  EvaluationEstimate,
  EvaluationProgress,
} from '../application/editions/evaluate.js'
export type { EvidenceCounts } from '../application/editions/evidence-reach.js'
export type { RetainedKind, Retention, RetentionCounts } from '../application/loss-report/retention.js'

/** One way to compact. */
export interface CandidateOptions {
  /** Names the candidate in the result. */
  readonly name: string
  /** The strategy, with its model and prompt. */
  readonly summarizer: NonNullable<LedgerOptions['summarizer']>
  /** Settings over those that each conversation has itself. */
  readonly policy?: PolicySettings
  /** Price of the model; required with `maxCost`. All candidates have the same currency. */
  readonly price?: Price
}

/** Which conversations, by which candidates. */
export interface EvaluationRequest extends Pick<ReplayOptions, 'signal'> {
  /** Ids of conversations, or `all`. */
  readonly conversations: readonly string[] | 'all'
  /** At least one. Candidates that make the same edition are evaluated once. */
  readonly candidates: readonly CandidateOptions[]
}

/** An evaluation, with a bound on the spending of all candidates together, earlier runs included. */
export interface EvaluateOptions extends EvaluationRequest, EditionBound, ActorOptions {
  /** Questions with the messages that answer them. */
  readonly questions?: readonly LabelledQuestion[]
  /** Conversations at the same time; default 4. */
  readonly concurrency?: number
  /** Called with the progress. Errors that it throws end the call. */
  readonly onProgress?: (progress: EvaluationProgress) => void
}

/** Several ways to compact the same conversations, measured against each other. */
export interface EditionsEvaluated {
  /**
   * The most that the candidates would buy. Records nothing. Models are checked: the endpoint's list of models is read, or,
   * if it has none, one request of a few tokens is sent. Throws `ModelUnusable` or
   * `ModelUnavailable` if a model cannot be used.
   */
  estimateEvaluation(request: EvaluationRequest): Promise<EvaluationEstimate>
  /**
   * Makes an edition of the conversations for each candidate, one candidate after the other, and measures the finished
   * ones. The same evaluation again continues and buys nothing twice. Models are checked first, as by
   * `estimateEvaluation`. A candidate that fails has its reasons in `failures`, and the others continue.
   */
  evaluate(options: EvaluateOptions): Promise<Evaluation>
}
