/**
 * Records the actions of another program, as read from its transcript. They have happened, so the ledger's rules never
 * reject them. If the ledger makes the context by now (an edition was adopted or a cycle undone), further actions of
 * the program are recorded but change no context.
 */
import { either as E } from 'fp-ts'
import { archivedContent, batchLabel, carriedBatch, withWorkingState, workingStateOf } from '../conversation/batch.js'
import type { Conversation } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { carriedObserved, type Observed } from '../conversation/observed.js'
import type { Event, EventData, ObservedEntry } from '../events/index.js'
import { hashOf } from '../values/hash.js'
import type { MessageBody } from '../values/message.js'
import { batchIdOf } from '../values/ids.js'
import { compactedCalls } from './archive-and-prune.js'
import { messagesCarriedForward } from './carry-forward.js'
import { applyPending, configurationOf, estimatorOf, type Decision } from './decision.js'
import { earliest, latest } from './extremes.js'
import { lineageOf } from './lineage-of.js'
import { liveMessageWith, type MessageNotLive } from './live-messages.js'
import { originHashes } from './origin-hashes.js'

export interface ObserveConversation {
  readonly type: 'ObserveConversation'
  readonly conversation: EventData<'ConversationObserved'>
}

/** The conversation has messages that are not from a transcript, so it does not belong to another program. */
export type NotObserved = { readonly kind: 'NotObserved'; readonly conversationId: string }

export function observeConversation(state: Conversation, { conversation }: ObserveConversation): Decision<NotObserved> {
  if (state.observed !== undefined) return E.right([])
  if (state.messagesAppended > 0) return E.left({ kind: 'NotObserved', conversationId: state.conversationId })
  return E.right([{ type: 'ConversationObserved', data: conversation }])
}

export interface ObserveCompaction {
  readonly type: 'ObserveCompaction'
  readonly compaction: Omit<EventData<'CompactionObserved'>, 'chunkId' | 'covered'>
}

/** The archived text for removed messages. */
export const textOfSummary = (summary: EventData<'CompactionObserved'>['summary']): string => {
  if (summary.kind === 'text' && summary.text.trim() !== '') return summary.text
  return summary.kind === 'opaque'
    ? '(the summary is recorded in a form that only its provider reads)'
    : '(nothing: these messages left without a summary)'
}

/** Id of a compaction of another program: from the conversation and the program's own id. */
const observedChunkId = (state: Conversation, sourceId: string): string =>
  `observed-${hashOf([state.conversationId, sourceId]).slice(0, 20)}`

/** The messages that a compaction covers, with their span; undefined if there are none. */
function coverageOf(leaving: readonly LiveMessage[]): EventData<'CompactionObserved'>['covered'] {
  const [first] = leaving
  if (first === undefined) return undefined
  const times = leaving.map((message) => message.createdAt)
  const revisions = leaving.map((message) => message.revision).toSorted((a, b) => (a < b ? -1 : 1))
  return {
    messageIds: leaving.map((message) => message.messageId),
    startTime: earliest(times),
    endTime: latest(times),
    messageCount: leaving.length,
    firstRevision: revisions[0] ?? first.revision,
    lastRevision: revisions.at(-1) ?? first.revision,
  }
}

/** Content that the program currently sends to its model instead of messages, by message id. */
const currentContents = ({ compaction, edits }: Observed): ReadonlyMap<string, MessageBody['content']> =>
  new Map([
    ...(compaction?.context ?? []).flatMap((entry) =>
      entry.kind === 'message' && entry.content !== undefined ? [[entry.messageId, entry.content] as const] : [],
    ),
    ...edits,
  ])

function batchOf(
  state: Conversation,
  { chunkId, summary }: EventData<'CompactionObserved'>,
  covered: NonNullable<EventData<'CompactionObserved'>['covered']>,
): EventData<'BatchArchived'> {
  const { messageIds, startTime, endTime, messageCount, firstRevision, lastRevision } = covered
  const span = { depth: 0 as const, startTime, endTime, messageCount }
  const text = textOfSummary(summary)
  return {
    batchId: batchIdOf(lineageOf(state), chunkId),
    label: batchLabel(state.conversationId, endTime),
    ...span,
    firstRevision,
    lastRevision,
    messageIds,
    content: archivedContent(span, text),
    ...withWorkingState(workingStateOf(state.batches)),
    tokens: estimatorOf(state).text(text),
    chunkId,
  }
}

/**
 * Records a compaction of the program. A batch with its summary covers the messages that are no longer in its context.
 * Leading instructions stay live in any case: they belong to no batch.
 */
export function observeCompaction(state: Conversation, { compaction }: ObserveCompaction): Decision<MessageNotLive> {
  const chunkId = observedChunkId(state, compaction.sourceId)
  const { observed } = state
  if (observed === undefined) return E.right([{ type: 'CompactionObserved', data: { chunkId, ...compaction } }])
  const named = compaction.context.flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : []))
  const missing = named.find((id) => liveMessageWith(state, id) === undefined)
  if (missing !== undefined) return E.left({ kind: 'MessageNotLive', messageId: missing })
  const contents = currentContents(observed)
  const stays = new Set(named)
  const leaving = [...state.retained, ...state.window].filter((message) => !stays.has(message.messageId))
  const left = new Set(leaving.map((message) => message.messageId))
  const covered = coverageOf(leaving)
  const data: EventData<'CompactionObserved'> = {
    chunkId,
    ...compaction,
    unknown: compaction.unknown.filter((id) => left.has(id)),
    context: compaction.context.map((entry): ObservedEntry => {
      if (entry.kind !== 'message' || entry.content !== undefined) return entry
      const content = contents.get(entry.messageId)
      return content === undefined ? entry : { ...entry, content }
    }),
    ...(covered === undefined ? {} : { covered }),
  }
  const archived = covered === undefined ? [] : [batchOf(state, data, covered)]
  const events: Event[] = [
    { type: 'CompactionObserved', data },
    ...archived.map((batch): Event => ({ type: 'BatchArchived', data: batch })),
  ]
  const stateAfter = applyPending(state, events)
  const pruned = prunedBy(stateAfter, state.revision + 1, archived, stays)
  return E.right([
    ...events,
    {
      type: 'MessagesPruned',
      data: { ...pruned, ...originHashes(applyPending(stateAfter, [{ type: 'MessagesPruned', data: pruned }])) },
    },
  ])
}

/**
 * The checkpoint event, without the hashes of the resulting context.
 * @param state with the compaction and its batch
 * @param compaction revision of the compaction
 */
function prunedBy(
  state: Conversation,
  compaction: number,
  archived: readonly EventData<'BatchArchived'>[],
  stays: ReadonlySet<string>,
): EventData<'MessagesPruned'> {
  const { observed } = state
  const leaving = archived.reduce((sum, batch) => sum + batch.messageCount, 0)
  return {
    cycle: state.cycles + 1,
    // The event lists every message that stays, so the window begins after it.
    windowStart: state.revision + 1,
    pruned: archived.map(({ batchId, messageIds }) => ({ batchId, messageIds })),
    tokensBefore: state.tokens,
    tokensAfter: 0,
    why: { trigger: 'observed' },
    carried: {
      configuration: configurationOf(state),
      messagesCompressed: state.messagesCompressed + leaving,
      ...messagesCarriedForward(state),
      kept: [...state.retained, ...state.window]
        .filter((message) => stays.has(message.messageId))
        .map(({ revision, pinned }) => ({ revision, pinned })),
      batches: state.batches.map(carriedBatch),
      chunks: [],
      compactedCalls: compactedCalls(state, archived),
      ...(state.lineage === undefined ? {} : { lineage: state.lineage }),
      ...(observed === undefined
        ? {}
        : {
            observed: {
              ...carriedObserved({ ...observed, compaction: undefined, edits: new Map() }),
              compaction,
            },
          }),
    },
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
}

export interface EditContribution {
  readonly type: 'EditContribution'
  readonly edit: Omit<EventData<'ContributionEdited'>, 'revision'>
}

export function editContribution(state: Conversation, { edit }: EditContribution): Decision<MessageNotLive> {
  const message = liveMessageWith(state, edit.messageId)
  if (message === undefined) return E.left({ kind: 'MessageNotLive', messageId: edit.messageId })
  return E.right([{ type: 'ContributionEdited', data: { ...edit, revision: message.revision } }])
}

export interface NoteDamage {
  readonly type: 'NoteDamage'
  readonly damage: EventData<'TranscriptDamaged'>
}

export const noteDamage = (_state: Conversation, { damage }: NoteDamage): Decision =>
  E.right([{ type: 'TranscriptDamaged', data: damage }])

export interface TitleConversation {
  readonly type: 'TitleConversation'
  readonly title: EventData<'ConversationTitled'>
}

export const titleConversation = (_state: Conversation, { title }: TitleConversation): Decision =>
  E.right([{ type: 'ConversationTitled', data: title }])
