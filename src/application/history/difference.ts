/**
 * The difference between two revisions of a conversation, for example across a cycle: messages and batches that were
 * removed from the context or added, the changes of the view's text, tokens before and after, and the events between.
 */
import { diffLines } from 'diff'
import { either as E } from 'fp-ts'
import type { Batch } from '../../domain/conversation/batch.js'
import type { NoContext } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { originTypes } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { CycleSpan } from '../recording/origins.js'
import { cycleRevisions, type CycleFound, type CycleNotRecorded, type CycleOfEdition } from './cycles.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { contextIn } from '../../domain/compaction/context.js'
import { liveIn, recordedTime } from './time-travel.js'

/** The conversation on one side of a difference. */
interface DifferenceSide {
  readonly revision: number
  readonly recordedAt: string
  /** Hash and tokens of the context. */
  readonly hash: string
  readonly tokens: number
  readonly liveMessages: number
  /** The number of batches in the view. */
  readonly batches: number
  readonly cycles: number
}

/** Consecutive lines of the view's text. */
export interface TextChange {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** A removed message and the batch that archived it. */
interface RemovedMessage {
  readonly messageId: string
  readonly batchId?: string
}

/** A batch without the working state after it, which the text of the view shows. */
type ShownBatch = Omit<Batch, 'workingState'>

/** The changes of a conversation from one revision to another. */
export interface Difference {
  /** The conversation. */
  readonly conversationId: string
  /** The earlier side. */
  readonly from: DifferenceSide
  /** The later side. */
  readonly to: DifferenceSide
  /** The cycle, if the difference was requested by its number. */
  readonly cycle?: Omit<CycleFound, keyof CycleSpan>
  /** Messages that were removed, added, or both in between. */
  readonly messages: {
    /**
     * Live at the first revision and not at the second. `batchId` is the batch that archived it, if a cycle did and not
     * an adopted edition.
     */
    readonly left: readonly (LiveMessage & { readonly batchId?: string })[]
    readonly came: readonly LiveMessage[]
    /** Added and removed in between. */
    readonly passed: readonly RemovedMessage[]
  }
  /** Changes of the batches in the view. */
  readonly batches: { readonly left: readonly ShownBatch[]; readonly came: readonly ShownBatch[] }
  /** The view's text, line by line; empty if it did not change. */
  readonly view: readonly TextChange[]
  /** The events after the first revision, up to the second. */
  readonly events: readonly { readonly revision: number; readonly recordedAt: string; readonly type: string }[]
}

export type DifferenceFailure =
  | NoContext
  | { readonly kind: 'EndsBeforeItStarts'; readonly from: number; readonly to: number }

function sideOf(state: Conversation): E.Either<NoContext, DifferenceSide> {
  return E.map(({ hash, tokens }: { hash: string; tokens: number }): DifferenceSide => ({
    revision: state.revision,
    recordedAt: state.recordedAt ?? '',
    hash,
    tokens,
    liveMessages: liveIn(state).messages.length,
    batches: state.visibleBatches.length,
    cycles: state.cycles,
  }))(contextIn(state, undefined))
}

// Each text ends with a line break, so that the last line is compared like the others.
const asLines = (text: string | undefined): string => (text === undefined ? '' : `${text}\n`)

export function textChanges(before: string | undefined, after: string | undefined): TextChange[] {
  if (before === after) return []
  return diffLines(asLines(before), asLines(after)).map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value,
  }))
}

/** The events between two revisions, and the messages removed by them, by id. */
async function between(
  log: Log,
  conversationId: string,
  from: number,
  to: number,
): Promise<{ events: Difference['events']; removedMessages: ReadonlyMap<string, RemovedMessage> }> {
  const events: Difference['events'][number][] = []
  const removedMessages = new Map<string, RemovedMessage>()
  if (from === to) return { events, removedMessages }
  for await (const stored of log.store.readStream(conversationStream(conversationId), {
    from: from + 1,
    limit: to - from,
  })) {
    events.push({ revision: stored.revision, recordedAt: recordedTime(stored), type: stored.type })
    if (!originTypes.some((type) => type === stored.type)) continue
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'MessagesPruned')) {
      for (const { batchId, messageIds } of event.data.pruned)
        for (const messageId of messageIds) removedMessages.set(messageId, { messageId, batchId })
    } else if (isOfType(event, ...originTypes)) {
      for (const messageId of event.data.left) removedMessages.set(messageId, { messageId })
    }
  }
  return { events, removedMessages }
}

/** The difference between two existing revisions. */
export async function differenceBetween(
  log: Log,
  conversationId: string,
  from: number,
  to: number,
): Promise<E.Either<DifferenceFailure, Difference>> {
  if (from > to) return E.left({ kind: 'EndsBeforeItStarts', from, to })
  const before = await loadConversation(log, conversationId, from)
  const after = await loadConversation(log, conversationId, to)
  const start = sideOf(before)
  if (E.isLeft(start)) return start
  const end = sideOf(after)
  if (E.isLeft(end)) return end
  const { events, removedMessages } = await between(log, conversationId, from, to)
  const live = { before: liveIn(before).messages, after: liveIn(after).messages }
  const ids = {
    before: new Set(live.before.map(({ messageId }) => messageId)),
    after: new Set(live.after.map(({ messageId }) => messageId)),
  }
  const shownBatches = {
    before: new Set(before.visibleBatches.map(({ batchId }) => batchId)),
    after: new Set(after.visibleBatches.map(({ batchId }) => batchId)),
  }
  return E.right({
    conversationId,
    from: start.right,
    to: end.right,
    messages: {
      left: live.before
        .filter(({ messageId }) => !ids.after.has(messageId))
        .map((message) => {
          const batchId = removedMessages.get(message.messageId)?.batchId
          return batchId === undefined ? message : { ...message, batchId }
        }),
      came: live.after.filter(({ messageId }) => !ids.before.has(messageId)),
      passed: [...removedMessages.values()].filter(
        ({ messageId }) => !ids.before.has(messageId) && !ids.after.has(messageId),
      ),
    },
    batches: {
      left: before.visibleBatches.filter(({ batchId }) => !shownBatches.after.has(batchId)).map(withoutState),
      came: after.visibleBatches.filter(({ batchId }) => !shownBatches.before.has(batchId)).map(withoutState),
    },
    view: textChanges(before.view?.text, after.view?.text),
    events,
  })
}

const withoutState = ({ workingState: _workingState, ...batch }: Batch): ShownBatch => batch

/** The difference across a cycle: from directly before to directly after it. */
export async function differenceAcross(
  log: Log,
  conversationId: string,
  cycle: number,
): Promise<E.Either<CycleNotRecorded | CycleOfEdition | DifferenceFailure, Difference>> {
  const found = await cycleRevisions(log, conversationId, cycle)
  if (E.isLeft(found)) return found
  const { from, to, ...named } = found.right
  return E.map((difference: Difference) => ({ ...difference, cycle: named }))(
    await differenceBetween(log, conversationId, from, to),
  )
}
