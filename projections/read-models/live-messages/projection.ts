/**
 * The live messages and the list of conversations.
 *
 * A message is live from its append until a prune removes it. Pinned messages stay live, because a prune never contains
 * them. The number of messages of a conversation is not a column, since a handler reads nothing and so cannot count:
 * `queries.ts` adds the live rows and `messages_compressed`. For the same reason a title from the first message is a query
 * over `conversation_openings`.
 */
import { authorOfMessage, ownContent } from '../../../src/domain/text/authorship.js'
import { isBare, openingWords, titleOf } from '../../../src/domain/text/title.js'
import { storable } from '../../../src/domain/text/terms.js'
import { KEY_ACTOR } from '../../../src/domain/values/key-actor.js'
import { definedFields, fieldsWith, textOnly } from '../../../src/domain/values/message.js'
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
    // The message as JSON text: content may contain NUL or lone surrogates, which `text` stores only as JSON escapes and
    // `jsonb` not at all.
    body: 'text',
  },
  key: ['conversation_id', 'message_id'],
  // Queries read a conversation's live messages in order.
  indexes: ['(conversation_id, revision)'],
}

const conversations: Table = {
  name: 'conversations',
  columns: {
    conversation_id: 'text',
    scope: 'text',
    /** The person whose key of a service began it; null if no key did. */
    person: 'text',
    /** Revision of the last event. */
    revision: 'int8',
    /** When the first event was recorded. */
    first_recorded_at: 'text',
    /** When it began, according to its program. */
    started_at: 'text',
    /** When the last event was recorded. */
    last_recorded_at: 'text',
    /** Time of the last appended message, as given by its sender. */
    last_message_at: 'text',
    /** The program from which it was imported; null if it was not imported. */
    program: 'text',
    /** The title that its program gave it. */
    title: 'text',
    /** The working directory of its program. */
    project: 'text',
    /** The conversation that called it or from which it was forked, according to its program. */
    parent_id: 'text',
    cycles: 'int8',
    /** Revision of the last compaction, undone or not; null before the first. */
    last_compaction: 'int8',
    messages_compressed: 'int8',
    window_start: 'int8',
  },
  key: ['conversation_id'],
  // Lists are sorted by the last message, over all conversations or those of one scope.
  indexes: [
    '((coalesce(last_message_at, started_at, first_recorded_at)), conversation_id)',
    '(scope, (coalesce(last_message_at, started_at, first_recorded_at)), conversation_id)',
  ],
}

/**
 * The first words of each message that a person wrote, and of the model's first answers. The best and earliest are the
 * title if the program gave none.
 */
const openings: Table = {
  name: 'conversation_openings',
  columns: {
    conversation_id: 'text',
    message_id: 'text',
    revision: 'int8',
    words: 'text',
    /** 0: a person's request. 1: a person's command or single word. 2: an answer, for a conversation without a person. */
    rank: 'int4',
  },
  key: ['conversation_id', 'message_id'],
  indexes: ['(conversation_id, rank, revision)'],
}

/** The person of the key with which an event was recorded through a service; null if no key was used. */
const personOf = ({ metadata: { actor } }: RecordedEvent): string | null =>
  actor.startsWith(KEY_ACTOR) ? storable(actor.slice(KEY_ACTOR.length)) : null

/** The change of the conversation's row. The first event of the stream creates the row, and every later one updates it. */
function listed(event: RecordedEvent, set: Row = {}): RowChange {
  const conversation_id = subjectOfEvent(event).conversationId
  const last = { revision: event.revision, last_recorded_at: event.metadata.recordedAt, ...set }
  if (event.revision !== 0) return { op: 'patch', table: conversations.name, key: { conversation_id }, set: last }
  const started = {
    conversation_id,
    person: personOf(event),
    first_recorded_at: event.metadata.recordedAt,
    cycles: 0,
    messages_compressed: 0,
    window_start: 0,
  }
  return { op: 'put', table: conversations.name, row: { ...started, ...last } }
}

const onlyListed = inConversation((event: RecordedEvent) => [listed(event)])

const messageKey = (event: RecordedEvent, message_id: string): Row => ({
  conversation_id: subjectOfEvent(event).conversationId,
  message_id,
})

const bodyFields = fieldsWith('isInRow')

function messageRow(event: RecordedEvent, data: EventData<'MessageAppended'>, revision: number): RowChange {
  const { messageId, createdAt, tokens, pinned, role } = data
  // A single literal, since this runs for every message: adding cells to a spread object takes forty times as long.
  const row = {
    conversation_id: subjectOfEvent(event).conversationId,
    message_id: messageId,
    revision,
    role,
    created_at: createdAt,
    tokens,
    pinned: pinned === true,
    body: JSON.stringify(definedFields(data, bodyFields)),
  }
  return { op: 'put', table: messages.name, row }
}

/** Answers before this revision may give the title. */
const FIRST_ANSWERS = 32

/** The row of the first words; none for a message that cannot give the title. */
function openingRows({ data, ...event }: RecordedEvent<'MessageAppended'>): readonly RowChange[] {
  const author = authorOfMessage(data)
  const isAnswer = author === 'agent' && event.revision < FIRST_ANSWERS
  if (author !== 'user' && !isAnswer) return []
  const words = openingWords(textOnly(ownContent(data)))
  if (words === undefined) return []
  const message_id = data.messageId
  const conversation_id = subjectOfEvent(event).conversationId
  const rank = isAnswer ? 2 : isBare(words) ? 1 : 0
  const row = { conversation_id, message_id, revision: event.revision, words, rank }
  return [{ op: 'put', table: openings.name, row }]
}

/** The cells of a program's conversation. */
function observedCells({ program, title, cwd, startedAt, parent }: EventData<'ConversationObserved'>): Row {
  return {
    program,
    title: title === undefined ? null : (titleOf(title) ?? null),
    project: cwd === undefined ? null : storable(cwd),
    started_at: startedAt ?? null,
    ...(parent === undefined ? {} : { parent_id: parent.conversationId }),
  }
}

/** The event contains the restored messages, so the rows change in one step, whatever was live before. */
const replacementRows = (event: RecordedEvent<ReplacementType>): readonly RowChange[] => [
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
  version: 8,
  tables: [messages, conversations, openings],
  handlers: {
    // The scope is set once and never changes, but not necessarily by the first event of the stream.
    ConversationConfigured: (event) => [
      listed(event, event.data.scope === undefined ? {} : { scope: event.data.scope }),
    ],
    MessageAppended: (event) => [
      messageRow(event, event.data, event.revision),
      ...openingRows(event),
      listed(event, { last_message_at: event.data.createdAt }),
    ],
    MessagesWithdrawn: (event) => [
      ...event.data.messages.flatMap(({ messageId }) =>
        [messages, openings].map(({ name }): RowChange => ({
          op: 'delete',
          table: name,
          key: messageKey(event, messageId),
        })),
      ),
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
    MessagesPruned: inConversation((event) => [
      ...event.data.pruned
        .flatMap(({ messageIds }) => messageIds)
        .map((messageId): RowChange => ({ op: 'delete', table: messages.name, key: messageKey(event, messageId) })),
      listed(event, {
        cycles: event.data.cycle,
        last_compaction: event.revision,
        messages_compressed: event.data.carried.messagesCompressed,
        window_start: event.data.windowStart,
      }),
    ]),
    ConversationObserved: (event) => [listed(event, observedCells(event.data))],
    ConversationTitled: (event) => [listed(event, { title: titleOf(event.data.title) ?? null })],
    EditionAdopted: replacementRows,
    EditionReverted: replacementRows,
    CycleUndone: replacementRows,
    // Recorded in a separate stream that belongs to no conversation.
    PromptRegistered: () => [],
  },
  otherHandler: onlyListed,
}
