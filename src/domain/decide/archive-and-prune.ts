/**
 * The end of a cycle: each chunk becomes a batch in the archive, and its messages leave the live window. One append, so
 * that no message is ever lost in between.
 */
import { either as E } from 'fp-ts'
import { legalCuts } from '../compaction/cut-rules.js'
import { archivedContent, batchLabel } from '../conversation/batch.js'
import { callGroups, callName } from '../conversation/call-groups.js'
import type { Chunk, Conversation } from '../conversation/conversation.js'
import type { CarryForward, Event, EventData, Trigger } from '../events/index.js'
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

/** The chunk has no summary that waits to be archived. */
type NotArchivedYet = { readonly kind: 'NotArchivedYet'; readonly chunkId: string }

type CutRejection =
  | MessageNotLive
  /** An older message would stay behind, between ones that leave. */
  | { readonly kind: 'NotAtHead'; readonly messageId: string }
  /** A tool call would be parted from its results. */
  | { readonly kind: 'CutInsideCallGroup'; readonly messageId: string }
  | { readonly kind: 'MessagePinned'; readonly messageId: string }

function batchArchived(state: Conversation, chunk: Chunk): EventData<'BatchArchived'> {
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
    tokens: estimatorOf(state).text(chunk.summary),
    chunkId: chunk.chunkId,
  }
}

/**
 * Calls that were never answered are carried from prune to prune; beyond so many the oldest are given up, so that a
 * prune stays small.
 */
const MAX_COMPACTED_CALLS = 256

/**
 * Calls that are compacted without their result, and those that were compacted before and whose result is live or still
 * to come.
 */
export function compactedCalls(
  state: Conversation,
  archived: readonly EventData<'BatchArchived'>[],
): CarryForward['foldedCalls'] {
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

/** The messages that leave the live window, and how far they reach. */
interface Cut {
  readonly leaving: ReadonlySet<string>
  /** Index behind the newest one of them, among the retained messages and the window. */
  readonly end: number
}

/** Whether the messages of these chunks may leave: none of them is held, and no older one stays behind without a reason. */
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
  const besidePinned = (at: number): boolean => {
    const group = groupOf.get(at)
    return group !== undefined && [group.call, ...group.results].some((member) => messages[member]?.pinned === true)
  }
  // A pin that came while the summary was made holds: what is pinned stays, and what has to stand beside it.
  const held = messages.find((message, at) => leaving.has(message.messageId) && (message.pinned || besidePinned(at)))
  if (held !== undefined) return E.left({ kind: 'MessagePinned', messageId: held.messageId })
  // No hole: whatever is older than the newest message that leaves, leaves with it, or is pinned or beside a pinned one.
  const hole = messages
    .slice(0, end)
    .find((message, at) => !leaving.has(message.messageId) && !message.pinned && !besidePinned(at))
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
  const archived = chunks.map((chunk) => batchArchived(state, chunk))
  const events: Event[] = archived.map((data) => ({ type: 'BatchArchived', data }))
  const seen = applyPending(state, events)
  const pruned = messagesPruned(seen, cut.right, archived, trigger)
  return E.right([
    ...events,
    {
      type: 'MessagesPruned',
      data: { ...pruned, ...originHashes(applyPending(seen, [{ type: 'MessagesPruned', data: pruned }])) },
    },
  ])
}

/**
 * The origin event, without the hashes of what it makes.
 * @param state with the batches that are archived
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
    messages.slice(Math.max(end, state.retained.length))[0]?.revision ?? state.conversationRevision + 1n
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
      batches: state.batches.map(({ batchId, revision, depth }) => ({ batchId, revision, depth })),
      chunks: state.chunks
        .filter((chunk) => !chunk.messageIds.some((id) => leaving.has(id)))
        .map((chunk) => chunk.revision),
      foldedCalls: compactedCalls(state, archived),
      ...(state.lineage === undefined ? {} : { line: state.lineage }),
    },
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
}
