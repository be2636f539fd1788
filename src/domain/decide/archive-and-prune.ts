/**
 * Ends a cycle: archives each chunk as a batch and removes its messages from the live window. All events go into one
 * append, so that no message is lost in between.
 */
import { either as E } from 'fp-ts'
import { legalCuts } from '../compaction/cut-rules.js'
import { archivedContent, batchLabel, carriedBatch, withWorkingState, workingStateOf } from '../conversation/batch.js'
import { callGroups, callName } from '../conversation/call-groups.js'
import type { Chunk, Conversation } from '../conversation/conversation.js'
import { applyOperations } from '../conversation/working-state.js'
import type { CarryForward, Event, EventData, Trigger, WorkingState } from '../events/index.js'
import { hashOf } from '../values/hash.js'
import { batchIdOf } from '../values/ids.js'
import { hardLimit, softLimit } from '../values/policy.js'
import { messagesCarriedForward } from './carry-forward.js'
import { applyPending, configurationOf, estimatorOf, type Decision } from './decision.js'
import { lineageOf } from './lineage-of.js'
import { liveMessagesWith, type MessageNotLive } from './live-messages.js'
import { originHashes } from './origin-hashes.js'

export interface ArchiveAndPrune {
  readonly type: 'ArchiveAndPrune'
  readonly chunkIds: readonly string[]
  readonly trigger: Trigger
}

/** The chunk has no unarchived summary. */
type NotArchivedYet = { readonly kind: 'NotArchivedYet'; readonly chunkId: string }

type CutRejection =
  | MessageNotLive
  /** An older message would stay between messages that are removed. */
  | { readonly kind: 'NotAtHead'; readonly messageId: string }
  /** The cut would separate a tool call from its results. */
  | { readonly kind: 'CutInsideCallGroup'; readonly messageId: string }
  | { readonly kind: 'MessagePinned'; readonly messageId: string }

/** @param workingState the working state after this batch */
function batchArchived(state: Conversation, chunk: Chunk, workingState: WorkingState): EventData<'BatchArchived'> {
  const span = {
    depth: 0 as const,
    startTime: chunk.startTime,
    endTime: chunk.endTime,
    messageCount: chunk.messageCount,
  }
  return {
    batchId: batchIdOf(lineageOf(state), chunk.chunkId),
    label: batchLabel(state.conversationId, chunk.endTime),
    ...span,
    firstRevision: chunk.firstRevision,
    lastRevision: chunk.lastRevision,
    messageIds: chunk.messageIds,
    content: archivedContent(span, chunk.summary),
    ...(chunk.sections === undefined ? {} : { sections: chunk.sections }),
    ...withWorkingState(workingState),
    tokens: estimatorOf(state).text(chunk.summary),
    chunkId: chunk.chunkId,
  }
}

/**
 * Unanswered calls are carried from prune to prune. Beyond this number the oldest are dropped, so that a prune event
 * stays small.
 */
const MAX_COMPACTED_CALLS = 256

/** Compacted calls whose result is live or missing: those from this cycle, and those from earlier cycles. */
export function compactedCalls(
  state: Conversation,
  archived: readonly EventData<'BatchArchived'>[],
): CarryForward['compactedCalls'] {
  const batchOf = new Map(archived.flatMap((batch) => batch.messageIds.map((id) => [id, batch.batchId] as const)))
  const messages = [...state.retained, ...state.window]
  const { groups, strays } = callGroups(messages)
  const answeredAndCompacted = new Set(
    [...strays].flatMap((at) => {
      const message = messages[at]
      return message !== undefined && batchOf.has(message.messageId) ? [message.toolCallId] : []
    }),
  )
  const before = state.compactedCalls.filter((call) => !answeredAndCompacted.has(call.callId))
  const now = groups.flatMap((group) => {
    const batchId = batchOf.get(messages[group.call]?.messageId ?? '')
    return batchId === undefined ? [] : group.open.map((call) => ({ callId: call.id, name: callName(call), batchId }))
  })
  return [...before, ...now].slice(-MAX_COMPACTED_CALLS)
}

/** The messages to remove from the live window, and the end of their range. */
interface Cut {
  readonly leaving: ReadonlySet<string>
  /** Index after the newest of them, among the retained messages and the window. */
  readonly end: number
}

/**
 * Checks that the messages of these chunks may be removed: none of them is pinned, and no older message stays without a
 * reason.
 */
function checkCut(state: Conversation, chunks: readonly Chunk[]): E.Either<CutRejection, Cut> {
  const leaving = new Set(chunks.flatMap((chunk) => chunk.messageIds))
  const live = liveMessagesWith(state, [...leaving])
  if (E.isLeft(live)) return live
  const messages = [...state.retained, ...state.window]
  const last = messages.findLastIndex((message) => leaving.has(message.messageId))
  const end = last + 1
  if (!legalCuts(messages, configurationOf(state).policy.chunkSize).includes(end))
    return E.left({ kind: 'CutInsideCallGroup', messageId: messages[last]?.messageId ?? '' })
  const { groups } = callGroups(messages)
  const groupOf = new Map(groups.flatMap((group) => [group.call, ...group.results].map((at) => [at, group] as const)))
  const hasPinnedInGroup = (at: number): boolean => {
    const group = groupOf.get(at)
    return group !== undefined && [group.call, ...group.results].some((member) => messages[member]?.pinned === true)
  }
  // A message may have been pinned while the summary was made. It stays, and so do the calls and results that belong to
  // it.
  const pinnedMessage = messages.find(
    (message, at) => leaving.has(message.messageId) && (message.pinned || hasPinnedInGroup(at)),
  )
  if (pinnedMessage !== undefined) return E.left({ kind: 'MessagePinned', messageId: pinnedMessage.messageId })
  // No gap: every message before the end is removed, pinned, or part of a group with a pinned message.
  const hole = messages
    .slice(0, end)
    .find((message, at) => !leaving.has(message.messageId) && !message.pinned && !hasPinnedInGroup(at))
  return hole === undefined ? E.right({ leaving, end }) : E.left({ kind: 'NotAtHead', messageId: hole.messageId })
}

export function archiveAndPrune(
  state: Conversation,
  { chunkIds, trigger }: ArchiveAndPrune,
): Decision<CutRejection | NotArchivedYet> {
  const chunks = chunkIds.flatMap((id) => state.chunks.find((chunk) => chunk.chunkId === id) ?? [])
  if (chunks.length < chunkIds.length || chunkIds.length === 0)
    return E.left({
      kind: 'NotArchivedYet',
      chunkId: chunkIds.find((id) => !chunks.some((chunk) => chunk.chunkId === id)) ?? '',
    })
  const cut = checkCut(state, chunks)
  if (E.isLeft(cut)) return cut
  let workingState = workingStateOf(state.batches)
  const archived = chunks.map((chunk) => {
    workingState = applyOperations(workingState, chunk.operations ?? [])
    return batchArchived(state, chunk, workingState)
  })
  const events: Event[] = archived.map((data) => ({ type: 'BatchArchived', data }))
  const stateAfter = applyPending(state, events)
  const pruned = messagesPruned(stateAfter, cut.right, archived, trigger)
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
 * @param state with the archived batches
 */
function messagesPruned(
  state: Conversation,
  { leaving, end }: Cut,
  archived: readonly EventData<'BatchArchived'>[],
  trigger: Trigger,
): EventData<'MessagesPruned'> {
  const configuration = configurationOf(state)
  const { policy } = configuration
  const messages = [...state.retained, ...state.window]
  const windowStart =
    messages.slice(Math.max(end, state.retained.length))[0]?.revision ?? state.conversationRevision + 1
  const retained = messages.filter(
    (message) => !leaving.has(message.messageId) && (message.revision < windowStart || message.pinned),
  )
  const { modelMaxTokens, systemReserve, outputReserve, safetyBuffer, contextBudget } = policy
  return {
    cycle: state.cycles + 1,
    windowStart,
    pruned: archived.map(({ batchId, messageIds }) => ({ batchId, messageIds })),
    tokensBefore: state.tokens,
    tokensAfter: 0,
    why: {
      trigger,
      threshold: trigger === 'hard' ? hardLimit(policy) : softLimit(policy),
      terms: { modelMaxTokens, systemReserve, outputReserve, safetyBuffer, contextBudget },
    },
    carried: {
      configuration,
      messagesCompressed: state.messagesCompressed + leaving.size,
      ...messagesCarriedForward(state),
      kept: retained.map(({ revision, pinned }) => ({ revision, pinned })),
      batches: state.batches.map(carriedBatch),
      chunks: state.chunks
        .filter((chunk) => !chunk.messageIds.some((id) => leaving.has(id)))
        .map((chunk) => chunk.revision),
      compactedCalls: compactedCalls(state, archived),
      ...(state.lineage === undefined ? {} : { lineage: state.lineage }),
    },
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
}
