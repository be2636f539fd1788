/**
 * Failure → one sentence, and whose fault it is. The only place that makes sentences of rejections and failures; a way
 * in turns the
 * fault into its exit status or HTTP status.
 */
import { either as E } from 'fp-ts'
import { Fenced } from '../../projections/engine/checkpoints.js'
import { RebuildFailed } from '../../projections/engine/rebuild.js'
import { ProjectionStopped } from '../../projections/engine/runner.js'
import type { EmbeddingFailure } from '../ports/embedding-model.js'
import type { EditionFailure } from '../editions/adopt.js'
import type { DifferenceFailure } from '../history/difference.js'
import { UnreadableEventError } from '../recording/read-event.js'
import type { HistoryDiverged } from '../compaction/compress.js'
import type { ExplainFailure } from '../history/explain.js'
import type { CompareFailure } from '../editions/compare.js'
import type { UndoFailure } from '../editions/undo-and-revert.js'
import type { ReplayFailure } from '../editions/replay.js'
import type { CycleNotRecorded } from '../history/cycles.js'
import type { NoSuchMoment } from '../history/time-travel.js'
import type { NoContext } from '../domain/compaction/context.js'
import type { BadMessage } from '../domain/values/message.js'
import { didYouMean } from '../domain/text/known-names.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { EstimatorFailed, EstimatorNotRegistered } from '../domain/values/tokens.js'
import { codeOf, StoreError } from '../ports/store-error.js'
import { LogCopyError } from '../ports/log-copy.js'
import { ManifestError } from '../ports/manifest.js'
import type { SummarizerFailure } from '../ports/summarizer.js'
import { count } from './count.js'

/**
 * `input`: what was asked is wrong; `state`: it does not fit what is recorded; `world`: a store or model cannot be used
 * now; `data`: the log cannot be trusted or read.
 */
export type Fault = 'input' | 'state' | 'world' | 'data'

/** Why the library says no, as data: told apart by `kind`, with what it is about beside it. */
export type Failure =
  | EmbeddingFailure
  | UndoFailure
  | CompareFailure
  | EditionFailure
  | ReplayFailure
  | {
      readonly kind: 'NoSuchEdition'
      readonly editionId: string
      readonly conversationId?: string | undefined
      readonly nearest?: string
    }
  | { readonly kind: 'NoSuchPrompt'; readonly which: string; readonly nearest?: string }
  | BadMessage
  | HistoryDiverged
  | NoContext
  | SummarizerFailure
  | ExplainFailure
  | NoSuchMoment
  | CycleNotRecorded
  | DifferenceFailure
  | { readonly kind: 'BadInput'; readonly field: string; readonly detail: string }
  | { readonly kind: 'NoSuchConversation'; readonly conversationId: string; readonly nearest?: string }
  | { readonly kind: 'ProjectionsBehind'; readonly detail: string }
  | { readonly kind: 'LedgerClosed' }
  | { readonly kind: 'LedgerReadOnly'; readonly call: string; readonly name: string; readonly keptBy?: string }
  | { readonly kind: 'LedgerBeingWritten'; readonly name: string; readonly keptBy: string }
  /** Told, and not thrown. */
  | { readonly kind: 'UnknownModelWindow'; readonly model: string; readonly assumed: number }

/** What the library throws: the failure as data, one sentence, and whose fault it is. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
  constructor(
    readonly failure: Failure,
    message: string,
    readonly fault: Fault,
  ) {
    super(message)
  }
}

const MOST_LISTED = 12

/** Names in one sentence; hundreds would hide what it says. */
const listed = (names: readonly string[]): string =>
  `${names.slice(0, MOST_LISTED).join(', ')}${names.length <= MOST_LISTED ? '' : ` and ${count(names.length - MOST_LISTED)} more`}`

function describe(failure: Failure): readonly [Fault, string] {
  switch (failure.kind) {
    case 'BadId':
    case 'BadInput':
    case 'BadMessage':
      return ['input', `${failure.field} ${failure.detail}`]
    case 'BadPolicy':
      return ['input', `policy: ${failure.field} ${failure.detail}`]
    case 'NotRecordable':
      return [
        'input',
        `${failure.field} ${failure.detail}: nobody could read ${failure.event} with it again, and nothing is recorded`,
      ]
    case 'NotConfigured':
      return ['state', 'the conversation has no configuration yet: append a message first']
    case 'NoSuchConversation':
      return [
        'input',
        `there is no conversation "${failure.conversationId}" in this ledger${didYouMean('nearest' in failure ? failure.nearest : undefined)}`,
      ]
    case 'NoSuchRevision':
      return [
        'input',
        `there is no revision ${String(failure.revision)} in conversation "${failure.conversationId}": its revisions go from 0 to ${String(failure.head)}`,
      ]
    case 'NoSuchMessage':
      return [
        'input',
        `there is no message "${failure.messageId}" in conversation "${failure.conversationId}"${didYouMean(failure.nearest)}, and it is neither a revision nor a time such as 2026-03-01T12:30:00Z`,
      ]
    case 'BeforeFirstEvent':
      return [
        'input',
        `conversation "${failure.conversationId}" was not there at ${failure.time}: its first fact was recorded at ${failure.first}`,
      ]
    case 'AfterNow':
      return [
        'input',
        `${failure.time} is still to come: it is ${failure.now} by the ledger's clock, and what is recorded by then would change the answer`,
      ]
    case 'CycleNotRecorded':
      return [
        'input',
        `there is no cycle ${String(failure.cycle)} in the log of conversation "${failure.conversationId}": ${failure.last === undefined ? 'nothing of it was compacted so far' : `the last one is ${String(failure.last)}`}`,
      ]
    case 'EndsBeforeItStarts':
      return [
        'input',
        `to: revision ${String(failure.to)} is before revision ${String(failure.from)}, where the difference starts`,
      ]
    case 'ScopeChanged':
      return [
        'input',
        `scope: the conversation belongs to ${failure.recorded === undefined ? 'no scope' : `"${failure.recorded}"`}, and a scope never changes ("${failure.given}" was given)`,
      ]
    case 'MessageIdTaken':
      return [
        'input',
        `message "${failure.messageId}" is recorded already with other content: a message id stands for one content`,
      ]
    case 'ToolResultWithoutCall':
      return [
        'input',
        `message "${failure.messageId}" is a tool result for "${failure.toolCallId}", and no such call waits for a result`,
      ]
    case 'PinTooLarge':
      return [
        'input',
        `message "${failure.messageId}" cannot be pinned: leading and pinned messages, with the calls and results that have to stand beside them, would take ${count(failure.tokens)} tokens, and may take ${count(failure.limit)}`,
      ]
    case 'MessageNotLive':
      return ['state', `message "${failure.messageId}" is not in the live conversation`]
    case 'NotArchivedYet':
      return ['state', `chunk "${failure.chunkId}" has no summary that could be archived`]
    case 'NotAtHead':
      return ['state', `message "${failure.messageId}" is older than what would be pruned, and not covered`]
    case 'MessagePinned':
      return [
        'state',
        `message "${failure.messageId}" is pinned, or stands beside one that is, and stays in the context`,
      ]
    case 'CutInsideCallGroup':
      return ['state', `a cut after message "${failure.messageId}" would part a tool call from its results`]
    case 'BatchesNotActive':
      return ['state', `the batches ${failure.batchIds.join(', ')} are not active, in this order`]
    case 'ConversationMoved':
      return [
        'world',
        `the conversation went on to revision ${String(failure.revision)} meanwhile, and what was to be put into force knows it up to ${String(failure.known)}: try again`,
      ]
    case 'PinnedMessageFolded':
      return [
        'state',
        `message "${failure.messageId}" is pinned, and what was to be put into force has folded it: unpin it first`,
      ]
    case 'HistoryDiverged':
      return [
        'state',
        `message "${failure.messageId}" of conversation "${failure.conversationId}" is compacted, and the list has it no more: ${failure.detail}`,
      ]
    case 'WithdrawnMessageFolded':
      return [
        'state',
        `what was to be put into force has folded messages that were withdrawn since (${count(failure.messages)}): replay into a new edition`,
      ]
    case 'NoEditionInForce':
      return ['state', 'no edition is in force here: the conversation goes by its own batches']
    case 'EditionInForce':
      return [
        'state',
        `edition ${failure.editionId} is in force in "${failure.conversationId}": \`editions revert\` puts back what it replaced, and then it can be dropped`,
      ]
    case 'EditionNotInForce':
      return [
        'state',
        `edition ${failure.editionId} is not in force in "${failure.conversationId}": ${failure.inForce === undefined ? 'the conversation goes by its own batches' : `edition ${failure.inForce} is`}`,
      ]
    case 'EditionOfAnother': {
      const {
        editionId,
        made: { strategy, provider, model, prompt },
      } = failure
      const by = `${strategy} with ${provider === 'none' ? 'no model' : model}${prompt === undefined ? '' : ` and the prompt ${prompt.name} (${prompt.sha256.slice(0, 12)})`}`
      return [
        'input',
        `edition ${editionId} of "${failure.conversationId}" has messages to catch up with that want a summary, and was made by ${by}; what is configured now would make edition ${failure.wouldBe}. Give the same summarizer, prompt, persona and policy as to the \`replay\` that made it`,
      ]
    }
    case 'EditionUnfinished':
      return [
        'world',
        `edition ${failure.editionId} of "${failure.conversationId}" is not finished, and nothing was put into force: ${failure.failure === undefined ? (failure.asked === true ? 'it was asked to stop' : 'there is no room in the bound on spending') : describe(failure.failure)[1]}. The same \`replay\` goes on where it ended`,
      ]
    case 'UnreadableLog':
      return ['data', failure.detail]
    case 'NoSuchPrompt':
      return [
        'input',
        `there is no prompt "${failure.which}" in the registry${didYouMean(failure.nearest)}; \`prompts\` lists them`,
      ]
    case 'NoSuchCycle':
      return [
        'input',
        failure.cycles === 0
          ? `cycle ${String(failure.cycle)}: nothing was compacted here that could be undone`
          : `cycle ${String(failure.cycle)}: the cycles that can be undone are numbered up to ${String(failure.cycles)}`,
      ]
    case 'CycleOfEdition':
      return [
        'state',
        `cycle ${String(failure.cycle)} was made by edition ${failure.editionId} before it was adopted, and goes with the edition alone: \`editions revert\` puts back what it replaced${failure.replaced === undefined ? '' : `. Cycle ${String(failure.cycle)} of what it replaced lies between the revisions ${String(failure.replaced.from)} and ${String(failure.replaced.to)}`}`,
      ]
    case 'UndoPassesHardLimit':
      return [
        'state',
        `cycle ${String(failure.cycle)} cannot be undone: with its messages back the context would have ${count(failure.tokens)} tokens, and the hard limit is ${count(failure.limit)}`,
      ]
    case 'NoSuchEdition':
      return [
        'input',
        `there is no edition ${failure.editionId} of ${failure.conversationId === undefined ? 'any conversation' : `"${failure.conversationId}"`}${didYouMean('nearest' in failure ? failure.nearest : undefined)}: \`replay\` makes one, and \`editions list\` shows those that are there`,
      ]
    case 'EditionIsDropped':
      return [
        'state',
        `edition ${failure.editionId} of "${failure.conversationId}" was dropped: the same \`replay\` takes it up again`,
      ]
    case 'EditionBusy':
      return [
        'world',
        `another process is making edition ${failure.editionId} of "${failure.conversationId}": try again when it has ended`,
      ]
    case 'LeadingTooLarge':
      return [
        'state',
        `the leading system messages (${failure.messageIds.join(', ')}) take ${count(failure.tokens)} tokens, and the model's window leaves ${count(failure.limit)}`,
      ]
    case 'PinnedTooLarge':
      return [
        'state',
        `the pinned messages (${failure.messageIds.join(', ')}) and the leading ones take ${count(failure.tokens)} tokens, and the model's window leaves ${count(failure.limit)}: unpin some, or go by a larger window`,
      ]
    case 'RevisionConflict':
      return ['world', `${failure.stream} was changed by others at every attempt`]
    case 'IdsRecorded':
      return ['input', `${failure.stream} has these events already, with other content: ${failure.ids.join(', ')}`]
    case 'StoreUnavailable':
      return ['world', `the store does not answer: ${failure.detail}`]
    case 'AppendRefused':
      return ['input', `the store refuses this: ${failure.detail}`]
    case 'EmbeddingFailed':
      return ['world', `the embedding model failed: ${failure.detail}`]
    case 'SummarizerFailed':
      return ['world', `the summarizer failed (${failure.failure}): ${failure.detail}`]
    case 'NoSuchBatch':
      return [
        'input',
        `there is no batch "${failure.batchId}" in conversation "${failure.conversationId}"${didYouMean(failure.nearest)}`,
      ]
    case 'SeveralBatches':
      return ['input', `"${failure.batchId}" is the beginning of several batches: ${listed(failure.batchIds)}`]
    case 'NoSuchLine':
      return [
        'input',
        `the model never saw this line in conversation "${failure.conversationId}": no summary, no message and no context of it has it, whatever its white space`,
      ]
    case 'ProjectionsBehind':
      return ['world', failure.detail]
    case 'UnknownModelWindow':
      return [
        'input',
        `the window of the model "${failure.model}" is not known: ${count(failure.assumed)} tokens are assumed; modelMaxTokens (--model-max-tokens) sets it`,
      ]
    case 'LedgerClosed':
      return ['input', 'the ledger is closed']
    case 'LedgerBeingWritten':
      return [
        'world',
        `verify holds every row against the facts, and ${failure.name} is open in ${failure.keptBy}, which goes on writing both: verify in that process, or when it has ended`,
      ]
    case 'LedgerReadOnly':
      return [
        'input',
        `${failure.call} writes, and ${failure.name} was opened with readOnly${failure.keptBy === undefined ? '' : ` while it is open in ${failure.keptBy}: write by way of that process, or when it has ended`}`,
      ]
  }
}

/** The error that a failure becomes where somebody called a function. */
export function problem(failure: Failure): LedgerError {
  const [fault, message] = describe(failure)
  return new LedgerError(failure, message, fault)
}

/** The value of a Right; a Left is thrown by `raise`. */
export function valueOf<L, R>(either: E.Either<L, R>, raise: (left: L) => Error): R {
  if (E.isLeft(either)) throw raise(either.left)
  return either.right
}

/** Whose fault an error is, and its sentence; anything unknown is our mistake. */
export function faultOf(error: unknown): { fault: Fault | 'bug'; message: string } {
  if (error instanceof LedgerError) return { fault: error.fault, message: error.message }
  if (error instanceof UnreadableEventError) return { fault: 'data', message: error.message }
  if (error instanceof EstimatorNotRegistered) return { fault: 'data', message: error.message }
  if (error instanceof EstimatorFailed) return { fault: 'input', message: error.message }
  if (error instanceof StoreError) return { fault: 'world', message: error.message }
  if (error instanceof LogCopyError || error instanceof ManifestError)
    return { fault: error.fault, message: error.message }
  if (error instanceof ProjectionStopped) return { fault: 'data', message: error.message }
  if (error instanceof RebuildFailed && error.stop !== undefined) return { fault: 'data', message: error.message }
  if (error instanceof RebuildFailed || error instanceof Fenced) return { fault: 'world', message: error.message }
  if (isServersNo(error)) return { fault: 'world', message: `the store says no: ${error.message}` }
  return { fault: 'bug', message: thrownSentence(error) }
}

// Classes of Postgres: connection (08), authorization (28), resources such as a full disk (53), somebody stepped in
// (57), its system (58).
const isServersNo = (error: unknown): error is Error =>
  error instanceof Error && /^(?:08|28|53|57|58)[\dA-Z]{3}$/u.test(codeOf(error) ?? '')

/**
 * Whether an error says that the rows do not come where they are wanted, and nothing of the log: one of them has
 * stopped, or nobody brings them there.
 */
export const isRowsFailure = (error: unknown): error is Error =>
  error instanceof ProjectionStopped ||
  (error instanceof RebuildFailed && error.stop !== undefined) ||
  (error instanceof LedgerError && error.failure.kind === 'ProjectionsBehind')

/** What went wrong as data, for who is handed it and not thrown at: its kind, a sentence, and what it is about. */
export interface ProblemData {
  /** The same names as those of a `LedgerError`'s failure and of a `StoreError`; `Bug` for a mistake of ours. */
  readonly kind: string
  /** One sentence for people. */
  readonly message: string
  readonly [about: string]: unknown
}

/** A failure, an error, or whatever else was handed over, as data. */
export function dataOfProblem(given: unknown): ProblemData {
  const message = sentenceOfProblem(given)
  if (given instanceof LedgerError) return { ...given.failure, message }
  if (given instanceof Error) return { kind: kindOf(given), message }
  return typeof given === 'object' && given !== null && 'kind' in given && typeof given.kind === 'string'
    ? { ...given, kind: given.kind, message }
    : { kind: 'Bug', message }
}

/** The name of an error's kind, for who goes by it. */
export function kindOf(error: unknown): string {
  if (error instanceof LedgerError) return error.failure.kind
  if (error instanceof UnreadableEventError) return error.event.kind
  if (error instanceof StoreError || error instanceof LogCopyError || error instanceof ManifestError) return error.kind
  if (
    error instanceof EstimatorNotRegistered ||
    error instanceof EstimatorFailed ||
    error instanceof ProjectionStopped ||
    error instanceof RebuildFailed ||
    error instanceof Fenced
  )
    return error.name
  return isServersNo(error) ? 'StoreUnavailable' : 'Bug'
}

/** One sentence for what nobody waited for: a failure as data, an error, or whatever else was handed over. */
export function sentenceOfProblem(given: unknown): string {
  if (given instanceof Error) return faultOf(given).message
  // `onProblem` hands over the failures of the use cases as they are; anything else has no kind that we know.
  return (
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    (typeof given === 'object' && given !== null && 'kind' in given ? describe(given as Failure)?.[1] : undefined) ??
    thrownSentence(given)
  )
}
