/**
 * The rules for a single event, given the state before it: its numbers, times, ids and texts must follow from that
 * state. An event is correct if these rules hold, no matter which version recorded it; whether the decider would decide
 * the same today is not checked.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  archivedContent,
  batchLabel,
  headerLine,
  summaryOf,
  workingStateOf,
  type Batch,
} from '../../domain/conversation/batch.js'
import { applyOperations } from '../../domain/conversation/working-state.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { lineageOf, textOfSummary } from '../../domain/decide/index.js'
import {
  changesNothing,
  definitionOf,
  type EventData,
  type RecordedEvent,
  type StateOperation,
} from '../../domain/events/index.js'
import { batchIdOf, chunkIdOf, resummarizedBatchIdOf } from '../../domain/values/ids.js'
import { messageTokens } from '../../domain/values/tokens.js'

export type Rule =
  | 'order'
  | 'hash'
  | 'readable'
  | 'time'
  | 'id'
  | 'cause'
  | 'coverage'
  | 'archive-before-prune'
  | 'messages'
  | 'figures'
  | 'carried'
  | 'context'
  | 'hard-limit'
  | 'prefix'
  | 'request'
  | 'prompt'
  | 'load'
  | 'erasure'
  | 'rows'
  | 'manifest'
  | 'checkpoint'

/** A problem of an event, as a predicate for "this event". */
export interface Finding {
  readonly rule: Rule
  readonly detail: string
  /** Another program caused it, according to its transcript: the log is not damaged. */
  readonly isObservation?: true
}

const finding = (rule: Rule, detail: string): Finding => ({ rule, detail })

/** A finding if two values differ, with both values if they are short. */
function unequal(rule: Rule, what: string, recorded: unknown, follows: unknown): Finding[] {
  if (Object.is(recorded, follows) || isDeepStrictEqual(recorded, follows)) return []
  const short = (value: unknown): string =>
    typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 80) : ''
  const reason =
    short(recorded) === '' || short(follows) === ''
      ? 'does not follow from the events before it'
      : `is ${short(recorded)}, but ${short(follows)} follows from the events before it`
  return [finding(rule, `its ${what} ${reason}`)]
}

/** The live messages that a cycle may compact, by id. */
const foldable = (state: Conversation): Map<string, LiveMessage> =>
  new Map([...state.retained, ...state.window].map((message) => [message.messageId, message]))

const earliest = (times: readonly string[]): string => times.reduce((a, b) => (a <= b ? a : b))
const latest = (times: readonly string[]): string => times.reduce((a, b) => (a >= b ? a : b))

function messageLaws(state: Conversation, { data }: RecordedEvent<'MessageAppended'>): Finding[] {
  // The tokens of an erased message are those of its former text, of which nothing is left to count.
  const tokens =
    state.configuration === undefined || data.erased === true
      ? data.tokens
      : messageTokens(data, state.findEstimator(state.configuration.estimator))
  return tokens === data.tokens ? [] : unequal('figures', 'number of tokens', data.tokens, tokens)
}

function chunkLaws(state: Conversation, { data }: RecordedEvent<'ChunkSummarized'>): Finding[] {
  const live = foldable(state)
  const missing = data.messageIds.find((id) => !live.has(id))
  if (missing !== undefined) return [finding('coverage', `summarizes message ${missing}, which is not live`)]
  const messages = data.messageIds.flatMap((id) => live.get(id) ?? [])
  const revisions = messages.map((message) => message.revision).toSorted((a, b) => (a < b ? -1 : 1))
  const times = messages.map((message) => message.createdAt)
  return [
    ...(new Set(data.messageIds).size === data.messageIds.length ? [] : [finding('coverage', 'names a message twice')]),
    // A reused chunk keeps the id of the lineage in which it was made.
    ...(data.summarizer.reused === true || data.erased === true
      ? []
      : unequal('id', 'chunkId', data.chunkId, chunkIdOf(lineageOf(state), data.messageIds, data.summarizer))),
    ...unequal('figures', 'firstRevision', data.firstRevision, revisions[0]),
    ...unequal('figures', 'lastRevision', data.lastRevision, revisions.at(-1)),
    ...unequal('figures', 'startTime', data.startTime, earliest(times)),
    ...unequal('figures', 'endTime', data.endTime, latest(times)),
    ...unequal('figures', 'messageCount', data.messageCount, messages.length),
  ]
}

const textTokens = (state: Conversation, text: string): number | undefined =>
  state.configuration === undefined ? undefined : state.findEstimator(state.configuration.estimator).text(text)

/** A compaction of another program that was recorded directly before, as the chunk that its batch archives. */
function announced(
  state: Conversation,
  chunkId: string,
):
  | (Omit<EventData<'BatchArchived'>, 'batchId' | 'label' | 'depth' | 'content' | 'tokens'> & { summary: string })
  | undefined {
  const announcedCompaction = state.observed?.announced
  if (announcedCompaction?.covered === undefined || announcedCompaction.chunkId !== chunkId) return undefined
  return {
    ...announcedCompaction.covered,
    chunkId,
    sections: undefined,
    summary: textOfSummary(announcedCompaction.summary),
  }
}

/** An observed compaction must name every live message, as covered or as remaining. */
function observedLaws(state: Conversation, { data }: RecordedEvent<'CompactionObserved'>): Finding[] {
  if (state.observed === undefined) return []
  const live = foldable(state)
  const leading = new Set(state.leading.map((message) => message.messageId))
  const named = data.context.flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : []))
  const stays = new Set(named)
  const covered = data.covered?.messageIds ?? []
  const left = [...live.keys()].filter((id) => !stays.has(id))
  const missing = named.find((id) => !live.has(id) && !leading.has(id))
  const unknown = data.unknown.find((id) => !covered.includes(id))
  return [
    ...(missing === undefined ? [] : [finding('coverage', `keeps message ${missing}, which is not live`)]),
    ...unequal('coverage', 'list of covered messages', covered, left),
    ...(unknown === undefined
      ? []
      : [finding('coverage', `calls message ${unknown} unknown, which it does not cover`)]),
    ...(data.summary.kind === 'none' && covered.length > 0
      ? [
          {
            rule: 'coverage' as const,
            detail: `no summary replaces the ${String(covered.length)} removed messages`,
            isObservation: true as const,
          },
        ]
      : []),
  ]
}

/** The working state must be the fold of the operations. One that was erased has nothing to compare. */
function workingStateLaws(
  state: Conversation,
  { workingState }: EventData<'BatchArchived'>,
  operations: readonly StateOperation[] = [],
): Finding[] {
  if (workingState === undefined) return []
  return unequal('figures', 'working state', workingState, applyOperations(workingStateOf(state.batches), operations))
}

function archiveLaws(state: Conversation, { data }: RecordedEvent<'BatchArchived'>): Finding[] {
  const chunk = state.chunks.find((each) => each.chunkId === data.chunkId) ?? announced(state, data.chunkId)
  if (chunk === undefined)
    return [finding('coverage', `archives chunk ${data.chunkId}, which has no summary that waits to be archived`)]
  const { startTime, endTime, messageCount, firstRevision, lastRevision, messageIds, summary, sections } = chunk
  const operations = 'operations' in chunk ? chunk.operations : undefined
  const span = { depth: 0, startTime, endTime, messageCount }
  return [
    ...unequal('id', 'batchId', data.batchId, batchIdOf(lineageOf(state), chunk.chunkId)),
    ...unequal('id', 'label', data.label, batchLabel(state.conversationId, endTime)),
    ...unequal('coverage', 'list of messages', data.messageIds, messageIds),
    ...unequal(
      'figures',
      'span',
      {
        startTime: data.startTime,
        endTime: data.endTime,
        messageCount: data.messageCount,
        firstRevision: data.firstRevision,
        lastRevision: data.lastRevision,
      },
      { startTime, endTime, messageCount, firstRevision, lastRevision },
    ),
    ...(data.erased === true
      ? []
      : [
          ...unequal('figures', 'content', data.content, archivedContent(span, summary)),
          ...unequal('figures', 'sections', data.sections, sections),
          ...workingStateLaws(state, data, operations),
          ...unequal('figures', 'number of tokens', data.tokens, textTokens(state, summary)),
        ]),
  ]
}

/** The active batches that an event condenses; undefined if they are not consecutive. */
export function sourcesOf(state: Conversation, sourceBatchIds: readonly string[]): readonly Batch[] | undefined {
  const first = state.batches.findIndex((batch) => batch.batchId === sourceBatchIds[0])
  const sources = first < 0 ? [] : state.batches.slice(first, first + sourceBatchIds.length)
  return sources.length === sourceBatchIds.length && sources.every((batch, at) => batch.batchId === sourceBatchIds[at])
    ? sources
    : undefined
}

function resummarizedLaws(state: Conversation, { data }: RecordedEvent<'BatchesResummarized'>): Finding[] {
  const sources = sourcesOf(state, data.sourceBatchIds)
  if (sources === undefined)
    return [
      finding(
        'coverage',
        `condenses the batches ${data.sourceBatchIds.join(', ')}, which are not active one after the other`,
      ),
    ]
  const revisions = sources
    .flatMap((batch) => [batch.firstRevision, batch.lastRevision])
    .toSorted((a, b) => (a < b ? -1 : 1))
  const span = {
    depth: 1 + Math.max(...sources.map((batch) => batch.depth)),
    startTime: earliest(sources.map((batch) => batch.startTime)),
    endTime: latest(sources.map((batch) => batch.endTime)),
    messageCount: sources.reduce((sum, batch) => sum + batch.messageCount, 0),
  }
  return [
    ...(data.erased === true ? [] : resummarizedTextLaws(state, data, span)),
    ...unequal('id', 'label', data.label, batchLabel(state.conversationId, span.endTime)),
    ...unequal('figures', 'depth', data.depth, span.depth),
    ...unequal('figures', 'startTime', data.startTime, span.startTime),
    ...unequal('figures', 'endTime', data.endTime, span.endTime),
    ...unequal('figures', 'messageCount', data.messageCount, span.messageCount),
    ...unequal('figures', 'firstRevision', data.firstRevision, revisions[0]),
    ...unequal('figures', 'lastRevision', data.lastRevision, revisions.at(-1)),
  ]
}

/** The rules that need the text of a merged batch. */
const resummarizedTextLaws = (
  state: Conversation,
  data: EventData<'BatchesResummarized'>,
  span: Parameters<typeof headerLine>[0],
): Finding[] => [
  ...unequal(
    'id',
    'batchId',
    data.batchId,
    resummarizedBatchIdOf(lineageOf(state), data.sourceBatchIds, data.summarizer),
  ),
  ...(data.content.startsWith(`${headerLine(span)}\n`)
    ? []
    : [finding('figures', 'its content does not begin with the header line that its fields make')]),
  ...unequal('figures', 'number of tokens', data.tokens, textTokens(state, summaryOf(data))),
]

function pinLaws(state: Conversation, { messageId, revision }: EventData<'MessagePinned'>): Finding[] {
  const message = foldable(state).get(messageId)
  if (message === undefined) return [finding('messages', `names message ${messageId}, which is not live`)]
  return unequal('messages', `revision of message ${messageId}`, revision, message.revision)
}

function editLaws(state: Conversation, { messageId, revision }: EventData<'ContributionEdited'>): Finding[] {
  const message = foldable(state).get(messageId) ?? state.leading.find((each) => each.messageId === messageId)
  if (message === undefined) return [finding('messages', `edits message ${messageId}, which is not live`)]
  return unequal('messages', `revision of message ${messageId}`, revision, message.revision)
}

function withdrawalLaws(state: Conversation, { data }: RecordedEvent<'MessagesWithdrawn'>): Finding[] {
  const live = new Map(
    [...state.leading, ...state.retained, ...state.window].map((message) => [message.messageId, message.revision]),
  )
  const missing = data.messages.find(({ messageId, revision }) => live.get(messageId) !== revision)
  const twice = new Set(data.messages.map(({ messageId }) => messageId)).size !== data.messages.length
  return [
    ...(missing === undefined
      ? []
      : [
          finding(
            'coverage',
            `withdraws message ${missing.messageId} of revision ${missing.revision.toString()}, which is not live`,
          ),
        ]),
    ...(twice ? [finding('coverage', 'withdraws a message twice')] : []),
  ]
}

/**
 * The problems of an event, given the state before it, apart from the resulting context and from the data that a
 * checkpoint event carries.
 */
export function eventLaws(state: Conversation, event: RecordedEvent): Finding[] {
  if (state.configuration === undefined && event.type !== 'ConversationConfigured')
    return [finding('order', 'comes before any configuration')]
  if (definitionOf(event.type).stream !== undefined) return [finding('order', 'does not belong in a conversation')]
  if (changesNothing(event)) return []
  switch (event.type) {
    case 'ConversationConfigured':
      return state.configuration === undefined
        ? []
        : unequal('messages', 'scope', event.data.scope, state.configuration.scope)
    case 'MessageAppended':
      return messageLaws(state, event)
    case 'ChunkSummarized':
      return chunkLaws(state, event)
    case 'BatchArchived':
      return archiveLaws(state, event)
    case 'BatchesResummarized':
      return resummarizedLaws(state, event)
    case 'MessagesWithdrawn':
      return withdrawalLaws(state, event)
    case 'ConversationObserved':
      return state.messagesAppended > 0 ? [finding('order', 'comes after messages of the conversation')] : []
    case 'CompactionObserved':
      return observedLaws(state, event)
    case 'ContributionEdited':
      return editLaws(state, event.data)
    case 'MessagePinned':
    case 'MessageUnpinned':
      return pinLaws(state, event.data)
    case 'EditionStarted':
    // Checkpoint events have their own file. A failure does not change the messages.
    case 'MessagesPruned':
    case 'EditionAdopted':
    case 'EditionReverted':
    case 'CycleUndone':
    case 'CompactionFailed':
    case 'CompactionCouldNotHelp':
    case 'ErasureRequested':
    case 'ErasureCompleted':
      return []
  }
}
