/**
 * The editions of conversations: what each is made with, how far it has seen its conversation, what it has bought, and
 * which is in force.
 *
 * A handler reads nothing and so cannot count: an edition's batches, summaries and failures have a row each, and
 * `queries.ts` counts them at the time of asking. Which edition is in force is said by one row a conversation, because
 * the fact that adopts one does not name the one before it.
 */
import type { EventData, RecordedEvent, SummarizerRecord, ReplacementType } from '../../../src/domain/events/index.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { inConversation, inEdition, subjectOfEvent, type EditionSubject } from '../../engine/streams.js'

const editions: Table = {
  name: 'editions',
  columns: {
    conversation_id: 'text',
    edition_id: 'text',
    /** Of the last fact of its stream. */
    revision: 'int8',
    started_at: 'text',
    last_recorded_at: 'text',
    strategy: 'text',
    provider: 'text',
    model: 'text',
    /** JSON text. */
    configuration: 'text',
    /**
     * The conversation's last fact when it was begun, and the last one that it has seen; null as long as it has seen
     * none.
     */
    started_revision: 'int8',
    seen_revision: 'int8',
    cycles: 'int8',
    messages_compressed: 'int8',
    /** Of the context after its last cycle. */
    tokens_after: 'int8',
    dropped: 'boolean',
    /** When it was put into force the last time; null where it never was. */
    adopted_at: 'text',
    compared_at: 'text',
  },
  key: ['conversation_id', 'edition_id'],
  // An edition is asked for with all its conversations.
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
    /** Nobody was asked for it. */
    reused: 'boolean',
    /** Null where the model did not say. */
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
    /** Null where the conversation's own batches are. */
    edition_id: 'text',
  },
  key: ['conversation_id'],
  indexes: [],
}

const keyOf = ({ conversationId, editionId }: EditionSubject): Row => ({
  conversation_id: conversationId,
  edition_id: editionId,
})

/** A change of the edition's own row; every fact of its stream says how far that is. */
const told = (event: RecordedEvent, edition: EditionSubject, set: Row = {}): RowChange => ({
  op: 'patch',
  table: editions.name,
  key: keyOf(edition),
  set: { revision: event.revision, last_recorded_at: event.metadata.recordedAt, ...set },
})

const onlyTold = inEdition((event: RecordedEvent, edition) => [told(event, edition)])

function started(event: RecordedEvent<'EditionStarted'>, edition: EditionSubject): readonly RowChange[] {
  // One that was dropped and is begun again goes on where it stood.
  if (event.revision !== 0n) return [told(event, edition, { dropped: false })]
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
        configuration: JSON.stringify(configuration),
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

/** Says which edition is in force from here on. */
const putInForce = (event: RecordedEvent<ReplacementType>): RowChange => ({
  op: 'put',
  table: inForce.name,
  row: {
    conversation_id: subjectOfEvent(event).conversationId,
    edition_id: event.data.carried.line?.edition?.editionId ?? null,
  },
})

export const editionsProjection: Projection = {
  name: 'editions',
  version: 3,
  tables: [editions, batches, summaries, failures, inForce],
  handlers: {
    EditionStarted: inEdition(started),
    EditionAdvanced: inEdition((event, edition) => [
      told(event, edition, { seen_revision: event.data.conversationRevision }),
    ]),
    EditionDropped: inEdition((event, edition) => [told(event, edition, { dropped: true })]),
    EditionCompared: inEdition((event, edition) => [told(event, edition, { compared_at: event.metadata.recordedAt })]),
    ChunkSummarized: inEdition((event, edition) => [
      summaryRow(event, edition, event.data.summarizer),
      told(event, edition),
    ]),
    BatchArchived: inEdition((event, edition) => [batchRow(edition, event.data), told(event, edition)]),
    BatchesResummarized: inEdition((event, edition) => [
      summaryRow(event, edition, event.data.summarizer),
      ...event.data.sourceBatchIds.map((batch_id): RowChange => ({
        op: 'patch',
        table: batches.name,
        key: { ...keyOf(edition), batch_id },
        set: { active: false },
      })),
      batchRow(edition, event.data),
      told(event, edition),
    ]),
    MessagesPruned: inEdition((event, edition) => {
      const { cycle, carried, tokensAfter } = event.data
      return [
        told(event, edition, {
          cycles: cycle,
          messages_compressed: carried.messagesCompressed,
          tokens_after: tokensAfter,
        }),
      ]
    }),
    CompactionFailed: inEdition((event, edition) => [
      { op: 'put', table: failures.name, row: { ...keyOf(edition), revision: event.revision } },
      told(event, edition),
    ]),
    CompactionCouldNotHelp: onlyTold,
    SummarySetAside: onlyTold,
    EditionAdopted: inConversation((event) => {
      const edition = { conversationId: subjectOfEvent(event).conversationId, editionId: event.data.editionId }
      return [
        putInForce(event),
        { op: 'patch', table: editions.name, key: keyOf(edition), set: { adopted_at: event.metadata.recordedAt } },
      ]
    }),
    EditionReverted: inConversation((event) => [putInForce(event)]),
    CycleUndone: inConversation((event) => [putInForce(event)]),
    ConversationConfigured: 'ignore',
    MessageAppended: 'ignore',
    MessagesWithdrawn: 'ignore',
    MessagePinned: 'ignore',
    MessageUnpinned: 'ignore',
    ConversationObserved: 'ignore',
    CompactionObserved: 'ignore',
    ContributionEdited: 'ignore',
    TranscriptDamaged: 'ignore',
    PromptRegistered: 'ignore',
  },
}
