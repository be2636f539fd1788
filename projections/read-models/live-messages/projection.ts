/**
 * The messages that are live, and the list of conversations.
 *
 * A message is live from the moment it is appended until a prune names it: pinned ones stay for as long as they are
 * pinned, because no prune names them. How many messages a conversation has is no column: it is the rows that are live
 * plus `messages_compressed`, which `queries.ts` counts, since a handler reads nothing and so cannot count.
 */
import type { EventData, RecordedEvent, ReplacementType } from '../../../src/domain/events/index.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { inConversation, subjectOfEvent } from '../../engine/streams.js'

const messages: Table = {
  name: 'live_messages',
  columns: {
    conversation_id: 'text',
    message_id: 'text',
    revision: 'int8',
    role: 'text',
    created_at: 'text',
    tokens: 'int8',
    pinned: 'boolean',
    // The message as JSON text: content may hold NUL or lone surrogates, which `text` takes only as JSON escapes and
    // `jsonb` not at all.
    body: 'text',
  },
  key: ['conversation_id', 'message_id'],
  // A conversation's live messages are read in their order.
  indexes: ['(conversation_id, revision)'],
}

const conversations: Table = {
  name: 'conversations',
  columns: {
    conversation_id: 'text',
    scope: 'text',
    /** Of the last fact. */
    revision: 'int8',
    /** When the first fact and the last one were recorded. */
    started_at: 'text',
    last_recorded_at: 'text',
    /** The time of the last message that was appended, as its sender gave it. */
    last_message_at: 'text',
    /** The program that holds it, and the conversation that it comes from; null for one of ours. */
    program: 'text',
    parent_id: 'text',
    cycles: 'int8',
    messages_compressed: 'int8',
    window_start: 'int8',
  },
  key: ['conversation_id'],
  // Lists go by what happened last, of everybody or of one scope.
  indexes: ['(last_recorded_at, conversation_id)', '(scope, last_recorded_at, conversation_id)'],
}

/**
 * The conversation as the list shows it. Its row begins with the stream's first fact, whichever it is, and every later
 * one changes it.
 */
function listed(event: RecordedEvent, set: Row = {}): RowChange {
  const conversation_id = subjectOfEvent(event).conversationId
  const last = { revision: event.revision, last_recorded_at: event.metadata.recordedAt, ...set }
  if (event.revision !== 0n) return { op: 'patch', table: conversations.name, key: { conversation_id }, set: last }
  const started = {
    conversation_id,
    started_at: event.metadata.recordedAt,
    cycles: 0,
    messages_compressed: 0,
    window_start: 0n,
  }
  return { op: 'put', table: conversations.name, row: { ...started, ...last } }
}

const onlyListed = inConversation((event: RecordedEvent) => [listed(event)])

const messageKey = (event: RecordedEvent, message_id: string): Row => ({
  conversation_id: subjectOfEvent(event).conversationId,
  message_id,
})

function messageRow(event: RecordedEvent, data: EventData<'MessageAppended'>, revision: bigint): RowChange {
  const {
    messageId,
    createdAt,
    tokens,
    pinned,
    role,
    content,
    name,
    toolCalls,
    toolCallId,
    attributes,
    extra,
    answers,
  } = data
  const body = { role, content, name, toolCalls, toolCallId, attributes, extra, answers }
  // Field by field, since this is done for every message: cells added behind another object's take forty times as long.
  const row = {
    conversation_id: subjectOfEvent(event).conversationId,
    message_id: messageId,
    revision,
    role,
    created_at: createdAt,
    tokens,
    pinned: pinned === true,
    body: JSON.stringify(body),
  }
  return { op: 'put', table: messages.name, row }
}

/** What comes back is whole in the fact, so that the rows follow in one step, whatever had been live before. */
const tookOver = (event: RecordedEvent<ReplacementType>): readonly RowChange[] => [
  ...event.data.left.map((messageId): RowChange => ({
    op: 'delete',
    table: messages.name,
    key: messageKey(event, messageId),
  })),
  ...event.data.restored.map(({ revision, ...data }) => messageRow(event, data, revision)),
  listed(event, {
    cycles: event.data.cycle,
    messages_compressed: event.data.carried.messagesCompressed,
    window_start: event.data.windowStart,
  }),
]

export const liveMessages: Projection = {
  name: 'live-messages',
  version: 4,
  tables: [messages, conversations],
  handlers: {
    // The scope is said once and never changes, but the first fact that says it need not be the first of the stream.
    ConversationConfigured: (event) => [
      listed(event, event.data.scope === undefined ? {} : { scope: event.data.scope }),
    ],
    MessageAppended: (event) => [
      messageRow(event, event.data, event.revision),
      listed(event, { last_message_at: event.data.createdAt }),
    ],
    MessagesWithdrawn: (event) => [
      ...event.data.messages.map(({ messageId }): RowChange => ({
        op: 'delete',
        table: messages.name,
        key: messageKey(event, messageId),
      })),
      listed(event),
    ],
    MessagePinned: (event) => [
      { op: 'patch', table: messages.name, key: messageKey(event, event.data.messageId), set: { pinned: true } },
      listed(event),
    ],
    MessageUnpinned: (event) => [
      { op: 'patch', table: messages.name, key: messageKey(event, event.data.messageId), set: { pinned: false } },
      listed(event),
    ],
    ChunkSummarized: onlyListed,
    BatchArchived: onlyListed,
    BatchesResummarized: onlyListed,
    MessagesPruned: inConversation((event) => [
      ...event.data.pruned
        .flatMap(({ messageIds }) => messageIds)
        .map((messageId): RowChange => ({ op: 'delete', table: messages.name, key: messageKey(event, messageId) })),
      listed(event, {
        cycles: event.data.cycle,
        messages_compressed: event.data.carried.messagesCompressed,
        window_start: event.data.windowStart,
      }),
    ]),
    CompactionFailed: onlyListed,
    CompactionCouldNotHelp: onlyListed,
    SummarySetAside: onlyListed,
    ConversationObserved: (event) => [
      listed(event, {
        program: event.data.program,
        ...(event.data.parent === undefined ? {} : { parent_id: event.data.parent.conversationId }),
      }),
    ],
    CompactionObserved: onlyListed,
    // What the program gives its model instead is no part of the message.
    ContributionEdited: onlyListed,
    TranscriptDamaged: onlyListed,
    EditionAdopted: tookOver,
    EditionReverted: tookOver,
    CycleUndone: tookOver,
    // What an edition does on its own changes nothing here until it is adopted.
    EditionStarted: 'ignore',
    EditionAdvanced: 'ignore',
    EditionDropped: 'ignore',
    EditionCompared: 'ignore',
    // It lies in a stream of its own, which belongs to no conversation.
    PromptRegistered: 'ignore',
  },
}
