/**
 * Loads the state of a conversation from its stream: the events after the last checkpoint event, the window that it
 * names, and point reads of the revisions that it carries. Nothing else is read, however long the conversation is.
 */
import { evolve, evolveAll, Fold } from '../../domain/conversation/evolve.js'
import {
  initialEdition,
  initialState,
  pinnedAheadOf,
  type ContextState,
  type Conversation,
} from '../../domain/conversation/conversation.js'
import { resumeAt, revisionsCarried, revisionsUnshown } from '../../domain/conversation/resume-at.js'
import { seeConversation } from '../../domain/conversation/see-conversation.js'
import { isSealed } from '../../domain/events/codec.js'
import { originTypes, replacementTypes, type OriginType, type RecordedEvent } from '../../domain/events/index.js'
import { conversationStream, editionStream } from '../../domain/values/ids.js'
import type { BodyStore } from '../../ports/body-store.js'
import type { EventStore, StoredEvent } from '../../ports/event-store.js'
import type { TextKeys } from '../sealing/text-keys.js'
import { decodeEvent, isOfType, missingEvent, type EventSource } from './read-event.js'
import { findEstimator } from './estimators.js'

export interface Log {
  readonly store: EventStore
  readonly bodies: BodyStore
  /** The keys of texts; undefined if the ledger is not erasable. */
  readonly keys?: TextKeys | undefined
  /** The ledger's key for fingerprints of secrets. It is not in the log. Undefined for a log of this process alone. */
  readonly secretsKey?: () => Promise<Uint8Array>
}

async function decodeAll(stored: readonly StoredEvent[], source: EventSource): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (const event of stored) events.push(await decodeEvent(event, source))
  return events
}

const closes = (type: string): boolean => originTypes.some((origin) => origin === type)

/** The events from the last checkpoint event at or before `at`, oldest first; all events without one. */
async function tailOf(log: Log, conversationId: string, at: number | undefined): Promise<StoredEvent[]> {
  const tail: StoredEvent[] = []
  const keyring = log.keys?.readWithEvents(conversationId)
  // The store pages internally, from small to larger pages, so stopping at a checkpoint reads little more.
  for await (const event of log.store.readStream(conversationStream(conversationId), {
    direction: 'backwards',
    ...(at === undefined ? {} : { from: at }),
    ...(keyring === undefined ? {} : { keyring }),
  })) {
    const later = tail.at(-1)
    if (later !== undefined && event.revision !== later.revision - 1)
      throw missingEvent(event.stream, later.revision - 1)
    tail.push(event)
    if (closes(event.type)) break
  }
  const first = tail.at(-1)
  if (first !== undefined && first.revision > 0 && !closes(first.type)) throw missingEvent(first.stream, 0)
  if (keyring !== undefined && tail.some((event) => isSealed(event))) await keyring.keep()
  return tail.toReversed()
}

async function windowEvents(
  log: Log,
  stream: string,
  from: number,
  before: number,
): Promise<RecordedEvent<'MessageAppended'>[]> {
  const found: RecordedEvent<'MessageAppended'>[] = []
  // Withdrawals come after the messages that they withdraw.
  const withdrawn = new Set<number>()
  if (from >= before) return found
  let next = from
  for await (const stored of log.store.readStream(stream, { from, limit: before - from })) {
    if (stored.revision !== next) throw missingEvent(stream, next)
    next += 1
    if (stored.type !== 'MessageAppended' && stored.type !== 'MessagesWithdrawn') continue
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'MessageAppended')) found.push(event)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { revision } of event.data.messages) withdrawn.add(revision)
  }
  if (next < before) throw missingEvent(stream, next)
  return withdrawn.size === 0 ? found : found.filter(({ revision }) => !withdrawn.has(revision))
}

/** The events at these revisions. Throws if one is missing. */
async function readAllOf(log: Log, stream: string, revisions: readonly number[]): Promise<StoredEvent[]> {
  const requested = new Set(revisions)
  const found = await log.store.readRevisions(stream, [...requested])
  if (found.length < requested.size) {
    for (const { revision } of found) requested.delete(revision)
    throw missingEvent(stream, Math.min(...requested))
  }
  return found
}

interface ResumeOptions {
  /**
   * For an edition: its batches and chunks are in its own stream, and messages in the conversation's, up to
   * `conversationRevision`.
   */
  readonly edition?: { readonly stream: string; readonly conversationRevision: number }
  /** Revisions of batches that need not be read. */
  readonly unshown?: ReadonlySet<number>
}

async function resumeFrom(
  log: Log,
  conversationId: string,
  origin: RecordedEvent<OriginType>,
  { edition, unshown = new Set() }: ResumeOptions = {},
): Promise<Conversation> {
  const stream = conversationStream(conversationId)
  const all = revisionsCarried(origin)
  const carried = { messages: all.messages, made: all.made.filter((revision) => !unshown.has(revision)) }
  const [messages, made, window] = await Promise.all([
    readAllOf(log, stream, edition === undefined ? [...carried.messages, ...carried.made] : carried.messages),
    edition === undefined ? [] : readAllOf(log, edition.stream, carried.made),
    windowEvents(
      log,
      stream,
      origin.data.windowStart,
      edition === undefined ? origin.revision : edition.conversationRevision + 1,
    ),
  ])
  const events = await decodeAll([...messages, ...made], log)
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

/**
 * @param unread returns the revisions of batches that need not be read, given the checkpoint event and the later events
 */
async function loadFrom(
  log: Log,
  conversationId: string,
  at: number | undefined,
  unread: (origin: RecordedEvent<OriginType>, since: readonly RecordedEvent[]) => ReadonlySet<number>,
): Promise<Conversation> {
  const events = await decodeAll(await tailOf(log, conversationId, at), log)
  const [first, ...since] = events
  if (first !== undefined && isOfType(first, ...originTypes))
    return evolveAll(await resumeFrom(log, conversationId, first, { unshown: unread(first, since) }), since)
  return evolveAll(initialState(conversationId, findEstimator), events)
}

/**
 * The state of a conversation, now or at a revision.
 * @param at the last revision to include; default: the newest
 */
export async function loadConversation(log: Log, conversationId: string, at?: number): Promise<Conversation> {
  return await loadFrom(log, conversationId, at, () => new Set())
}

/**
 * The parts of the state that the context needs, now or at a revision. Reads only the batches that the view shows.
 * @param at the last revision to include; default: the newest
 */
export async function loadContext(log: Log, conversationId: string, at?: number): Promise<ContextState> {
  return await loadFrom(log, conversationId, at, (origin, since) =>
    // A changed policy may show other batches.
    since.some((event) => isOfType(event, 'ConversationConfigured')) ? new Set() : revisionsUnshown(origin),
  )
}

/**
 * The recorded state of an edition: its last prune, applied to the conversation's messages, and the later events of
 * both streams. Without such an edition, a state without a configuration.
 * @param at the last revision of the edition's stream to include; default: the newest
 */
export async function loadEdition(
  log: Log,
  conversationId: string,
  editionId: string,
  at?: number,
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
    // The event before the prune says how much of the conversation it had seen.
    else if (origin !== undefined && stored.type === 'EditionAdvanced') break
  }
  const events = await decodeAll(tail.toReversed(), log)
  const advanced = events[0]
  const prune = origin === undefined ? undefined : events.find((event) => event.revision === origin.revision)
  let state = initialEdition(conversationId, editionId, findEstimator)
  if (
    prune !== undefined &&
    isOfType(prune, 'MessagesPruned') &&
    advanced !== undefined &&
    isOfType(advanced, 'EditionAdvanced')
  ) {
    const [started] = await decodeAll(await log.store.readRevisions(stream, [0]), log)
    state = {
      ...(await resumeFrom(log, conversationId, prune, {
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

/** A state after the conversation's further messages and pins, up to a revision or to the end. */
export async function seeUntil(log: Log, state: Conversation, until?: number): Promise<Conversation> {
  let next = state
  const limit = until === undefined ? undefined : until - state.conversationRevision
  if (limit !== undefined && limit <= 0) return state
  for await (const event of log.store.readStream(conversationStream(state.conversationId), {
    from: state.conversationRevision + 1,
    ...(limit === undefined ? {} : { limit }),
  })) {
    next = seeConversation(next, await decodeEvent(event, log))
  }
  return next
}

/** A loaded state after all further events. */
export async function catchUpConversation(log: Log, state: Conversation): Promise<Conversation> {
  const fold = new Fold(state)
  for await (const event of log.store.readStream(conversationStream(state.conversationId), {
    from: state.revision + 1,
  })) {
    // The known state has texts that were erased.
    if (event.type === 'ErasureRequested' || event.type === 'ErasureCompleted')
      return await loadConversation(log, state.conversationId)
    fold.take(await decodeEvent(event, log))
  }
  return fold.state
}
