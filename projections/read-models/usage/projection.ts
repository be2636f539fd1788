/**
 * Usage: what each answer and each summary cost in tokens of its model. Prices are not part of the rows: a query returns
 * usage, and its reader calculates the cost.
 *
 * A handler reads nothing and so cannot count: each event with usage has a row of its own, and `queries.ts` adds them. It
 * counts messages, and answers of which nothing else is recorded, from the archive index. For the same reason a row has
 * what an estimate needs if a model did not report the usage of a summary.
 */
import { summaryOf } from '../../../src/domain/conversation/batch.js'
import { ANSWER } from '../../../src/domain/conversation/observed.js'
import { isWithoutModel } from '../../../src/domain/reports/prices.js'
import {
  estimatedCompletion,
  isUnreported,
  useOfReview,
  useOfSummary,
  usesInVain,
  type ReportedUse,
} from '../../../src/domain/reports/tally.js'
import { storable } from '../../../src/domain/text/terms.js'
import { isRecord } from '../../../src/lib/is-record.js'
import type { EventData, RecordedEvent, SummarizerRecord } from '../../../src/domain/events/index.js'
import type { Projection, Row, RowChange, Table } from '../../engine/projection.js'
import { inConversation, subjectOfEvent } from '../../engine/streams.js'
import { answerCells, reportedCells, textCell } from './answer-cells.js'

const usage: Table = {
  name: 'model_usage',
  columns: {
    conversation_id: 'text',
    /** The edition in whose stream the event was recorded, at `revision`; empty for the conversation's own stream. */
    edition_id: 'text',
    revision: 'int8',
    /** 0: the event itself. 1: the usage of an earlier answer, which the event reports. */
    part: 'int4',
    /** Whether a model wrote the message. */
    is_answer: 'boolean',
    /** The messages of one answer share an id. A program repeats its usage so far in each of them. */
    answer_id: 'text',
    /** The provider of the model of a summary; null for a model that another program called. */
    provider: 'text',
    model: 'text',
    /** Null if no usage was reported. */
    prompt_tokens: 'int8',
    completion_tokens: 'int8',
    cached_tokens: 'int8',
    cache_write_tokens: 'int8',
    /** In US dollars, if the program reports it. */
    cost: 'float8',
    /** True for a summary without reported usage. */
    is_estimated: 'boolean',
    /** For such a summary: the messages that it was made from, as JSON text, and where they are. */
    source_message_ids: 'text',
    first_revision: 'int8',
    last_revision: 'int8',
    /** The same for a summary of batches. */
    source_batch_ids: 'text',
  },
  key: ['conversation_id', 'edition_id', 'revision', 'part'],
  indexes: [],
}

const keyOf = (event: RecordedEvent, part = 0): Row => {
  const { conversationId, editionId = '' } = subjectOfEvent(event)
  return { conversation_id: conversationId, edition_id: editionId, revision: event.revision, part }
}

const put = (event: RecordedEvent, cells: Row, part = 0): RowChange => ({
  op: 'put',
  table: usage.name,
  row: { ...keyOf(event, part), ...cells },
})

function messageRows(event: RecordedEvent<'MessageAppended'>): readonly RowChange[] {
  const { role, attributes } = event.data
  if (attributes === undefined) return []
  const answer = role === 'assistant' ? answerCells(attributes) : undefined
  const earlier = attributes['earlierUsage']
  return [
    ...(answer === undefined ? [] : [put(event, answer)]),
    ...(isRecord(earlier)
      ? [put(event, { answer_id: textCell(earlier[ANSWER]), ...reportedCells(earlier['usage']) }, 1)]
      : []),
  ]
}

const modelCells = ({
  provider,
  model,
  promptTokens,
  completionTokens,
  cachedTokens = 0,
  cacheWriteTokens = 0,
}: Omit<ReportedUse, 'durationMs'>): Row => ({
  provider: storable(provider),
  model: storable(model),
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  cached_tokens: cachedTokens,
  cache_write_tokens: cacheWriteTokens,
})

/**
 * The row of a summary; none if no model was called for it.
 * @param sources what it was made from, for an estimate of its prompt
 */
function summaryRows(event: RecordedEvent, summarizer: SummarizerRecord, summary: string, sources: Row): RowChange[] {
  const estimate = () => ({ promptTokens: 0, completionTokens: estimatedCompletion(summary) })
  const use = isWithoutModel(summarizer) ? undefined : useOfSummary(summarizer, estimate)
  return use === undefined
    ? []
    : [put(event, { ...modelCells(use), ...(isUnreported(summarizer) ? { is_estimated: true, ...sources } : {}) })]
}

/** The row of the rejected answers of a failed compaction, which are all of one model. */
function rejectedRows(event: RecordedEvent, data: EventData<'CompactionFailed'>): readonly RowChange[] {
  const uses = isWithoutModel(data) ? [] : usesInVain(data)
  const sum = (field: 'promptTokens' | 'completionTokens' | 'cachedTokens'): number =>
    uses.reduce((total, use) => total + (use[field] ?? 0), 0)
  const { provider, model } = data
  const all = { promptTokens: sum('promptTokens'), completionTokens: sum('completionTokens') }
  return uses.length === 0
    ? []
    : [put(event, modelCells({ provider, model, ...all, cachedTokens: sum('cachedTokens') }))]
}

export const usageProjection: Projection = {
  name: 'usage',
  version: 3,
  tables: [usage],
  handlers: {
    MessageAppended: messageRows,
    CompactionObserved: inConversation((event) => {
      const cells = reportedCells(event.data.told.usage)
      return Object.keys(cells).length === 0 ? [] : [put(event, { model: textCell(event.data.told.model), ...cells })]
    }),
    ChunkSummarized: (event) => {
      const { summarizer, summary, messageIds, firstRevision, lastRevision } = event.data
      return summaryRows(event, summarizer, summary, {
        source_message_ids: JSON.stringify(messageIds),
        first_revision: firstRevision,
        last_revision: lastRevision,
      })
    },
    SummarySetAside: (event) => summaryRows(event, event.data.summarizer, event.data.summary, {}),
    BatchesResummarized: (event) =>
      summaryRows(event, event.data.summarizer, summaryOf(event.data), {
        source_batch_ids: JSON.stringify(event.data.sourceBatchIds),
      }),
    CompactionFailed: (event) => rejectedRows(event, event.data),
    RulesReviewed: (event) => {
      const use = useOfReview(event.data)
      return use === undefined ? [] : [put(event, modelCells(use))]
    },
  },
}
