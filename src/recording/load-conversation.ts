/**
 * The state of a conversation, from its stream: backwards to the last fact that closed the books, the window that it
 * names, and point reads of the revisions that it carries; nothing else, however long the conversation is.
 */
import { evolve, evolveAll, Fold } from '../domain/conversation/evolve.js'
import {
  initialEdition,
  initialState,
  pinnedAheadOf,
  type ContextState,
  type Conversation,
} from '../domain/conversation/conversation.js'
import { resumeAt, revisionsCarried, revisionsUnshown } from '../domain/conversation/resume-at.js'
import { seeConversation } from '../domain/conversation/see-conversation.js'
import { originTypes, replacementTypes, type OriginType, type RecordedEvent } from '../domain/events/index.js'
import { conversationStream, editionStream } from '../domain/values/ids.js'
import type { BodyStore } from '../ports/body-store.js'
import type { EventStore, StoredEvent } from '../ports/event-store.js'
import { decodeEvent, isOfType } from './read-event.js'
import { findEstimator } from './estimators.js'

export interface Log {
  readonly store: EventStore
  readonly bodies: BodyStore
}

async function decodeAll(stored: readonly StoredEvent[], bodies: BodyStore): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (const event of stored) events.push(await decodeEvent(event, bodies))
  return events
}

const closes = (type: string): boolean => originTypes.some((origin) => origin === type)

/**
 * The events from the last one at or before `at` on that closed the books, oldest first; all of them where there is
 * none.
 */
async function tailOf(log: Log, stream: string, at: bigint | undefined): Promise<StoredEvent[]> {
  const tail: StoredEvent[] = []
  // The store pages inside, from small pages to larger ones, so stopping there reads little beyond it.
  for await (const event of log.store.readStream(stream, {
    direction: 'backwards',
    ...(at === undefined ? {} : { from: at }),
  })) {
    tail.push(event)
    if (closes(event.type)) break
  }
  return tail.toReversed()
}

async function windowEvents(
  log: Log,
  stream: string,
  from: bigint,
  before: bigint,
): Promise<RecordedEvent<'MessageAppended'>[]> {
  const found: RecordedEvent<'MessageAppended'>[] = []
  // Whatever withdraws a message stands behind it.
  const withdrawn = new Set<bigint>()
  if (from >= before) return found
  for await (const stored of log.store.readStream(stream, { from, limit: Number(before - from) })) {
    if (stored.type !== 'MessageAppended' && stored.type !== 'MessagesWithdrawn') continue
    const event = await decodeEvent(stored, log.bodies)
    if (isOfType(event, 'MessageAppended')) found.push(event)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { revision } of event.data.messages) withdrawn.add(revision)
  }
  return withdrawn.size === 0 ? found : found.filter(({ revision }) => !withdrawn.has(revision))
}

interface TakeUp {
  /**
   * An edition's batches and chunks lie in its own stream, and the messages in the conversation's, which it had seen up
   * to `conversationRevision`.
   */
  readonly edition?: { readonly stream: string; readonly conversationRevision: bigint }
  /** Revisions of batches that are not read. */
  readonly unshown?: ReadonlySet<bigint>
}

async function takeUp(
  log: Log,
  conversationId: string,
  origin: RecordedEvent<OriginType>,
  { edition, unshown = new Set() }: TakeUp = {},
): Promise<Conversation> {
  const stream = conversationStream(conversationId)
  const all = revisionsCarried(origin)
  const carried = { messages: all.messages, made: all.made.filter((revision) => !unshown.has(revision)) }
  const [messages, made, window] = await Promise.all([
    log.store.readRevisions(stream, [
      ...new Set(edition === undefined ? [...carried.messages, ...carried.made] : carried.messages),
    ]),
    edition === undefined ? [] : log.store.readRevisions(edition.stream, [...new Set(carried.made)]),
    windowEvents(
      log,
      stream,
      origin.data.windowStart,
      edition === undefined ? origin.revision : edition.conversationRevision + 1n,
    ),
  ])
  const events = await decodeAll([...messages, ...made], log.bodies)
  return resumeAt(
    { conversationId, findEstimator },
    origin,
    {
      messages: events.filter((event) => isOfType(event, 'MessageAppended')),
      batches: events.filter((event) => isOfType(event, 'BatchArchived', 'BatchesResummarized', ...replacementTypes)),
      chunks: events.filter((event) => isOfType(event, 'ChunkSummarized')),
      observed: events.filter((event) => isOfType(event, 'CompactionObserved')),
      unshown,
    },
    window,
  )
}

/** @param unread the revisions of batches that are not read, by the origin event and what came since */
async function loadFrom(
  log: Log,
  conversationId: string,
  at: bigint | undefined,
  unread: (origin: RecordedEvent<OriginType>, since: readonly RecordedEvent[]) => ReadonlySet<bigint>,
): Promise<Conversation> {
  const events = await decodeAll(await tailOf(log, conversationStream(conversationId), at), log.bodies)
  const [first, ...since] = events
  if (first !== undefined && isOfType(first, ...originTypes))
    return evolveAll(await takeUp(log, conversationId, first, { unshown: unread(first, since) }), since)
  return evolveAll(initialState(conversationId, findEstimator), events)
}

/**
 * The state of a conversation, today or as of a revision.
 * @param at the last revision to see; default: the newest
 */
export async function loadConversation(log: Log, conversationId: string, at?: bigint): Promise<Conversation> {
  return await loadFrom(log, conversationId, at, () => new Set())
}

/**
 * What the context of a conversation is made of, today or as of a revision: what the whole state gives too, but of the
 * batches only those are read that the view shows.
 * @param at the last revision to see; default: the newest
 */
export async function loadContext(log: Log, conversationId: string, at?: bigint): Promise<ContextState> {
  return await loadFrom(log, conversationId, at, (origin, since) =>
    // A policy that was changed since may show others.
    since.some((event) => isOfType(event, 'ConversationConfigured')) ? new Set() : revisionsUnshown(origin),
  )
}

/**
 * The state of an edition as it is recorded: its last prune, taken up over the conversation's messages, and what both
 * streams say since. A state without a configuration where there is no such edition.
 * @param at the last revision of the edition's stream to see; default: the newest
 */
export async function loadEdition(
  log: Log,
  conversationId: string,
  editionId: string,
  at?: bigint,
): Promise<Conversation> {
  const stream = editionStream(editionId, conversationId)
  const tail: StoredEvent[] = []
  let origin: StoredEvent | undefined
  for await (const stored of log.store.readStream(stream, {
    direction: 'backwards',
    ...(at === undefined ? {} : { from: at }),
  })) {
    tail.push(stored)
    if (origin === undefined && stored.type === 'MessagesPruned') origin = stored
    // How far it had seen the conversation at that prune is said by the fact before it that tells.
    else if (origin !== undefined && stored.type === 'EditionAdvanced') break
  }
  const events = await decodeAll(tail.toReversed(), log.bodies)
  const advanced = events[0]
  const prune = origin === undefined ? undefined : events.find((event) => event.revision === origin.revision)
  let state = initialEdition(conversationId, editionId, findEstimator)
  if (
    prune !== undefined &&
    isOfType(prune, 'MessagesPruned') &&
    advanced !== undefined &&
    isOfType(advanced, 'EditionAdvanced')
  ) {
    const [started] = await decodeAll(await log.store.readRevisions(stream, [0n]), log.bodies)
    state = {
      ...(await takeUp(log, conversationId, prune, {
        edition: { stream, conversationRevision: advanced.data.conversationRevision },
      })),
      editionId,
      ...(started !== undefined && isOfType(started, 'EditionStarted')
        ? { pinnedAhead: pinnedAheadOf(started.data) }
        : {}),
      conversationRevision: advanced.data.conversationRevision,
    }
  }
  for (const event of events.filter(({ revision }) => revision > state.revision)) {
    if (isOfType(event, 'EditionAdvanced')) state = await seeUntil(log, state, event.data.conversationRevision)
    state = evolve(state, event)
  }
  return state
}

/** A state, and what the conversation's stream says of messages and pins up to a revision, or to its end. */
export async function seeUntil(log: Log, state: Conversation, until?: bigint): Promise<Conversation> {
  let seen = state
  const limit = until === undefined ? undefined : Number(until - state.conversationRevision)
  if (limit !== undefined && limit <= 0) return state
  for await (const event of log.store.readStream(conversationStream(state.conversationId), {
    from: state.conversationRevision + 1n,
    ...(limit === undefined ? {} : { limit }),
  })) {
    seen = seeConversation(seen, await decodeEvent(event, log.bodies))
  }
  return seen
}

/** A state that was loaded before, and what was appended since. */
export async function catchUpConversation(log: Log, state: Conversation): Promise<Conversation> {
  const seen = new Fold(state)
  for await (const event of log.store.readStream(conversationStream(state.conversationId), {
    from: state.revision + 1n,
  })) {
    seen.take(await decodeEvent(event, log.bodies))
  }
  return seen.state
}
