/**
 * The index that search reads: every message from the moment it is appended, and every batch, with the codes of their
 * terms.
 *
 * The row of a message and that of a batch are written once and never change: a mark on them would write the row and
 * all its index entries a second time, which took an adoption 30 ms. When a message is archived is said by the batch
 * that names it, and whether a batch is in force by a small row beside it. A batch that became part of a later one
 * stays as provenance: a message still belongs to the batch that first archived it, and a fact that puts other batches
 * into force may make it active again. The batches of an edition have their rows as soon as they are recorded, inactive
 * until it is adopted.
 */
import { contentText, type ToolCall } from '../../../src/domain/values/message.js'
import type { RecordedEvent, ReplacementType } from '../../../src/domain/events/index.js'
import { sha256 } from '../../../src/domain/values/hash.js'
import { codedText } from '../../../src/domain/text-search/codes.js'
import { authorOf } from '../../../src/domain/text-search/rank.js'
import { codeCounts, storable, TERMS_VERSION } from '../../../src/domain/text-search/terms.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { subjectOfEvent } from '../../engine/streams.js'

const coded = { terms: 'text', repeated: 'int4', length: 'int4', text: 'text', text_hash: 'text' } as const

// Codes have one width and are split at blanks, so any server makes the same array of them and no dictionary is
// involved.
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
  },
  key: ['conversation_id', 'revision'],
  // The hash of the text is how a vector, where there is one, finds the messages that it belongs to.
  indexes: [byTerm, 'using hash (text_hash)'],
}

const batches: Table = {
  name: 'archive_batches',
  columns: {
    conversation_id: 'text',
    batch_id: 'text',
    /**
     * The edition in whose stream it was recorded; null for the conversation's own. The revision is that of the same
     * stream.
     */
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
    /** False since it became part of a later one, and while it is not in force. */
    active: 'boolean',
    /** Whether it is active in its edition, in force or not: as if nothing else had ever been in force. */
    in_edition: 'boolean',
  },
  key: ['conversation_id', 'batch_id'],
  // The batches in force, from which one goes down to that of a message; and where nothing was ever put into force,
  // that batch itself.
  indexes: [
    '(conversation_id, last_revision) where active',
    '(conversation_id, last_revision) where depth = 0 and edition_id is null',
  ],
}

/**
 * Conversations in which batches were put into force that are not simply those made last: by an adoption, a revert or
 * an undone cycle.
 */
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

/** What a message is found by: its text, and the names and arguments of the tools it calls. */
export function searchedText(content: Parameters<typeof contentText>[0], calls: readonly ToolCall[] = []): string {
  const called = calls.flatMap((call) =>
    call.function === undefined ? [] : [`${call.function.name} ${call.function.arguments}`],
  )
  return [contentText(content), ...called].filter((part) => part !== '').join('\n')
}

const codedCells = (text: string): Row => {
  const shown = storable(text)
  const { terms, repeated, length } = codedText(codeCounts(shown))
  return { terms, repeated, length, text: shown, text_hash: sha256(shown) }
}

// The header line of a batch is for people and tools; depth and times are columns, and as words they would match every
// year that is asked for.
const withoutHeader = (content: string): string => content.replace(/^\[depth:[^\]\n]*\]\n?/u, '')

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
    ...codedCells(withoutHeader(event.data.content)),
  },
})

/** Every batch has its row since it was recorded; which of them are searched is all that changes. */
const inForce = (event: RecordedEvent<ReplacementType>): readonly RowChange[] => {
  const mark = (batch_id: string, active: boolean): RowChange => ({
    op: 'patch',
    table: states.name,
    key: { conversation_id: conversationIdOf(event), batch_id },
    set: { active },
  })
  const told: RowChange = {
    op: 'put',
    table: takeovers.name,
    row: { conversation_id: conversationIdOf(event), revision: event.revision },
  }
  return [
    ...event.data.retired.map((id) => mark(id, false)),
    ...event.data.batches.map(({ batchId }) => mark(batchId, true)),
    told,
  ]
}

export const archiveIndex: Projection = {
  name: 'archive-index',
  // Stored terms of another tokenizer match nothing, so its version is part of ours.
  version: 400 + TERMS_VERSION,
  tables: [messages, batches, states, takeovers, scopes],
  handlers: {
    // Those of no scope are searched together, so they have a row too. A later configuration which leaves the scope out
    // takes nothing away.
    ConversationConfigured: (event) =>
      event.data.scope === undefined && event.revision > 0n
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
        },
      },
    ],
    // What is said no more is found no more; the log has it.
    MessagesWithdrawn: (event) =>
      event.data.messages.map(({ revision }): RowChange => ({
        op: 'delete',
        table: messages.name,
        key: { conversation_id: conversationIdOf(event), revision },
      })),
    MessagePinned: 'ignore',
    MessageUnpinned: 'ignore',
    ChunkSummarized: 'ignore',
    BatchArchived: (event) => [batchRow(event), stateRow(event)],
    BatchesResummarized: (event) => [
      // Of an edition in force both its own stream and the conversation's may condense the same batches, each for
      // itself.
      ...event.data.sourceBatchIds.map((batch_id): RowChange => ({
        op: 'patch',
        table: states.name,
        key: { conversation_id: conversationIdOf(event), batch_id },
        set: subjectOfEvent(event).editionId === undefined ? { active: false } : { in_edition: false },
      })),
      batchRow(event),
      stateRow(event),
    ],
    // It is one append with the `BatchArchived` of its batches, which say all that search needs to know of it.
    MessagesPruned: 'ignore',
    CompactionFailed: 'ignore',
    CompactionCouldNotHelp: 'ignore',
    SummarySetAside: 'ignore',
    EditionStarted: 'ignore',
    EditionAdvanced: 'ignore',
    EditionDropped: 'ignore',
    EditionCompared: 'ignore',
    EditionAdopted: (event) => inForce(event),
    EditionReverted: (event) => inForce(event),
    CycleUndone: (event) => inForce(event),
    ConversationObserved: 'ignore',
    CompactionObserved: 'ignore',
    ContributionEdited: 'ignore',
    TranscriptDamaged: 'ignore',
    PromptRegistered: 'ignore',
  },
}
