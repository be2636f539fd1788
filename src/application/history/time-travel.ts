/**
 * A conversation at a revision, after a message, or at an instant by the ledger's clock. `recordedAt` never decreases
 * within a stream, so the revision of an instant is found by point reads instead of reading the stream. Later appends,
 * adoptions and undos do not change it, except at the instant of the last event while the clock has not passed it: then
 * further events may have the same time. A moment that the conversation does not have is rejected by name.
 */
import { LAST_REVISION } from '../../domain/values/revision.js'
import { either as E } from 'fp-ts'
import { decodeMetadata } from '../../domain/events/codec.js'
import type { ContextState } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { nearest } from '../../domain/text/edit-distance.js'
import { conversationStream, messageEventId } from '../../domain/values/ids.js'
import type { Moment } from '../../domain/values/moment.js'
import type { StoredEvent } from '../../ports/event-store.js'
import { unreadableEvent } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'

/** Why the moment does not exist. */
export type NoSuchMoment =
  | { readonly kind: 'NoSuchConversation'; readonly conversationId: string }
  /** `head` is the conversation's last revision. */
  | {
      readonly kind: 'NoSuchRevision'
      readonly conversationId: string
      readonly revision: number
      readonly head: number
    }
  /** `nearest`: the live message that was probably meant. */
  | {
      readonly kind: 'NoSuchMessage'
      readonly conversationId: string
      readonly messageId: string
      readonly nearest: string | undefined
    }
  /** Before the first event, which was recorded at `first`. */
  | {
      readonly kind: 'BeforeFirstEvent'
      readonly conversationId: string
      readonly time: string
      readonly first: string
    }
  /** In the future: later events would change the answer. */
  | { readonly kind: 'AfterNow'; readonly conversationId: string; readonly time: string; readonly now: string }

/**
 * The number of revisions that are read at a time: a million events need five such reads, instead of twenty single
 * ones.
 */
const READS_PER_STEP = 15

/** The time of an event, from its metadata only: a body outside the log is not fetched. */
export function recordedTime(event: StoredEvent): string {
  const metadata = decodeMetadata(event)
  if (E.isLeft(metadata)) throw unreadableEvent(metadata.left)
  return metadata.right.recordedAt
}

/** The last revision that was recorded at or before an instant; -1 without any. */
async function revisionAtTime(log: Log, stream: string, time: number): Promise<number> {
  const found = await log.store.revisionAtTime?.(stream, time)
  return found ?? (await searchedFor(log, stream, await log.store.streamRevision(stream), time))
}

/** The same, for a store that cannot search by time. */
async function searchedFor(log: Log, stream: string, head: number, time: number): Promise<number> {
  // Invariant: revisions up to `low` were recorded by then, those above `high` were not.
  let low = -1
  let high = head
  while (low < high) {
    const width = high - low
    const parts = width < READS_PER_STEP ? width : READS_PER_STEP
    const candidates = Array.from({ length: parts }, (_none, part) => low + Math.floor((width * (part + 1)) / parts))
    const events = await log.store.readRevisions(stream, candidates)
    if (events.length !== candidates.length)
      throw new Error(
        `${stream} has no event at some of the revisions ${candidates.join(', ')}, though it goes up to ${String(head)}`,
      )
    const later = events.findIndex((event) => Date.parse(recordedTime(event)) > time)
    low = events[later === -1 ? events.length - 1 : later - 1]?.revision ?? low
    if (later !== -1) high = (events[later]?.revision ?? high) - 1
  }
  return low
}

/**
 * Whether an instant is in the future by the ledger's clock and after the last event. A clock that was set back may be
 * before the last event.
 */
async function isToCome(log: Log, stream: string, time: number, now: Date): Promise<boolean> {
  if (time <= now.getTime()) return false
  const head = await log.store.streamRevision(stream)
  const [last] = head < 0 ? [] : await log.store.readRevisions(stream, [head])
  return last !== undefined && time > Date.parse(recordedTime(last))
}

/** The revision of a message. */
async function revisionOfMessage(
  log: Log,
  conversationId: string,
  messageId: string,
): Promise<E.Either<NoSuchMoment, number>> {
  const stream = conversationStream(conversationId)
  const [stored] = await log.store.findByIds(stream, [messageEventId(stream, messageId)])
  if (stored !== undefined) return E.right(stored.revision)
  const state = await loadConversation(log, conversationId)
  if (state.revision < 0) return E.left({ kind: 'NoSuchConversation', conversationId })
  return E.left({
    kind: 'NoSuchMessage',
    conversationId,
    messageId,
    nearest: nearest(
      messageId,
      liveIn(state).messages.map((message) => message.messageId),
    ),
  })
}

/**
 * The revision of a moment: itself, the last one recorded at or before an instant, or that of a message.
 * @param now by the ledger's clock: later instants are rejected
 */
export async function revisionOf(
  log: Log,
  conversationId: string,
  moment: Moment,
  now: Date,
): Promise<E.Either<NoSuchMoment, number>> {
  const stream = conversationStream(conversationId)
  if ('revision' in moment) {
    const { revision } = moment
    const head = await log.store.streamRevision(stream)
    if (head < 0) return E.left({ kind: 'NoSuchConversation', conversationId })
    return revision < 0 || revision > head
      ? E.left({ kind: 'NoSuchRevision', conversationId, revision, head })
      : E.right(revision)
  }
  if ('messageId' in moment) return await revisionOfMessage(log, conversationId, moment.messageId)
  if (await isToCome(log, stream, moment.time, now))
    return E.left({
      kind: 'AfterNow',
      conversationId,
      time: new Date(moment.time).toISOString(),
      now: now.toISOString(),
    })
  const revision = await revisionAtTime(log, stream, moment.time)
  if (revision >= 0) return E.right(revision)
  const [first] = await log.store.readRevisions(stream, [0])
  if (first === undefined) return E.left({ kind: 'NoSuchConversation', conversationId })
  return E.left({
    kind: 'BeforeFirstEvent',
    conversationId,
    time: new Date(moment.time).toISOString(),
    first: recordedTime(first),
  })
}

/**
 * The state of a conversation at a moment.
 * @param now see `revisionOf`
 * @param load `loadContext` or `loadConversation`
 */
export async function conversationAt<State extends ContextState>(
  log: Log,
  conversationId: string,
  moment: Moment,
  now: Date,
  load: (log: Log, conversationId: string, at: number) => Promise<State>,
): Promise<E.Either<NoSuchMoment, State>> {
  if ('revision' in moment && moment.revision >= 0 && moment.revision <= LAST_REVISION) {
    // A state that was loaded up to an existing revision has that revision, so the head need not be read first.
    const state = await load(log, conversationId, moment.revision)
    if (state.revision === moment.revision) return E.right(state)
  }
  const revision = await revisionOf(log, conversationId, moment, now)
  return E.isLeft(revision) ? revision : E.right(await load(log, conversationId, revision.right))
}

/** The live messages at a moment: every message that no batch covers, as recorded. */
export interface LiveMessages {
  /** The conversation. */
  readonly conversationId: string
  /** Revision of the last event at the moment. */
  readonly revision: number
  /** Time of that event, ISO 8601. */
  readonly recordedAt: string
  /** Leading messages, pinned messages from before the window, and the window. */
  readonly messages: readonly LiveMessage[]
}

/** The live messages of a state with at least one event. */
export function liveIn({
  conversationId,
  revision,
  recordedAt = '',
  leading,
  retained,
  window,
}: ContextState): LiveMessages {
  return { conversationId, revision, recordedAt, messages: [...leading, ...retained, ...window] }
}
