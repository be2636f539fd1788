/**
 * The index that search reads: every message from the moment it is appended, and every batch, with the codes of their terms.
 *
 * A message's row is written once and never changes; when it is archived is said by the row of its batch, which names it. (A mark on the
 * message's own row would write the row and all its index entries a second time.) A batch that became part
 * of a later one stays as provenance, inactive: a message still belongs to the batch that first archived it, and a fact that puts other batches
 * into force may make it active again.
 */
import { contentText, type ToolCall } from '../../src/domain/message.js'
import type { RecordedFact, TakeoverType } from '../../src/domain/events.js'
import { sha256 } from '../../src/domain/hash.js'
import { conversationOf } from '../../src/domain/ids.js'
import { codedText } from '../../src/domain/text-search/codes.js'
import { authorOf } from '../../src/domain/text-search/rank.js'
import { codeCounts, storable, TERMS_VERSION } from '../../src/domain/text-search/terms.js'
import type { Projection, Row, RowChange, Table } from '../projection.js'

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
    revision: 'int8',
    depth: 'int4',
    first_revision: 'int8',
    last_revision: 'int8',
    start_time: 'text',
    end_time: 'text',
    /** False since it became part of a later one, and while it is not in force. */
    active: 'boolean',
    // JSON texts.
    message_ids: 'text',
    source_batch_ids: 'text',
    ...coded,
  },
  key: ['conversation_id', 'batch_id'],
  // The second finds the batch of a message.
  indexes: [byTerm, '(conversation_id, last_revision)'],
}

const scopes: Table = {
  name: 'archive_conversations',
  columns: { conversation_id: 'text', scope: 'text' },
  key: ['conversation_id'],
  indexes: ['(scope)'],
}

function conversationIdOf(fact: RecordedFact): string {
  const conversationId = conversationOf(fact.stream)
  if (conversationId === undefined) throw new Error(`${fact.stream} is no conversation's stream.`)
  return conversationId
}

/** What a message is found by: its text, and the names and arguments of the tools it calls. */
export function searchedText(content: Parameters<typeof contentText>[0], calls: readonly ToolCall[] = []): string {
  const called = calls.flatMap((call) => (call.function === undefined ? [] : [`${call.function.name} ${call.function.arguments}`]))
  return [contentText(content), ...called].filter((part) => part !== '').join('\n')
}

const codedCells = (text: string): Row => {
  const shown = storable(text)
  return { ...codedText(codeCounts(shown)), text: shown, text_hash: sha256(shown) }
}

// The header line of a batch is for people and tools; depth and times are columns, and as words they would match every year that is asked for.
const withoutHeader = (content: string): string => content.replace(/^\[depth:[^\]\n]*\]\n?/u, '')

const batchRow = (fact: RecordedFact<'BatchArchived' | 'BatchesResummarized'>): RowChange => ({
  op: 'put',
  table: batches.name,
  row: {
    conversation_id: conversationIdOf(fact),
    batch_id: fact.data.batchId,
    revision: fact.revision,
    depth: fact.data.depth,
    first_revision: fact.data.firstRevision,
    last_revision: fact.data.lastRevision,
    start_time: fact.data.startTime,
    end_time: fact.data.endTime,
    active: true,
    message_ids: fact.type === 'BatchArchived' ? JSON.stringify(fact.data.messageIds) : '[]',
    source_batch_ids: fact.type === 'BatchesResummarized' ? JSON.stringify(fact.data.sourceBatchIds) : '[]',
    ...codedCells(withoutHeader(fact.data.content)),
  },
})

/** Every batch has its row since it was recorded; which of them are searched is all that changes. */
const inForce = (fact: RecordedFact<TakeoverType>): readonly RowChange[] => {
  const mark = (batch_id: string, active: boolean): RowChange => ({ op: 'patch', table: batches.name, key: { conversation_id: conversationIdOf(fact), batch_id }, set: { active } })
  return [...fact.data.retired.map((id) => mark(id, false)), ...fact.data.batches.map(({ batchId }) => mark(batchId, true))]
}

export const archiveIndex: Projection = {
  name: 'archive-index',
  // Stored terms of another tokenizer match nothing, so its version is part of ours.
  version: 200 + TERMS_VERSION,
  tables: [messages, batches, scopes],
  handlers: {
    // A conversation of no scope has no row, so that a later configuration which leaves the scope out takes nothing away.
    ConversationConfigured: (fact) =>
      fact.data.scope === undefined ? [] : [{ op: 'put', table: scopes.name, row: { conversation_id: conversationIdOf(fact), scope: fact.data.scope } }],
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
    MessagePinned: 'ignore',
    MessageUnpinned: 'ignore',
    ChunkSummarized: 'ignore',
    BatchArchived: (fact) => [batchRow(fact)],
    BatchesResummarized: (fact) => [
      ...fact.data.sourceBatchIds.map((batch_id): RowChange => ({
        op: 'patch',
        table: batches.name,
        key: { conversation_id: conversationIdOf(fact), batch_id },
        set: { active: false },
      })),
      batchRow(fact),
    ],
    // It is one append with the `BatchArchived` of its batches, which say all that search needs to know of it.
    MessagesPruned: 'ignore',
    CompactionFailed: 'ignore',
    CompactionCouldNotHelp: 'ignore',
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
