/**
 * Decodes stored events, with bodies that are stored outside the log. An unreadable event stops the reader with an
 * error that names it.
 */
import { either as E } from 'fp-ts'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { claimOf, decode, isSealed, type Unreadable } from '../../domain/events/codec.js'
import {
  replacementTypes,
  type EventType,
  type RecordedEvent,
  type ReplacementType,
} from '../../domain/events/index.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import { conversationOf, editionOf } from '../../domain/values/ids.js'
import type { BodyStore } from '../../ports/body-store.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { ConversationKeys, TextKeys } from '../sealing/text-keys.js'

/** An event of the log cannot be read: an unknown type or version, a missing body, or invalid data. */
export const unreadableEvent = ({ kind, ...details }: Unreadable): LedgerError =>
  new LedgerError(
    kind,
    `${details.stream} revision ${details.revision.toString()} (${details.type}): ${details.detail}`,
    { details },
  )

/** An event that later events of its stream follow, or refer to, is not in the store. */
export const missingEvent = (stream: string, revision: number): LedgerError =>
  unreadableEvent({
    kind: 'UnreadableEvent',
    stream,
    revision,
    type: 'missing',
    detail: 'was removed from the store; `verify` lists the missing events, and a backup may have them',
  })

/** Whether an event of the log could not be read. */
export const isUnreadableEvent = (
  error: unknown,
): error is LedgerError & { readonly details: Omit<Unreadable, 'kind'> } => isLedgerError(error, 'UnreadableEvent')

/** What reading an event needs, in addition to the event. */
export interface EventSource {
  readonly bodies: BodyStore
  /** The keys of texts; undefined if the ledger is not erasable. */
  readonly keys?: TextKeys | undefined
}

function decoded(stored: StoredEvent, body?: string, keys?: ConversationKeys): RecordedEvent {
  const read = decode(stored, body, keys?.open)
  if (E.isLeft(read)) throw unreadableEvent(read.left)
  return read.right
}

/** The conversation that has the keys of an event. */
export const keyOwner = (stream: string): string | undefined =>
  conversationOf(stream) ?? editionOf(stream)?.conversationId

async function openedSoon(
  stored: StoredEvent,
  body: string | undefined,
  keys: TextKeys,
  conversationId: string,
  soon: ConversationKeys | Promise<ConversationKeys>,
): Promise<RecordedEvent> {
  const known = await soon
  const event = decoded(stored, body, known)
  return known.isOutdated ? decoded(stored, body, await keys.reload(conversationId)) : event
}

function open(
  stored: StoredEvent,
  body: string | undefined,
  { keys }: EventSource,
): RecordedEvent | Promise<RecordedEvent> {
  const conversationId = keys !== undefined && isSealed(stored, body) ? keyOwner(stored.stream) : undefined
  if (keys === undefined || conversationId === undefined) return forgetting(decoded(stored, body), keys)
  const known = keys.of(conversationId)
  if (known instanceof Promise) return openedSoon(stored, body, keys, conversationId, known)
  const event = decoded(stored, body, known)
  return known.isOutdated ? openedSoon(stored, body, keys, conversationId, keys.reload(conversationId)) : event
}

/** After an erasure, keys in the memory of this process are outdated, and must not open erased texts. */
function forgetting(event: RecordedEvent, keys: TextKeys | undefined): RecordedEvent {
  const conversationId = keys !== undefined && isErasure(event) ? keyOwner(event.stream) : undefined
  if (conversationId !== undefined) keys?.forget(conversationId)
  return event
}

const isErasure = (event: RecordedEvent): boolean =>
  event.type === 'ErasureRequested' || event.type === 'ErasureCompleted'

/** Decodes a stored event. A body that is stored outside the log is fetched and verified. */
export async function decodeEvent(stored: StoredEvent, source: EventSource): Promise<RecordedEvent> {
  return await decodeEventSoon(stored, source)
}

/** The same for bulk reads: asynchronous only for a body outside the log, or keys that are not in memory. */
export function decodeEventSoon(stored: StoredEvent, source: EventSource): RecordedEvent | Promise<RecordedEvent> {
  const claim = claimOf(stored)
  return claim === undefined
    ? open(stored, undefined, source)
    : source.bodies.get(claim).then(async (body) => {
        if (isPauseDue(body?.length)) await pause()
        return await open(stored, body, source)
      })
}

/** Narrows an event to one of several types. */
export function isOfType<Type extends EventType>(
  event: RecordedEvent,
  ...types: readonly Type[]
): event is RecordedEvent<Type> {
  return (types as readonly EventType[]).includes(event.type)
}

/** Narrows an event to one that replaces the active batches. */
export const isReplacement = (event: RecordedEvent): event is RecordedEvent<ReplacementType> =>
  isOfType(event, ...replacementTypes)
