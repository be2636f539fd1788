/**
 * What changed in a conversation between two revisions, across a cycle for instance: which messages and batches left
 * what the model sees and which came, how the view's text changed, tokens before and after, and the facts that were
 * recorded in between.
 */
import { diffLines } from 'diff'
import { either as E } from 'fp-ts'
import type { Batch } from '../domain/conversation/batch.js'
import type { NoContext } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import { originTypes } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import type { CycleSpan } from '../recording/origins.js'
import { cycleRevisions, type CycleFound, type CycleNotRecorded, type CycleOfEdition } from './cycles.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { contextIn } from '../domain/compaction/context.js'
import { liveIn, recordedTime } from './time-travel.js'

/** The conversation at one end of a difference. */
interface DifferenceSide {
  readonly revision: bigint
  readonly recordedAt: string
  /** Hash and tokens of the context. */
  readonly hash: string
  readonly tokens: number
  readonly liveMessages: number
  /** Batches that the view is made of. */
  readonly batches: number
  readonly cycles: number
}

/** Some lines of the view's text. */
export interface TextChange {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** A message that left, and the batch that archived it, as in `left`. */
interface Gone {
  readonly messageId: string
  readonly batchId?: string
}

/** What changed in a conversation from one revision to another. */
export interface Difference {
  /** The conversation. */
  readonly conversationId: string
  /** The earlier side. */
  readonly from: DifferenceSide
  /** The later side. */
  readonly to: DifferenceSide
  /** The cycle, where the difference was asked for by its number. */
  readonly cycle?: Omit<CycleFound, keyof CycleSpan>
  /** Messages that left, came, or did both in between. */
  readonly messages: {
    /**
     * Live at the first revision and not at the second; `batchId` is the batch that archived it, where a cycle did and
     * no adopted edition.
     */
    readonly left: readonly (LiveMessage & { readonly batchId?: string })[]
    readonly came: readonly LiveMessage[]
    /** Neither: they came and left in between. */
    readonly passed: readonly Gone[]
  }
  /** Of the batches that the view is made of. */
  readonly batches: { readonly left: readonly Batch[]; readonly came: readonly Batch[] }
  /** The view's text, line by line; empty where it is the same. */
  readonly view: readonly TextChange[]
  /** What was recorded after the first revision, up to the second. */
  readonly events: readonly { readonly revision: bigint; readonly recordedAt: string; readonly type: string }[]
}

export type DifferenceFailure =
  | NoContext
  | { readonly kind: 'EndsBeforeItStarts'; readonly from: bigint; readonly to: bigint }

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

// A last line without its end would be another line than the same one with more behind it.
const asLines = (text: string | undefined): string => (text === undefined ? '' : `${text}\n`)

export function textChanges(before: string | undefined, after: string | undefined): TextChange[] {
  if (before === after) return []
  return diffLines(asLines(before), asLines(after)).map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value,
  }))
}

/** The facts between two revisions, and the messages that left there, by their ids. */
async function between(
  log: Log,
  conversationId: string,
  from: bigint,
  to: bigint,
): Promise<{ events: Difference['events']; gone: ReadonlyMap<string, Gone> }> {
  const events: Difference['events'][number][] = []
  const gone = new Map<string, Gone>()
  if (from === to) return { events, gone }
  for await (const stored of log.store.readStream(conversationStream(conversationId), {
    from: from + 1n,
    limit: Number(to - from),
  })) {
    events.push({ revision: stored.revision, recordedAt: recordedTime(stored), type: stored.type })
    if (!originTypes.some((type) => type === stored.type)) continue
    const event = await decodeEvent(stored, log.bodies)
    if (isOfType(event, 'MessagesPruned')) {
      for (const { batchId, messageIds } of event.data.pruned)
        for (const messageId of messageIds) gone.set(messageId, { messageId, batchId })
    } else if (isOfType(event, ...originTypes)) {
      for (const messageId of event.data.left) gone.set(messageId, { messageId })
    }
  }
  return { events, gone }
}

/** The difference between two revisions that the conversation has. */
export async function differenceBetween(
  log: Log,
  conversationId: string,
  from: bigint,
  to: bigint,
): Promise<E.Either<DifferenceFailure, Difference>> {
  if (from > to) return E.left({ kind: 'EndsBeforeItStarts', from, to })
  const before = await loadConversation(log, conversationId, from)
  const after = await loadConversation(log, conversationId, to)
  const start = sideOf(before)
  if (E.isLeft(start)) return start
  const end = sideOf(after)
  if (E.isLeft(end)) return end
  const { events, gone } = await between(log, conversationId, from, to)
  const live = { before: liveIn(before).messages, after: liveIn(after).messages }
  const ids = {
    before: new Set(live.before.map(({ messageId }) => messageId)),
    after: new Set(live.after.map(({ messageId }) => messageId)),
  }
  const shown = {
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
          const batchId = gone.get(message.messageId)?.batchId
          return batchId === undefined ? message : { ...message, batchId }
        }),
      came: live.after.filter(({ messageId }) => !ids.before.has(messageId)),
      passed: [...gone.values()].filter(({ messageId }) => !ids.before.has(messageId) && !ids.after.has(messageId)),
    },
    batches: {
      left: before.visibleBatches.filter(({ batchId }) => !shown.after.has(batchId)),
      came: after.visibleBatches.filter(({ batchId }) => !shown.before.has(batchId)),
    },
    view: textChanges(before.view?.text, after.view?.text),
    events,
  })
}

/** The difference across a cycle: from just before it to just after it. */
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
