/**
 * The clip-archive view: every batch that was ever archived, and for each conversation what the last fact carried forward that closed its books.
 *
 * A batch is held when it is recorded and shown from the next prune on, so between two cycles the view does not change.
 * Sources of a re-summarized batch stay here: a view as of an earlier prune, or an audit, opens them. So do the batches of editions, in force or not.
 */
import type { ClosingType, RecordedFact } from '../../../src/domain/events/index.js'
import type { Projection, RowChange, Table } from '../../engine/projection.js'
import { inConversation, subjectOfFact } from '../../engine/streams.js'

const batches: Table = {
  name: 'batches',
  columns: {
    conversation_id: 'text',
    batch_id: 'text',
    /** The edition in whose stream it was recorded; null for the conversation's own. The revision is that of the same stream. */
    edition_id: 'text',
    revision: 'int8',
    label: 'text',
    depth: 'int4',
    start_time: 'text',
    end_time: 'text',
    message_count: 'int8',
    first_revision: 'int8',
    last_revision: 'int8',
    tokens: 'int8',
    // JSON texts: what a model wrote may hold what `text` refuses, and lists keep their order.
    content: 'text',
    sections: 'text',
    source_batch_ids: 'text',
    message_ids: 'text',
    chunk_id: 'text',
    recorded_at: 'text',
  },
  key: ['conversation_id', 'batch_id'],
  // Nothing asks for all batches in an order; a view names its batches.
  indexes: [],
}

const views: Table = {
  name: 'clip_archive_views',
  columns: {
    conversation_id: 'text',
    cycle: 'int8',
    /** Of the fact that this is from: it closed the books. */
    revision: 'int8',
    window_start: 'int8',
    /** JSON text: the active batches in their order. */
    batch_ids: 'text',
    messages_compressed: 'int8',
    tokens_before: 'int8',
    tokens_after: 'int8',
    context_hash: 'text',
    recorded_at: 'text',
  },
  key: ['conversation_id'],
  indexes: [],
}

const heldBatch = (fact: RecordedFact<'BatchArchived' | 'BatchesResummarized'>): RowChange => ({
  op: 'put',
  table: batches.name,
  row: {
    conversation_id: subjectOfFact(fact).conversationId,
    batch_id: fact.data.batchId,
    edition_id: subjectOfFact(fact).editionId ?? null,
    revision: fact.revision,
    label: fact.data.label,
    depth: fact.data.depth,
    start_time: fact.data.startTime,
    end_time: fact.data.endTime,
    message_count: fact.data.messageCount,
    first_revision: fact.data.firstRevision,
    last_revision: fact.data.lastRevision,
    tokens: fact.data.tokens,
    content: JSON.stringify(fact.data.content),
    sections: fact.data.sections === undefined ? null : JSON.stringify(fact.data.sections),
    source_batch_ids: fact.type === 'BatchesResummarized' ? JSON.stringify(fact.data.sourceBatchIds) : '[]',
    message_ids: fact.type === 'BatchArchived' ? JSON.stringify(fact.data.messageIds) : '[]',
    chunk_id: fact.type === 'BatchArchived' ? fact.data.chunkId : null,
    recorded_at: fact.metadata.recordedAt,
  },
})

const viewOf = (fact: RecordedFact<ClosingType>): RowChange => ({
  op: 'put',
  table: views.name,
  row: {
    conversation_id: subjectOfFact(fact).conversationId,
    cycle: fact.data.cycle,
    revision: fact.revision,
    window_start: fact.data.windowStart,
    batch_ids: JSON.stringify(fact.data.carried.batches.map(({ batchId }) => batchId)),
    messages_compressed: fact.data.carried.messagesCompressed,
    tokens_before: fact.data.tokensBefore,
    tokens_after: fact.data.tokensAfter,
    context_hash: fact.data.contextHash,
    recorded_at: fact.metadata.recordedAt,
  },
})

export const clipArchive: Projection = {
  name: 'clip-archive',
  version: 4,
  tables: [batches, views],
  handlers: {
    ConversationConfigured: 'ignore',
    MessageAppended: 'ignore',
    MessagesWithdrawn: 'ignore',
    MessagePinned: 'ignore',
    MessageUnpinned: 'ignore',
    ChunkSummarized: 'ignore',
    BatchArchived: (fact) => [heldBatch(fact)],
    BatchesResummarized: (fact) => [heldBatch(fact)],
    MessagesPruned: inConversation((fact) => [viewOf(fact)]),
    EditionAdopted: (fact) => [viewOf(fact)],
    EditionReverted: (fact) => [viewOf(fact)],
    CycleUndone: (fact) => [viewOf(fact)],
    EditionStarted: 'ignore',
    EditionAdvanced: 'ignore',
    EditionDropped: 'ignore',
    EditionCompared: 'ignore',
    CompactionFailed: 'ignore',
    CompactionCouldNotHelp: 'ignore',
    SummarySetAside: 'ignore',
    PromptRegistered: 'ignore',
  },
}
