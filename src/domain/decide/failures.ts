/** Messages about rejected commands, invalid messages and contexts that cannot be built. */
import { count } from '../text/count.js'
import { didYouMean } from '../text/known-names.js'
import type { NoContext } from '../compaction/context.js'
import type { NotRecordable } from '../events/recordable.js'
import type { Sentences } from '../values/failure-sentences.js'
import type { BadMessage } from '../values/parse-message.js'
import type { Rejection } from './index.js'

/** The messages for all failures of the domain. */
export const decisionSentences: Sentences<Rejection | BadMessage | NotRecordable | NoContext> = {
  BadId: (failure) => `${failure.field} ${failure.detail}`,
  BadMessage: (failure) => `${failure.field} ${failure.detail}`,
  BadPolicy: (failure) => `policy: ${failure.field} ${failure.detail}`,
  NotRecordable: (failure) =>
    `${failure.field} ${failure.detail}: ${failure.event} cannot be stored with this value. Nothing was recorded.`,
  ConversationErased: (failure) =>
    `conversation "${failure.conversationId}" was erased: nothing is recorded in it any more. Use another conversation id`,
  ErasurePending: (failure) =>
    `an erasure in conversation "${failure.conversationId}" is not completed: \`erase --resume\` continues it`,
  NotConfigured: () => 'the conversation has no configuration yet: append a message first',
  ScopeChanged: (failure) =>
    `scope: the conversation belongs to ${failure.recorded === undefined ? 'no scope' : `"${failure.recorded}"`}. The scope of a conversation cannot be changed to "${failure.given}".`,
  MessageIdTaken: (failure) => `message "${failure.messageId}" already exists with different content: use a new id`,
  PartlyRecorded: (failure) =>
    `${count(failure.recorded)} of these ${count(failure.given)} messages already exist: to repeat a request, send exactly the same messages`,
  ToolResultWithoutCall: (failure) =>
    `message "${failure.messageId}" is a tool result for "${failure.toolCallId}", but no open call has that id`,
  PinTooLarge: (failure) =>
    `message "${failure.messageId}" cannot be pinned: leading and pinned messages, with the calls and results that belong to them, would use ${count(failure.tokens)} tokens; the limit is ${count(failure.limit)}`,
  LeadingTooLarge: (failure) =>
    `the leading system messages (${failure.messageIds.join(', ')}) use ${count(failure.tokens)} tokens, but only ${count(failure.limit)} fit in the model's window`,
  PinnedTooLarge: (failure) =>
    `the pinned messages (${failure.messageIds.join(', ')}) and the leading ones use ${count(failure.tokens)} tokens, but only ${count(failure.limit)} fit in the model's window: unpin some, or configure a larger window`,
  MessageNotLive: (failure) =>
    `message "${failure.messageId}" is not in the live conversation${didYouMean(failure.nearest)}`,
  NotArchivedYet: (failure) => `chunk "${failure.chunkId}" has no summary that is not archived yet`,
  NotObserved: (failure) =>
    `conversation "${failure.conversationId}" already has messages that are not from a transcript: import the transcript under another id`,
  NotAtHead: (failure) =>
    `message "${failure.messageId}" would be left behind: it is older than the messages to remove, and no chunk covers it`,
  MessagePinned: (failure) =>
    `message "${failure.messageId}" is pinned, or belongs to a call with a pinned message, and stays in the context`,
  CutInsideCallGroup: (failure) =>
    `a cut after message "${failure.messageId}" would separate a tool call from its results`,
  BatchesNotActive: (failure) => `the batches ${failure.batchIds.join(', ')} are not consecutive active batches`,
  ConversationMoved: (failure) =>
    `the conversation changed meanwhile: it is at revision ${String(failure.revision)}, and revision ${String(failure.expected)} was expected. Try again.`,
  PinnedMessageCompacted: (failure) =>
    `message "${failure.messageId}" is pinned, but compacted in the state to activate: unpin it first`,
  WithdrawnMessageCompacted: (failure) =>
    `the state to activate contains ${count(failure.messages)} compacted messages that were withdrawn since: create a new edition (\`replay\`) and adopt that one`,
  NoEditionInForce: () => 'no edition is active in this conversation',
  NoSuchCycle: (failure) =>
    failure.cycles === 0
      ? `cycle ${String(failure.cycle)}: the conversation has no cycle to undo`
      : `cycle ${String(failure.cycle)}: must be between 1 and ${String(failure.cycles)}`,
  UndoPassesHardLimit: (failure) =>
    `cycle ${String(failure.cycle)} cannot be undone: restoring its messages would use ${count(failure.tokens)} tokens; the hard limit is ${count(failure.limit)}. A larger \`modelMaxTokens\` makes room for them.`,
}
