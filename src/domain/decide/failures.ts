/** Messages about rejected commands, messages and contexts. */
import { count } from '../text/count.js'
import { didYouMean } from '../text/known-names.js'
import type { NoContext } from '../compaction/context.js'
import type { NotRecordable } from '../events/recordable.js'
import type { Sentences } from '../values/failure-sentences.js'
import type { BadMessage } from '../values/message.js'
import type { Rejection } from './index.js'

/** The messages for all failures of the domain. */
export const decisionSentences: Sentences<Rejection | BadMessage | NotRecordable | NoContext> = {
  BadId: (failure) => `${failure.field} ${failure.detail}`,
  BadMessage: (failure) => `${failure.field} ${failure.detail}`,
  BadPolicy: (failure) => `policy: ${failure.field} ${failure.detail}`,
  NotRecordable: (failure) =>
    `${failure.field} ${failure.detail}: ${failure.event} could not be read back with this value, and nothing is recorded`,
  NotConfigured: () => 'the conversation has no configuration yet: append a message first',
  ScopeChanged: (failure) =>
    `scope: the conversation belongs to ${failure.recorded === undefined ? 'no scope' : `"${failure.recorded}"`}, and a scope never changes ("${failure.given}" was given)`,
  MessageIdTaken: (failure) =>
    `message "${failure.messageId}" is recorded already with other content: a message id stands for one content`,
  PartlyRecorded: (failure) =>
    `${count(failure.recorded)} of these ${count(failure.given)} messages are recorded already, and the others are not: repeat a request with the same messages`,
  ToolResultWithoutCall: (failure) =>
    `message "${failure.messageId}" is a tool result for "${failure.toolCallId}", and no such call waits for a result`,
  PinTooLarge: (failure) =>
    `message "${failure.messageId}" cannot be pinned: leading and pinned messages, with the calls and results that belong to them, would take ${count(failure.tokens)} tokens, and may take ${count(failure.limit)}`,
  LeadingTooLarge: (failure) =>
    `the leading system messages (${failure.messageIds.join(', ')}) take ${count(failure.tokens)} tokens, and the model's window leaves ${count(failure.limit)}`,
  PinnedTooLarge: (failure) =>
    `the pinned messages (${failure.messageIds.join(', ')}) and the leading ones take ${count(failure.tokens)} tokens, and the model's window leaves ${count(failure.limit)}: unpin some, or configure a larger window`,
  MessageNotLive: (failure) =>
    `message "${failure.messageId}" is not in the live conversation${didYouMean(failure.nearest)}`,
  NotArchivedYet: (failure) => `chunk "${failure.chunkId}" has no summary that could be archived`,
  NotObserved: (failure) =>
    `conversation "${failure.conversationId}" already has messages that are not from a transcript: import the transcript under another id`,
  NotAtHead: (failure) => `message "${failure.messageId}" is older than the messages to prune, and no chunk covers it`,
  MessagePinned: (failure) =>
    `message "${failure.messageId}" is pinned, or belongs to a call with a pinned message, and stays in the context`,
  CutInsideCallGroup: (failure) =>
    `a cut after message "${failure.messageId}" would separate a tool call from its results`,
  BatchesNotActive: (failure) => `the batches ${failure.batchIds.join(', ')} are not active, in this order`,
  ConversationMoved: (failure) =>
    `the conversation is at revision ${String(failure.revision)} by now, and the state to put into force includes it up to ${String(failure.known)}: try again`,
  PinnedMessageCompacted: (failure) =>
    `message "${failure.messageId}" is pinned, but compacted in the state to put into force: unpin it first`,
  WithdrawnMessageCompacted: (failure) =>
    `the state to put into force has compacted messages that were withdrawn since (${count(failure.messages)}): replay into a new edition`,
  NoEditionInForce: () => 'no edition is in force here: the conversation goes by its own batches',
  NoSuchCycle: (failure) =>
    failure.cycles === 0
      ? `cycle ${String(failure.cycle)}: the conversation has no cycle to undo`
      : `cycle ${String(failure.cycle)}: the cycles that can be undone are numbered up to ${String(failure.cycles)}`,
  UndoPassesHardLimit: (failure) =>
    `cycle ${String(failure.cycle)} cannot be undone: with its messages back the context would have ${count(failure.tokens)} tokens, and the hard limit is ${count(failure.limit)}`,
}
