/**
 * Decodes stored events, with bodies that are stored outside the log. An unreadable event stops the reader with an
 * error that names it.
 */
import { either as E } from 'fp-ts'
import { claimOf, decode, type Unreadable } from '../domain/events/codec.js'
import { replacementTypes, type EventType, type RecordedEvent, type ReplacementType } from '../domain/events/index.js'
import type { BodyStore } from '../ports/body-store.js'
import type { StoredEvent } from '../ports/event-store.js'

/** Thrown if an event of the log cannot be read: an unknown type or version, a missing body, or invalid data. */
export class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError'
  constructor(readonly event: Unreadable) {
    super(`${event.stream} revision ${event.revision.toString()} (${event.type}): ${event.detail}`)
  }
}

function decoded(stored: StoredEvent, body?: string): RecordedEvent {
  const read = decode(stored, body)
  if (E.isLeft(read)) throw new UnreadableEventError(read.left)
  return read.right
}

/** Decodes a stored event; a claim-checked body is fetched and verified. */
export async function decodeEvent(stored: StoredEvent, bodies: BodyStore): Promise<RecordedEvent> {
  return await decodeEventSoon(stored, bodies)
}

/** The same for bulk reads: asynchronous only for a body outside the log. */
export function decodeEventSoon(stored: StoredEvent, bodies: BodyStore): RecordedEvent | Promise<RecordedEvent> {
  const claim = claimOf(stored)
  return claim === undefined ? decoded(stored) : bodies.get(claim).then((body) => decoded(stored, body))
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
