/** Error messages for conversations that cannot be compacted. */
import { decisionSentences } from '../../domain/decide/failures.js'
import type { Sentences } from '../../domain/values/failure-sentences.js'
import { portSentences } from '../../ports/failures.js'
import type { CompactFailure } from './compact.js'
import type { ContextObserved } from './compact-now.js'
import type { MessageNotFound } from './amend.js'
import type { HistoryDiverged } from './record-list.js'

/** Messages for failures that end a run. */
export const runSentences: Sentences<CompactFailure> = { ...decisionSentences, ...portSentences }

/** Messages for failures of `compress`, `amend` and `compact`. */
export const compactionSentences: Sentences<HistoryDiverged | ContextObserved | MessageNotFound> = {
  ContextObserved: (failure) =>
    `the context of "${failure.conversationId}" is the one that ${failure.program} makes, which compacts it by itself: \`replay\` makes an edition of it, and \`editions adopt\` puts that into force`,
  NotSaid: (failure) =>
    `conversation "${failure.conversationId}" has no message "${failure.messageId}" that could be taken back`,
  HistoryDiverged: (failure) =>
    `message "${failure.messageId}" of conversation "${failure.conversationId}" is compacted, and the list has it no more: ${failure.detail}`,
}
