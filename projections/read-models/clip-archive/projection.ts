/**
 * The clip archive: every batch that was ever recorded, and for each conversation the state that its last checkpoint
 * event carries.
 *
 * A batch is stored when it is recorded and becomes part of the view with the next prune, so the view does not change
 * between two cycles. Sources of a condensed batch are kept, for views of an earlier prune and for audits. Batches of
 * editions are kept too, adopted or not.
 */
import type { OriginType, RecordedEvent } from '../../../src/domain/events/index.js'
import type { Projection, RowChange, Table } from '../../engine/projection.js'
import { inConversation, subjectOfEvent } from '../../engine/streams.js'

const batches: Table = {
  name: 'batches',
  columns: {
    conversation_id: 'text',
    batch_id: 'text',
    /** The edition in whose stream it was recorded, at `revision`; null for the conversation's own stream. */
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
    // JSON texts: a model's output may contain characters that `text` refuses, and lists keep their order.
    content: 'text',
    sections: 'text',
    source_batch_ids: 'text',
    message_ids: 'text',
    chunk_id: 'text',
    recorded_at: 'text',
  },
  key: ['conversation_id', 'batch_id'],
  // No query reads all batches in an order; a view lists its batches.
  indexes: [],
}

const views: Table = {
  name: 'clip_archive_views',
  columns: {
    conversation_id: 'text',
    cycle: 'int8',
    /** Revision of the checkpoint event from which this state is. */
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

const batchRow = (event: RecordedEvent<'BatchArchived' | 'BatchesResummarized'>): RowChange => ({
  op: 'put',
  table: batches.name,
  row: {
    conversation_id: subjectOfEvent(event).conversationId,
    batch_id: event.data.batchId,
    edition_id: subjectOfEvent(event).editionId ?? null,
    revision: event.revision,
    label: event.data.label,
    depth: event.data.depth,
    start_time: event.data.startTime,
    end_time: event.data.endTime,
    message_count: event.data.messageCount,
    first_revision: event.data.firstRevision,
    last_revision: event.data.lastRevision,
    tokens: event.data.tokens,
    content: JSON.stringify(event.data.content),
    sections: event.data.sections === undefined ? null : JSON.stringify(event.data.sections),
    source_batch_ids: event.type === 'BatchesResummarized' ? JSON.stringify(event.data.sourceBatchIds) : '[]',
    message_ids: event.type === 'BatchArchived' ? JSON.stringify(event.data.messageIds) : '[]',
    chunk_id: event.type === 'BatchArchived' ? event.data.chunkId : null,
    recorded_at: event.metadata.recordedAt,
  },
})

const viewRow = (event: RecordedEvent<OriginType>): RowChange => ({
  op: 'put',
  table: views.name,
  row: {
    conversation_id: subjectOfEvent(event).conversationId,
    cycle: event.data.cycle,
    revision: event.revision,
    window_start: event.data.windowStart,
    batch_ids: JSON.stringify(event.data.carried.batches.map(({ batchId }) => batchId)),
    messages_compressed: event.data.carried.messagesCompressed,
    tokens_before: event.data.tokensBefore,
    tokens_after: event.data.tokensAfter,
    context_hash: event.data.contextHash,
    recorded_at: event.metadata.recordedAt,
  },
})

export const clipArchive: Projection = {
  name: 'clip-archive',
  version: 5,
  tables: [batches, views],
  handlers: {
    BatchArchived: (event) => [batchRow(event)],
    BatchesResummarized: (event) => [batchRow(event)],
    MessagesPruned: inConversation((event) => [viewRow(event)]),
    EditionAdopted: (event) => [viewRow(event)],
    EditionReverted: (event) => [viewRow(event)],
    CycleUndone: (event) => [viewRow(event)],
  },
}
