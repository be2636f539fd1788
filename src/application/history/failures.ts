/** Error messages for requests about the past that cannot be answered. */
import { didYouMean } from '../../domain/text/known-names.js'
import { listed, type Sentences } from '../../domain/values/failure-sentences.js'
import type { NoContext } from '../../domain/compaction/context.js'
import type { CycleNotRecorded, CycleOfEdition } from './cycles.js'
import type { DifferenceFailure } from './difference.js'
import type { ExplainFailure } from './explanation.js'
import type { NoSuchMoment } from './time-travel.js'

/** The failures of this module. */
type HistoryFailure =
  | Exclude<NoSuchMoment, { readonly kind: 'NoSuchConversation' }>
  | Exclude<DifferenceFailure, NoContext>
  | CycleNotRecorded
  | CycleOfEdition
  | ExplainFailure

/** Their messages. */
export const historySentences: Sentences<HistoryFailure> = {
  NoSuchRevision: (failure) =>
    `there is no revision ${String(failure.revision)} in conversation "${failure.conversationId}": its revisions go from 0 to ${String(failure.head)}`,
  NoSuchMessage: (failure) =>
    `there is no message "${failure.messageId}" in conversation "${failure.conversationId}"${didYouMean(failure.nearest)}, and it is neither a revision nor a time such as 2026-03-01T12:30:00Z`,
  BeforeFirstEvent: (failure) =>
    `conversation "${failure.conversationId}" did not exist at ${failure.time}: its first event was recorded at ${failure.first}`,
  AfterNow: (failure) =>
    `${failure.time} is in the future: the ledger's clock is at ${failure.now}, and later events would change the answer`,
  CycleNotRecorded: (failure) =>
    `there is no cycle ${String(failure.cycle)} in the log of conversation "${failure.conversationId}": ${failure.last === undefined ? 'it has not been compacted yet' : `the last one is ${String(failure.last)}`}`,
  CycleOfEdition: (failure) =>
    `cycle ${String(failure.cycle)} was made by edition ${failure.editionId} before it was adopted and cannot be used on its own: \`editions revert\` restores what it replaced${failure.replaced === undefined ? '' : `. Cycle ${String(failure.cycle)} of what it replaced is between the revisions ${String(failure.replaced.from)} and ${String(failure.replaced.to)}`}`,
  EndsBeforeItStarts: (failure) =>
    `to: revision ${String(failure.to)} is before revision ${String(failure.from)}, where the difference starts`,
  NoSuchBatch: (failure) =>
    `there is no batch "${failure.batchId}" in conversation "${failure.conversationId}"${didYouMean(failure.nearest)}`,
  SeveralBatches: (failure) => `"${failure.batchId}" is the beginning of several batches: ${listed(failure.batchIds)}`,
  NoSuchLine: (failure) =>
    `the model never saw this line in conversation "${failure.conversationId}": no summary, message or context contains it, ignoring white space`,
}
