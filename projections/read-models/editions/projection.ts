/**
 * The editions of conversations: the configuration of each, how far it has read its conversation, what it has bought,
 * and which one is adopted.
 *
 * A handler reads nothing and so cannot count: each batch, summary and failure of an edition has its own row, and
 * `queries.ts` counts them. The adopted edition is stored in one row for each conversation, because the event that adopts
 * an edition does not name the previous one.
 */
import type { EventData, RecordedEvent, SummarizerRecord, ReplacementType } from '../../../src/domain/events/index.js'
import { policyForRow } from '../../../src/domain/values/policy-settings.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { inConversation, inEdition, subjectOfEvent, type EditionSubject } from '../../engine/streams.js'

const editions: Table = {
  name: 'editions',
  columns: {
    conversation_id: 'text',
    edition_id: 'text',
    /** Revision of the last event of its stream. */
    revision: 'int8',
    started_at: 'text',
    last_recorded_at: 'text',
    strategy: 'text',
    provider: 'text',
    model: 'text',
    /** JSON text. */
    configuration: 'text',
    /** The conversation's last revision when the edition was started. */
    started_revision: 'int8',
    /** The conversation's last revision that the edition has read; null before the first. */
    seen_revision: 'int8',
    cycles: 'int8',
    messages_compressed: 'int8',
    /** Tokens of the context after its last cycle. */
    tokens_after: 'int8',
    dropped: 'boolean',
    /** When it was last adopted; null if it never was. */
    adopted_at: 'text',
    compared_at: 'text',
  },
  key: ['conversation_id', 'edition_id'],
  // Queries read an edition with all its conversations.
  indexes: ['(edition_id, conversation_id)'],
}

const batches: Table = {
  name: 'edition_batches',
  columns: {
    conversation_id: 'text',
    edition_id: 'text',
    batch_id: 'text',
    depth: 'int4',
    tokens: 'int8',
    active: 'boolean',
  },
  key: ['conversation_id', 'edition_id', 'batch_id'],
  indexes: [],
}

const summaries: Table = {
  name: 'edition_summaries',
  columns: {
    conversation_id: 'text',
    edition_id: 'text',
    revision: 'int8',
    /** True if no request was sent for it. */
    reused: 'boolean',
    /** Null if the model did not report it. */
    prompt_tokens: 'int8',
    completion_tokens: 'int8',
    prompt_name: 'text',
    prompt_sha256: 'text',
  },
  key: ['conversation_id', 'edition_id', 'revision'],
  indexes: [],
}

const failures: Table = {
  name: 'edition_failures',
  columns: { conversation_id: 'text', edition_id: 'text', revision: 'int8' },
  key: ['conversation_id', 'edition_id', 'revision'],
  indexes: [],
}

const inForce: Table = {
  name: 'editions_in_force',
  columns: {
    conversation_id: 'text',
    /** Null if the conversation's own batches are active. */
    edition_id: 'text',
  },
  key: ['conversation_id'],
  indexes: [],
}

const keyOf = ({ conversationId, editionId }: EditionSubject): Row => ({
  conversation_id: conversationId,
  edition_id: editionId,
})

/** Updates the edition's row. Every event of its stream changes at least the revision. */
const updated = (event: RecordedEvent, edition: EditionSubject, set: Row = {}): RowChange => ({
  op: 'patch',
  table: editions.name,
  key: keyOf(edition),
  set: { revision: event.revision, last_recorded_at: event.metadata.recordedAt, ...set },
})

const onlyUpdated = inEdition((event: RecordedEvent, edition) => [updated(event, edition)])

function started(event: RecordedEvent<'EditionStarted'>, edition: EditionSubject): readonly RowChange[] {
  // A dropped edition that is started again continues.
  if (event.revision !== 0) return [updated(event, edition, { dropped: false })]
  const { configuration, summarizer, conversationRevision } = event.data
  const { recordedAt } = event.metadata
  return [
    {
      op: 'put',
      table: editions.name,
      row: {
        ...keyOf(edition),
        revision: event.revision,
        started_at: recordedAt,
        last_recorded_at: recordedAt,
        strategy: summarizer.strategy,
        provider: summarizer.provider,
        model: summarizer.model,
        configuration: JSON.stringify({ ...configuration, policy: policyForRow(configuration.policy) }),
        started_revision: conversationRevision,
        cycles: 0,
        messages_compressed: 0,
        dropped: false,
      },
    },
  ]
}

const summaryRow = (
  event: RecordedEvent,
  edition: EditionSubject,
  { reused, usage, prompt }: SummarizerRecord,
): RowChange => ({
  op: 'put',
  table: summaries.name,
  row: {
    ...keyOf(edition),
    revision: event.revision,
    reused: reused === true,
    prompt_tokens: usage?.promptTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
    prompt_name: prompt.name,
    prompt_sha256: prompt.sha256,
  },
})

const batchRow = (
  edition: EditionSubject,
  { batchId, depth, tokens }: Pick<EventData<'BatchesResummarized'>, 'batchId' | 'depth' | 'tokens'>,
): RowChange => ({
  op: 'put',
  table: batches.name,
  row: { ...keyOf(edition), batch_id: batchId, depth, tokens, active: true },
})

/** Stores which edition is adopted after this event. */
const putInForce = (event: RecordedEvent<ReplacementType>): RowChange => ({
  op: 'put',
  table: inForce.name,
  row: {
    conversation_id: subjectOfEvent(event).conversationId,
    edition_id: event.data.carried.lineage?.edition?.editionId ?? null,
  },
})

export const editionsProjection: Projection = {
  name: 'editions',
  version: 5,
  tables: [editions, batches, summaries, failures, inForce],
  handlers: {
    EditionStarted: inEdition(started),
    EditionAdvanced: inEdition((event, edition) => [
      updated(event, edition, { seen_revision: event.data.conversationRevision }),
    ]),
    EditionDropped: inEdition((event, edition) => [updated(event, edition, { dropped: true })]),
    EditionCompared: inEdition((event, edition) => [
      updated(event, edition, { compared_at: event.metadata.recordedAt }),
    ]),
    ChunkSummarized: inEdition((event, edition) => [
      summaryRow(event, edition, event.data.summarizer),
      updated(event, edition),
    ]),
    BatchArchived: inEdition((event, edition) => [batchRow(edition, event.data), updated(event, edition)]),
    BatchesResummarized: inEdition((event, edition) => [
      summaryRow(event, edition, event.data.summarizer),
      ...event.data.sourceBatchIds.map((batch_id): RowChange => ({
        op: 'patch',
        table: batches.name,
        key: { ...keyOf(edition), batch_id },
        set: { active: false },
      })),
      batchRow(edition, event.data),
      updated(event, edition),
    ]),
    MessagesPruned: inEdition((event, edition) => {
      const { cycle, carried, tokensAfter } = event.data
      return [
        updated(event, edition, {
          cycles: cycle,
          messages_compressed: carried.messagesCompressed,
          tokens_after: tokensAfter,
        }),
      ]
    }),
    CompactionFailed: inEdition((event, edition) => [
      { op: 'put', table: failures.name, row: { ...keyOf(edition), revision: event.revision } },
      updated(event, edition),
    ]),
    EditionAdopted: inConversation((event) => {
      const edition = { conversationId: subjectOfEvent(event).conversationId, editionId: event.data.editionId }
      return [
        putInForce(event),
        { op: 'patch', table: editions.name, key: keyOf(edition), set: { adopted_at: event.metadata.recordedAt } },
      ]
    }),
    EditionReverted: inConversation((event) => [putInForce(event)]),
    CycleUndone: inConversation((event) => [putInForce(event)]),
    // Recorded in a separate stream that belongs to no conversation.
    PromptRegistered: () => [],
  },
  otherHandler: onlyUpdated,
}
