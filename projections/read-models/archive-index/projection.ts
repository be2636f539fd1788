/**
 * The index that search reads: every message as soon as it is appended, and every batch, with the codes of their terms.
 *
 * The row of a message or batch is written once and never changes: an update would write the row and all its index
 * entries again, which took an adoption 30 ms. The batch lists the messages that it archives, and a small row in another
 * table has the state of the batch. A batch that was merged into a later one keeps its row: its messages still belong to
 * it, and a later event can activate it again. The batches of an edition get their rows when they are recorded, inactive
 * until the edition is adopted.
 */
import { summaryOf } from '../../../src/domain/conversation/batch.js'
import { contentText, type ToolCall } from '../../../src/domain/values/message.js'
import type { RecordedEvent, ReplacementType } from '../../../src/domain/events/index.js'
import { sha256 } from '../../../src/domain/values/hash.js'
import { codedText } from '../../../src/domain/text/codes.js'
import { authorOf } from '../../../src/domain/text/author.js'
import { codeCounts, storable, TERMS_VERSION } from '../../../src/domain/text/terms.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { subjectOfEvent } from '../../engine/streams.js'
import { isPlainAnswer } from '../usage/answer-cells.js'

const coded = { terms: 'text', repeated: 'int4', length: 'int4', text: 'text', text_hash: 'text' } as const

// Codes have one length and are separated by blanks, so every server builds the same array of them without a dictionary.
const byTerm = `using gin (string_to_array(terms, ' '))`

const messages: Table = {
  name: 'archive_messages',
  columns: {
    conversation_id: 'text',
    revision: 'int8',
    message_id: 'text',
    author: 'text',
    created_at: 'text',
    ...coded,
    /** Estimated tokens. */
    tokens: 'int8',
    /** True for an answer of which nothing else is recorded: the read model of usage has no row for it. */
    is_plain_answer: 'boolean',
    /** True if it was withdrawn. Its row has no text, so that no search finds it, and is still counted. */
    withdrawn: 'boolean',
  },
  key: ['conversation_id', 'revision'],
  // A vector finds its messages by the hash of their text.
  indexes: [byTerm, 'using hash (text_hash)'],
  keyIncludes: ['tokens', 'is_plain_answer', 'withdrawn'],
  visible: { where: 'withdrawn is null', all: 'recorded_messages' },
}

const batches: Table = {
  name: 'archive_batches',
  columns: {
    conversation_id: 'text',
    batch_id: 'text',
    /** The edition in whose stream it was recorded, at `revision`; null for the conversation's own stream. */
    edition_id: 'text',
    revision: 'int8',
    depth: 'int4',
    first_revision: 'int8',
    last_revision: 'int8',
    start_time: 'text',
    end_time: 'text',
    // JSON texts.
    message_ids: 'text',
    source_batch_ids: 'text',
    ...coded,
  },
  key: ['conversation_id', 'batch_id'],
  indexes: [byTerm],
}

const states: Table = {
  name: 'archive_batch_states',
  columns: {
    conversation_id: 'text',
    batch_id: 'text',
    edition_id: 'text',
    depth: 'int4',
    first_revision: 'int8',
    last_revision: 'int8',
    /** False if it was merged into a later one or replaced. */
    active: 'boolean',
    /** Whether it is active within its edition, adopted or not. */
    in_edition: 'boolean',
  },
  key: ['conversation_id', 'batch_id'],
  // The first serves the search from active batches down to the batch of a message; the second finds that batch directly
  // in a conversation without replacements.
  indexes: [
    '(conversation_id, last_revision) where active',
    '(conversation_id, last_revision) where depth = 0 and edition_id is null',
  ],
}

/** Conversations whose batches were replaced by an adoption, a revert or an undo. */
const takeovers: Table = {
  name: 'archive_takeovers',
  columns: { conversation_id: 'text', revision: 'int8' },
  key: ['conversation_id'],
  indexes: [],
}

const scopes: Table = {
  name: 'archive_conversations',
  columns: { conversation_id: 'text', scope: 'text' },
  key: ['conversation_id'],
  indexes: ['(scope)'],
}

const conversationIdOf = (event: RecordedEvent): string => subjectOfEvent(event).conversationId

/** The searchable text of a message: its text, and the names and arguments of its tool calls. */
export function searchedText(content: Parameters<typeof contentText>[0], calls: readonly ToolCall[] = []): string {
  const called = calls.flatMap((call) =>
    call.function === undefined ? [] : [`${call.function.name} ${call.function.arguments}`],
  )
  return [contentText(content), ...called].filter((part) => part !== '').join('\n')
}

const codedCells = (text: string): Row => {
  const stored = storable(text)
  const { terms, repeated, length } = codedText(codeCounts(stored))
  return { terms, repeated, length, text: stored, text_hash: sha256(stored) }
}

const stateRow = (event: RecordedEvent<'BatchArchived' | 'BatchesResummarized'>): RowChange => {
  const { conversationId, editionId } = subjectOfEvent(event)
  const { batchId, depth, firstRevision, lastRevision } = event.data
  return {
    op: 'put',
    table: states.name,
    row: {
      conversation_id: conversationId,
      batch_id: batchId,
      edition_id: editionId ?? null,
      depth,
      first_revision: firstRevision,
      last_revision: lastRevision,
      active: editionId === undefined,
      in_edition: editionId !== undefined,
    },
  }
}

const batchRow = (event: RecordedEvent<'BatchArchived' | 'BatchesResummarized'>): RowChange => ({
  op: 'put',
  table: batches.name,
  row: {
    conversation_id: conversationIdOf(event),
    batch_id: event.data.batchId,
    edition_id: subjectOfEvent(event).editionId ?? null,
    revision: event.revision,
    depth: event.data.depth,
    first_revision: event.data.firstRevision,
    last_revision: event.data.lastRevision,
    start_time: event.data.startTime,
    end_time: event.data.endTime,
    message_ids: event.type === 'BatchArchived' ? JSON.stringify(event.data.messageIds) : '[]',
    source_batch_ids: event.type === 'BatchesResummarized' ? JSON.stringify(event.data.sourceBatchIds) : '[]',
    // Without the header line of the content, whose times would match every year in a query.
    ...codedCells(summaryOf(event.data)),
  },
})

/** Changes which batches are active. Their rows exist since they were recorded. */
const replacementRows = (event: RecordedEvent<ReplacementType>): readonly RowChange[] => {
  const mark = (batch_id: string, active: boolean): RowChange => ({
    op: 'patch',
    table: states.name,
    key: { conversation_id: conversationIdOf(event), batch_id },
    set: { active },
  })
  const takeover: RowChange = {
    op: 'put',
    table: takeovers.name,
    row: { conversation_id: conversationIdOf(event), revision: event.revision },
  }
  return [
    ...event.data.retired.map((id) => mark(id, false)),
    ...event.data.batches.map(({ batchId }) => mark(batchId, true)),
    takeover,
  ]
}

export const archiveIndex: Projection = {
  name: 'archive-index',
  // Terms of another tokenizer version would not match, so that version is part of this one.
  version: 500 + TERMS_VERSION,
  tables: [messages, batches, states, takeovers, scopes],
  handlers: {
    // Conversations without a scope are searched together, so they have a row too. A later configuration without a scope
    // does not remove the scope.
    ConversationConfigured: (event) =>
      event.data.scope === undefined && event.revision > 0
        ? []
        : [
            {
              op: 'put',
              table: scopes.name,
              row: { conversation_id: conversationIdOf(event), scope: event.data.scope ?? null },
            },
          ],
    MessageAppended: (event) => [
      {
        op: 'put',
        table: messages.name,
        row: {
          conversation_id: conversationIdOf(event),
          revision: event.revision,
          message_id: event.data.messageId,
          author: authorOf(event.data.role, event.data.name),
          created_at: event.data.createdAt,
          ...codedCells(searchedText(event.data.content, event.data.toolCalls)),
          tokens: event.data.tokens,
          is_plain_answer: isPlainAnswer(event.data),
        },
      },
    ],
    // Withdrawn messages are no longer found. The log still has them.
    MessagesWithdrawn: (event) =>
      event.data.messages.map(({ revision }): RowChange => ({
        op: 'patch',
        table: messages.name,
        key: { conversation_id: conversationIdOf(event), revision },
        set: { withdrawn: true, terms: null, repeated: null, length: null, text: null, text_hash: null },
      })),
    BatchArchived: (event) => [batchRow(event), stateRow(event)],
    BatchesResummarized: (event) => [
      // After an adoption, the edition's stream and the conversation's stream can both condense the same batches.
      ...event.data.sourceBatchIds.map((batch_id): RowChange => ({
        op: 'patch',
        table: states.name,
        key: { conversation_id: conversationIdOf(event), batch_id },
        set: subjectOfEvent(event).editionId === undefined ? { active: false } : { in_edition: false },
      })),
      batchRow(event),
      stateRow(event),
    ],
    EditionAdopted: (event) => replacementRows(event),
    EditionReverted: (event) => replacementRows(event),
    CycleUndone: (event) => replacementRows(event),
  },
}
