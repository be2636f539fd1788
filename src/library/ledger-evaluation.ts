/** The part of the ledger's interface that evaluates ways to compact. */
import type { InputOf, OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/editions.js'
import type { Evaluation, EvaluationEstimate } from '../application/editions/evaluate.js'

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
export type { KeptKind, KeptCount, KeptCounts } from '../application/loss-report/kept.js'

/** One way to compact. */
export type CandidateOptions = InputOf<ReturnType<typeof calls.candidate>>

/** Which conversations, by which candidates. */
export type EvaluationRequest = OptionsOf<typeof calls.estimateEvaluation>

/** An evaluation, with a bound on the spending of all candidates together, earlier runs included. */
export type EvaluateOptions = OptionsOf<typeof calls.evaluate>

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
