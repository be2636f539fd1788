/**
 * The editions of conversations: what each is made with, how far it has seen its conversation, what it has bought, and which is in force.
 *
 * A handler reads nothing and so cannot count: an edition's batches, summaries and failures have a row each, and `queries.ts` counts them at the time of
 * asking. Which edition is in force is said by one row a conversation, because the fact that adopts one does not name the one before it.
 */
import type { FactData, RecordedFact, SummarizerFacts, TakeoverType } from '../../../src/domain/events/index.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { inConversation, inEdition, subjectOfFact, type EditionSubject } from '../../engine/streams.js'

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
    /** The conversation's last fact when it was begun, and the last one that it has seen; null as long as it has seen none. */
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
  columns: { conversation_id: 'text', edition_id: 'text', batch_id: 'text', depth: 'int4', tokens: 'int8', active: 'boolean' },
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

const keyOf = ({ conversationId, editionId }: EditionSubject): Row => ({ conversation_id: conversationId, edition_id: editionId })

/** A change of the edition's own row; every fact of its stream says how far that is. */
const told = (fact: RecordedFact, edition: EditionSubject, set: Row = {}): RowChange => ({
  op: 'patch',
  table: editions.name,
  key: keyOf(edition),
  set: { revision: fact.revision, last_recorded_at: fact.metadata.recordedAt, ...set },
})

const onlyTold = inEdition((fact: RecordedFact, edition) => [told(fact, edition)])

function started(fact: RecordedFact<'EditionStarted'>, edition: EditionSubject): readonly RowChange[] {
  // One that was dropped and is begun again goes on where it stood.
  if (fact.revision !== 0n) return [told(fact, edition, { dropped: false })]
  const { configuration, summarizer, conversationRevision } = fact.data
  const { recordedAt } = fact.metadata
  return [
    {
      op: 'put',
      table: editions.name,
      row: {
        ...keyOf(edition),
        revision: fact.revision,
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

const summaryRow = (fact: RecordedFact, edition: EditionSubject, { reused, usage, prompt }: SummarizerFacts): RowChange => ({
  op: 'put',
  table: summaries.name,
  row: {
    ...keyOf(edition),
    revision: fact.revision,
    reused: reused === true,
    prompt_tokens: usage?.promptTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
    prompt_name: prompt.name,
    prompt_sha256: prompt.sha256,
  },
})

const batchRow = (edition: EditionSubject, { batchId, depth, tokens }: Pick<FactData<'BatchesResummarized'>, 'batchId' | 'depth' | 'tokens'>): RowChange => ({
  op: 'put',
  table: batches.name,
  row: { ...keyOf(edition), batch_id: batchId, depth, tokens, active: true },
})

/** Says which edition is in force from here on. */
const putInForce = (fact: RecordedFact<TakeoverType>): RowChange => ({
  op: 'put',
  table: inForce.name,
  row: { conversation_id: subjectOfFact(fact).conversationId, edition_id: fact.data.carried.line?.edition?.editionId ?? null },
})

export const editionsProjection: Projection = {
  name: 'editions',
  version: 3,
  tables: [editions, batches, summaries, failures, inForce],
  handlers: {
    EditionStarted: inEdition(started),
    EditionAdvanced: inEdition((fact, edition) => [told(fact, edition, { seen_revision: fact.data.conversationRevision })]),
    EditionDropped: inEdition((fact, edition) => [told(fact, edition, { dropped: true })]),
    EditionCompared: inEdition((fact, edition) => [told(fact, edition, { compared_at: fact.metadata.recordedAt })]),
    ChunkSummarized: inEdition((fact, edition) => [summaryRow(fact, edition, fact.data.summarizer), told(fact, edition)]),
    BatchArchived: inEdition((fact, edition) => [batchRow(edition, fact.data), told(fact, edition)]),
    BatchesResummarized: inEdition((fact, edition) => [
      summaryRow(fact, edition, fact.data.summarizer),
      ...fact.data.sourceBatchIds.map((batch_id): RowChange => ({ op: 'patch', table: batches.name, key: { ...keyOf(edition), batch_id }, set: { active: false } })),
      batchRow(edition, fact.data),
      told(fact, edition),
    ]),
    MessagesPruned: inEdition((fact, edition) => {
      const { cycle, carried, tokensAfter } = fact.data
      return [told(fact, edition, { cycles: cycle, messages_compressed: carried.messagesCompressed, tokens_after: tokensAfter })]
    }),
    CompactionFailed: inEdition((fact, edition) => [{ op: 'put', table: failures.name, row: { ...keyOf(edition), revision: fact.revision } }, told(fact, edition)]),
    CompactionCouldNotHelp: onlyTold,
    SummarySetAside: onlyTold,
    EditionAdopted: inConversation((fact) => {
      const edition = { conversationId: subjectOfFact(fact).conversationId, editionId: fact.data.editionId }
      return [putInForce(fact), { op: 'patch', table: editions.name, key: keyOf(edition), set: { adopted_at: fact.metadata.recordedAt } }]
    }),
    EditionReverted: inConversation((fact) => [putInForce(fact)]),
    CycleUndone: inConversation((fact) => [putInForce(fact)]),
    ConversationConfigured: 'ignore',
    MessageAppended: 'ignore',
    MessagesWithdrawn: 'ignore',
    MessagePinned: 'ignore',
    MessageUnpinned: 'ignore',
    PromptRegistered: 'ignore',
  },
}
