/** Failures as errors: finds the sentence of a failure. */
import { either as E } from 'fp-ts'
import { type FailureKind, type Fault } from '../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'
import { decisionSentences } from '../domain/decide/failures.js'
import { portSentences } from '../ports/failures.js'
import type { EmbeddingFailure } from '../ports/embedding-model.js'
import { compactionSentences } from '../application/compaction/failures.js'
import { editionSentences, type ModelUnusable, type NoSuchEdition } from '../application/editions/failures.js'
import { historySentences } from '../application/history/failures.js'
import { importSentences, type ImportFailure } from '../application/importers/failures.js'
import { handoffSentences, type HandoffFailure } from '../application/handoff/failures.js'
import { retentionSentences, type RetentionFailure } from '../application/retention/failures.js'
import { recordingSentences, type NotRecorded } from '../application/recording/failures.js'
import type { EditionFailure } from '../application/editions/adopt.js'
import type { DifferenceFailure } from '../application/history/difference.js'
import type { ContextObserved } from '../application/compaction/compact-now.js'
import type { MessageNotFound } from '../application/compaction/amend.js'
import type { HistoryDiverged } from '../application/compaction/record-list.js'
import type { ExplainFailure } from '../application/history/explanation.js'
import type { CompareFailure } from '../application/editions/compare.js'
import type { UndoFailure } from '../application/editions/undo-and-revert.js'
import type { CandidateUnfinished } from '../application/editions/evaluate.js'
import type { ReviewFailed } from '../application/rules/ask-reviewer.js'
import type { ReplayFailure } from '../application/editions/replay.js'
import type { CycleNotRecorded } from '../application/history/cycles.js'
import type { NoSuchMoment } from '../application/history/time-travel.js'
import type { NoContext } from '../domain/compaction/context.js'
import type { BadMessage } from '../domain/values/parse-message.js'
import { sentenceOf, type Sentences } from '../domain/values/failure-sentences.js'
import { count } from '../domain/text/count.js'
import { didYouMean } from '../domain/text/known-names.js'
import { thrownSentence } from '../domain/values/thrown.js'
import type { SummarizerFailure } from '../ports/summarizer.js'

/** A failure of the library as data. `kind` discriminates; the other fields are its details. */
export type Failure =
  | EmbeddingFailure
  | UndoFailure
  | CompareFailure
  | EditionFailure
  | ReplayFailure
  | NoSuchEdition
  | ModelUnusable
  | CandidateUnfinished
  | NotRecorded
  | RetentionFailure
  | ImportFailure
  | HandoffFailure
  | BadMessage
  | HistoryDiverged
  | MessageNotFound
  | ContextObserved
  | NoContext
  | SummarizerFailure
  | ExplainFailure
  | NoSuchMoment
  | CycleNotRecorded
  | DifferenceFailure
  | { readonly kind: 'BadInput'; readonly field: string; readonly detail: string }
  | { readonly kind: 'ProjectionsBehind'; readonly detail: string }
  | {
      readonly kind: 'NoSuchRule'
      readonly conversationId: string
      readonly rule: string
      readonly nearest?: string
    }
  | ReviewFailed
  | { readonly kind: 'LedgerClosed' }
  /** The conversation has another revision than expected; `actual` is -1 if the conversation does not exist. */
  | {
      readonly kind: 'RevisionNotExpected'
      readonly conversationId: string
      readonly expected: number
      readonly actual: number
    }
  | { readonly kind: 'LedgerReadOnly'; readonly call: string; readonly name: string; readonly keptBy?: string }
  | { readonly kind: 'LedgerBeingWritten'; readonly name: string; readonly keptBy: string }
  /** Reported, not thrown. */
  | { readonly kind: 'UnknownModelWindow'; readonly model: string; readonly assumed: number }

/** Every failure's sentence: the compiler asks for one that no capability has. */
const SENTENCES: Sentences<Failure> = {
  ...decisionSentences,
  ...portSentences,
  ...compactionSentences,
  ...recordingSentences,
  ...retentionSentences,
  ...importSentences,
  ...handoffSentences,
  ...historySentences,
  ...editionSentences,
  BadInput: (failure) => `${failure.field} ${failure.detail}`,
  ProjectionsBehind: (failure) => failure.detail,
  NoSuchRule: (failure) =>
    `there is no rule "${failure.rule}" in conversation "${failure.conversationId}"${didYouMean(failure.nearest)}: \`rules list\` lists its rules${/:\d+$/u.test(failure.rule) ? '. A rule of a file is changed in the file' : ''}`,
  ReviewFailed: ({ failure, detail }) =>
    `the model gave no review of the rules (${failure}): ${detail}. What it reviewed before is recorded; the same call goes on from there`,
  UnknownModelWindow: (failure) =>
    `the window of the model "${failure.model}" is not known: ${count(failure.assumed)} tokens are assumed; modelMaxTokens (--model-max-tokens) sets it`,
  RevisionNotExpected: (failure) =>
    `conversation "${failure.conversationId}" ${failure.actual < 0 ? 'is not there' : `stands at revision ${String(failure.actual)}`}, and ${failure.expected < 0 ? 'was expected to be a new one' : `was expected at revision ${String(failure.expected)}`}: nothing was recorded`,
  LedgerClosed: () => 'the ledger is closed',
  LedgerBeingWritten: (failure) =>
    `verify holds every row against the facts, and ${failure.name} is open in ${failure.keptBy}, which goes on writing both: verify in that process, or when it has ended`,
  LedgerReadOnly: (failure) =>
    `${failure.call} writes, and ${failure.name} was opened with readOnly${failure.keptBy === undefined ? '' : ` while it is open in ${failure.keptBy}: write by way of that process, or when it has ended`}`,
}

/** Returns the error for a failure. */
export function problem(failure: Failure): LedgerError {
  const { kind, ...details } = failure
  return new LedgerError(kind, sentenceOf(SENTENCES, failure), { details })
}

/** The value of a Right; a Left is thrown by `raise`. */
export function valueOf<L, R>(either: E.Either<L, R>, raise: (left: L) => Error): R {
  if (E.isLeft(either)) throw raise(either.left)
  return either.right
}

/** Fault and sentence of an error. Unknown errors are internal errors. */
export function faultOf(error: unknown): { fault: Fault | 'bug'; message: string } {
  if (isLedgerError(error)) return { fault: error.fault, message: error.message }
  return { fault: 'bug', message: thrownSentence(error) }
}

/** HTTP status of an error. */
export const statusOf = (error: unknown): number => (isLedgerError(error) ? error.status : 500)

/**
 * Whether the error is about rows and not about the log: a projection stopped, or no process runs the projections.
 */
export const isRowsFailure = (error: unknown): error is LedgerError =>
  isLedgerError(error, 'ProjectionStopped', 'ProjectionsBehind', 'RebuildStopped')

/** A problem as data, for listeners: its kind, a sentence, and its details. */
export interface ProblemData {
  /** The kind of a `LedgerError`; `Bug` for an internal error. */
  readonly kind: string
  /** One sentence for people. */
  readonly message: string
  readonly [about: string]: unknown
}

/** A failure, an error, or whatever else was handed over, as data. */
export function dataOfProblem(given: unknown): ProblemData {
  const message = sentenceOfProblem(given)
  if (isLedgerError(given)) return { ...given.details, kind: given.kind, message }
  if (given instanceof Error) return { kind: kindOf(given), message }
  return typeof given === 'object' && given !== null && 'kind' in given && typeof given.kind === 'string'
    ? { ...given, kind: given.kind, message }
    : { kind: 'Bug', message }
}

/** Name of an error's kind, for programs. */
export function kindOf(error: unknown): FailureKind {
  return isLedgerError(error) ? error.kind : 'Bug'
}

/** `onProblem` hands over the failures of the use cases as they are; anything else has no kind that we know. */
const isFailure = (given: unknown): given is Failure =>
  typeof given === 'object' &&
  given !== null &&
  'kind' in given &&
  typeof given.kind === 'string' &&
  Object.hasOwn(SENTENCES, given.kind)

/** One sentence for a background problem: a failure, an error, or any other value. */
export function sentenceOfProblem(given: unknown): string {
  if (given instanceof Error) return faultOf(given).message
  return isFailure(given) ? sentenceOf(SENTENCES, given) : thrownSentence(given)
}
