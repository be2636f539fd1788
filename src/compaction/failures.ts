/** What is said where a conversation cannot be compacted. */
import { decisionSentences } from '../domain/decide/failures.js'
import type { Sentences } from '../domain/values/failure-sentences.js'
import { portSentences } from '../ports/failures.js'
import type { CompactFailure } from './compact.js'
import type { HistoryDiverged } from './record-list.js'

/** The sentences of what ends a run. */
export const runSentences: Sentences<CompactFailure> = { ...decisionSentences, ...portSentences }

/** The sentence of what `compress` alone can meet. */
export const compactionSentences: Sentences<HistoryDiverged> = {
  HistoryDiverged: (failure) => [
    'state',
    `message "${failure.messageId}" of conversation "${failure.conversationId}" is compacted, and the list has it no more: ${failure.detail}`,
  ],
}
