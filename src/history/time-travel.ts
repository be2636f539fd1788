/**
 * A conversation as it stood at a revision, right behind a message, or at an instant by the ledger's clock:
 * `recordedAt`, which never goes back within a stream, so that the revision of an instant is found by point reads and
 * never by reading the stream. What was appended later, adopted or undone changes nothing of it. A moment that the
 * conversation does not have is refused, and named.
 */
import { either as E } from 'fp-ts'
import { decodeMetadata } from '../domain/events/codec.js'
import type { ContextState } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import { nearest } from '../domain/text/edit-distance.js'
import { conversationStream, messageEventId } from '../domain/values/ids.js'
import type { Moment } from '../domain/values/moment.js'
import type { StoredEvent } from '../ports/event-store.js'
import { UnreadableEventError } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'

/** Why there is no such moment. */
export type NoSuchMoment =
  | { readonly kind: 'NoSuchConversation'; readonly conversationId: string }
  /** `head` is the conversation's last revision. */
  | {
      readonly kind: 'NoSuchRevision'
      readonly conversationId: string
      readonly revision: bigint
      readonly head: bigint
    }
  /** `nearest`: the live message that may have been meant. */
  | {
      readonly kind: 'NoSuchMessage'
      readonly conversationId: string
      readonly messageId: string
      readonly nearest: string | undefined
    }
  /** Nothing was recorded yet; `first` is when the first fact was. */
  | {
      readonly kind: 'BeforeFirstEvent'
      readonly conversationId: string
      readonly time: string
      readonly first: string
    }
  /** It is still to come: what is recorded by then would change the answer. */
  | { readonly kind: 'AfterNow'; readonly conversationId: string; readonly time: string; readonly now: string }

/**
 * Revisions that are looked at together: a million facts take five such reads, and a single one at a time would take
 * twenty.
 */
const LOOKED_AT_TOGETHER = 15n

/** No store can be asked for more. */
const LAST_POSSIBLE = 2n ** 63n - 1n

/** When a fact was recorded, by its metadata alone: a body that lies beside the log need not be fetched. */
export function recordedTime(event: StoredEvent): string {
  const metadata = decodeMetadata(event)
  if (E.isLeft(metadata)) throw new UnreadableEventError(metadata.left)
  return metadata.right.recordedAt
}

/** The last revision that was recorded at or before an instant; -1n where there is none. */
async function revisionAtTime(log: Log, stream: string, time: number): Promise<bigint> {
  const found = await log.store.revisionAtTime?.(stream, time)
  return found ?? (await searchedFor(log, stream, await log.store.streamRevision(stream), time))
}

/** The same, for a store that does not search by itself. */
async function searchedFor(log: Log, stream: string, head: bigint, time: number): Promise<bigint> {
  // What is at or below `low` was recorded by then, what is above `high` was not.
  let low = -1n
  let high = head
  while (low < high) {
    const width = high - low
    const parts = width < LOOKED_AT_TOGETHER ? width : LOOKED_AT_TOGETHER
    const asked = Array.from({ length: Number(parts) }, (_none, part) => low + (width * (BigInt(part) + 1n)) / parts)
    const events = await log.store.readRevisions(stream, asked)
    if (events.length !== asked.length)
      throw new Error(
        `${stream} has no fact at some of the revisions ${asked.join(', ')}, though it goes up to ${String(head)}`,
      )
    const later = events.findIndex((event) => Date.parse(recordedTime(event)) > time)
    low = events[later === -1 ? events.length - 1 : later - 1]?.revision ?? low
    if (later !== -1) high = (events[later]?.revision ?? high) - 1n
  }
  return low
}

/**
 * Whether nothing was recorded at an instant or later, though by the ledger's clock it is still to come. A clock that
 * was set back may be behind the last fact.
 */
async function isToCome(log: Log, stream: string, time: number, now: Date): Promise<boolean> {
  if (time <= now.getTime()) return false
  const head = await log.store.streamRevision(stream)
  const [last] = head < 0n ? [] : await log.store.readRevisions(stream, [head])
  return last !== undefined && time > Date.parse(recordedTime(last))
}

/** The revision that a message was recorded at, however long ago. */
async function revisionOfMessage(
  log: Log,
  conversationId: string,
  messageId: string,
): Promise<E.Either<NoSuchMoment, bigint>> {
  const stream = conversationStream(conversationId)
  const [stored] = await log.store.findByIds(stream, [messageEventId(stream, messageId)])
  if (stored !== undefined) return E.right(stored.revision)
  const state = await loadConversation(log, conversationId)
  if (state.revision < 0n) return E.left({ kind: 'NoSuchConversation', conversationId })
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
 * The revision that a moment means: itself, the last one that was recorded at or before an instant, several at one
 * instant included, or that of a message.
 * @param now by the ledger's clock: an instant after it is refused
 */
export async function revisionOf(
  log: Log,
  conversationId: string,
  moment: Moment,
  now: Date,
): Promise<E.Either<NoSuchMoment, bigint>> {
  const stream = conversationStream(conversationId)
  if ('revision' in moment) {
    const { revision } = moment
    const head = await log.store.streamRevision(stream)
    if (head < 0n) return E.left({ kind: 'NoSuchConversation', conversationId })
    return revision < 0n || revision > head
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
  if (revision >= 0n) return E.right(revision)
  const [first] = await log.store.readRevisions(stream, [0n])
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
 * @param now as of `revisionOf`
 * @param load how much of it is wanted: `loadContext` or `loadConversation`
 */
export async function conversationAt<State extends ContextState>(
  log: Log,
  conversationId: string,
  moment: Moment,
  now: Date,
  load: (log: Log, conversationId: string, at: bigint) => Promise<State>,
): Promise<E.Either<NoSuchMoment, State>> {
  if ('revision' in moment && moment.revision >= 0n && moment.revision <= LAST_POSSIBLE) {
    // A state that was loaded up to a fact that is there stands at it, so the head need not be asked for first.
    const state = await load(log, conversationId, moment.revision)
    if (state.revision === moment.revision) return E.right(state)
  }
  const revision = await revisionOf(log, conversationId, moment, now)
  return E.isLeft(revision) ? revision : E.right(await load(log, conversationId, revision.right))
}

/** What was live at a moment: every message that no batch covers, whole, as it was recorded. */
export interface LiveMessages {
  /** The conversation. */
  readonly conversationId: string
  /** Revision of the last fact by then, and when it was recorded. */
  readonly revision: bigint
  /** When the fact of that revision was recorded, ISO 8601. */
  readonly recordedAt: string
  /** Leading ones, pinned ones from before the window, the window. */
  readonly messages: readonly LiveMessage[]
}

/** The live messages of a state that has at least one fact. */
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
