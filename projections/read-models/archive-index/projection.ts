/**
 * The index that search reads: every message from the moment it is appended, and every batch, with the codes of their terms.
 *
 * The row of a message and that of a batch are written once and never change: a mark on them would write the row and all its index entries a second
 * time, which took an adoption 30 ms. When a message is archived is said by the batch that names it, and whether a batch is in force by a small row
 * beside it. A batch that became part of a later one stays as provenance: a message still belongs to the batch that first archived it, and a fact that
 * puts other batches into force may make it active again. The batches of an edition have their rows as soon as they are recorded, inactive until it
 * is adopted.
 */
import { contentText, type ToolCall } from '../../../src/domain/values/message.js'
import type { RecordedFact, TakeoverType } from '../../../src/domain/events/index.js'
import { sha256 } from '../../../src/domain/values/hash.js'
import { codedText } from '../../../src/domain/text-search/codes.js'
import { authorOf } from '../../../src/domain/text-search/rank.js'
import { codeCounts, storable, TERMS_VERSION } from '../../../src/domain/text-search/terms.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { subjectOfFact } from '../../engine/streams.js'

const coded = { terms: 'text', repeated: 'int4', length: 'int4', text: 'text', text_hash: 'text' } as const

// Codes have one width and are split at blanks, so any server makes the same array of them and no dictionary is involved.
const byTerm = `using gin (string_to_array(terms, ' '))`

const messages: Table = {
  name: 'archive_messages',
  columns: { conversation_id: 'text', revision: 'int8', message_id: 'text', author: 'text', created_at: 'text', ...coded },
  key: ['conversation_id', 'revision'],
  // The hash of the text is how a vector, where there is one, finds the messages that it belongs to.
  indexes: [byTerm, 'using hash (text_hash)'],
}

const batches: Table = {
  name: 'archive_batches',
  columns: {
    conversation_id: 'text',
    batch_id: 'text',
    /** The edition in whose stream it was recorded; null for the conversation's own. The revision is that of the same stream. */
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
  // The batches in force, from which one goes down to that of a message; and where nothing was ever put into force, that batch itself.
  indexes: ['(conversation_id, last_revision) where active', '(conversation_id, last_revision) where depth = 0 and edition_id is null'],
}

/** Conversations in which batches were put into force that are not simply those made last: by an adoption, a revert or an undone cycle. */
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

const conversationIdOf = (fact: RecordedFact): string => subjectOfFact(fact).conversationId

/** What a message is found by: its text, and the names and arguments of the tools it calls. */
export function searchedText(content: Parameters<typeof contentText>[0], calls: readonly ToolCall[] = []): string {
  const called = calls.flatMap((call) => (call.function === undefined ? [] : [`${call.function.name} ${call.function.arguments}`]))
  return [contentText(content), ...called].filter((part) => part !== '').join('\n')
}

const codedCells = (text: string): Row => {
  const shown = storable(text)
  const { terms, repeated, length } = codedText(codeCounts(shown))
  return { terms, repeated, length, text: shown, text_hash: sha256(shown) }
}

// The header line of a batch is for people and tools; depth and times are columns, and as words they would match every year that is asked for.
const withoutHeader = (content: string): string => content.replace(/^\[depth:[^\]\n]*\]\n?/u, '')

const stateRow = (fact: RecordedFact<'BatchArchived' | 'BatchesResummarized'>): RowChange => {
  const { conversationId, editionId } = subjectOfFact(fact)
  const { batchId, depth, firstRevision, lastRevision } = fact.data
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

const batchRow = (fact: RecordedFact<'BatchArchived' | 'BatchesResummarized'>): RowChange => ({
  op: 'put',
  table: batches.name,
  row: {
    conversation_id: conversationIdOf(fact),
    batch_id: fact.data.batchId,
    edition_id: subjectOfFact(fact).editionId ?? null,
    revision: fact.revision,
    depth: fact.data.depth,
    first_revision: fact.data.firstRevision,
    last_revision: fact.data.lastRevision,
    start_time: fact.data.startTime,
    end_time: fact.data.endTime,
    message_ids: fact.type === 'BatchArchived' ? JSON.stringify(fact.data.messageIds) : '[]',
    source_batch_ids: fact.type === 'BatchesResummarized' ? JSON.stringify(fact.data.sourceBatchIds) : '[]',
    ...codedCells(withoutHeader(fact.data.content)),
  },
})

/** Every batch has its row since it was recorded; which of them are searched is all that changes. */
const inForce = (fact: RecordedFact<TakeoverType>): readonly RowChange[] => {
  const mark = (batch_id: string, active: boolean): RowChange => ({ op: 'patch', table: states.name, key: { conversation_id: conversationIdOf(fact), batch_id }, set: { active } })
  const told: RowChange = { op: 'put', table: takeovers.name, row: { conversation_id: conversationIdOf(fact), revision: fact.revision } }
  return [...fact.data.retired.map((id) => mark(id, false)), ...fact.data.batches.map(({ batchId }) => mark(batchId, true)), told]
}

export const archiveIndex: Projection = {
  name: 'archive-index',
  // Stored terms of another tokenizer match nothing, so its version is part of ours.
  version: 400 + TERMS_VERSION,
  tables: [messages, batches, states, takeovers, scopes],
  handlers: {
    // Those of no scope are searched together, so they have a row too. A later configuration which leaves the scope out takes nothing away.
    ConversationConfigured: (fact) =>
      fact.data.scope === undefined && fact.revision > 0n ? [] : [{ op: 'put', table: scopes.name, row: { conversation_id: conversationIdOf(fact), scope: fact.data.scope ?? null } }],
    MessageAppended: (fact) => [
      {
        op: 'put',
        table: messages.name,
        row: {
          conversation_id: conversationIdOf(fact),
          revision: fact.revision,
          message_id: fact.data.messageId,
          author: authorOf(fact.data.role, fact.data.name),
          created_at: fact.data.createdAt,
          ...codedCells(searchedText(fact.data.content, fact.data.toolCalls)),
        },
      },
    ],
    // What is said no more is found no more; the log has it.
    MessagesWithdrawn: (fact) => fact.data.messages.map(({ revision }): RowChange => ({ op: 'delete', table: messages.name, key: { conversation_id: conversationIdOf(fact), revision } })),
    MessagePinned: 'ignore',
    MessageUnpinned: 'ignore',
    ChunkSummarized: 'ignore',
    BatchArchived: (fact) => [batchRow(fact), stateRow(fact)],
    BatchesResummarized: (fact) => [
      // Of an edition in force both its own stream and the conversation's may condense the same batches, each for itself.
      ...fact.data.sourceBatchIds.map((batch_id): RowChange => ({
        op: 'patch',
        table: states.name,
        key: { conversation_id: conversationIdOf(fact), batch_id },
        set: subjectOfFact(fact).editionId === undefined ? { active: false } : { in_edition: false },
      })),
      batchRow(fact),
      stateRow(fact),
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
    EditionAdopted: (fact) => inForce(fact),
    EditionReverted: (fact) => inForce(fact),
    CycleUndone: (fact) => inForce(fact),
    PromptRegistered: 'ignore',
  },
}
