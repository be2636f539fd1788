/**
 * Reading facts: stored events decoded, with the bodies that lie beside the log. What cannot be read stops the reader
 * and names itself.
 */
import { either as E } from 'fp-ts'
import { claimOf, decode, type Unreadable } from '../domain/events/codec.js'
import { replacementTypes, type EventType, type RecordedEvent, type ReplacementType } from '../domain/events/index.js'
import type { BodyStore } from '../ports/body-store.js'
import type { StoredEvent } from '../ports/event-store.js'

/**
 * Thrown where an event of the log cannot be read: an unknown type or version, a body that is gone, data of another
 * shape.
 */
export class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError'
  constructor(readonly event: Unreadable) {
    super(`${event.stream} revision ${event.revision.toString()} (${event.type}): ${event.detail}`)
  }
}

/** Decodes a stored event; a claim-checked body is fetched and verified. */
export async function decodeEvent(stored: StoredEvent, bodies: BodyStore): Promise<RecordedEvent> {
  const claim = claimOf(stored)
  const decoded = decode(stored, claim === undefined ? undefined : await bodies.get(claim))
  if (E.isLeft(decoded)) throw new UnreadableEventError(decoded.left)
  return decoded.right
}

/** Narrows a fact to one of some types. */
export function isOfType<Type extends EventType>(
  event: RecordedEvent,
  ...types: readonly Type[]
): event is RecordedEvent<Type> {
  return (types as readonly EventType[]).includes(event.type)
}

/** Narrows a fact to one that puts other batches into force. */
export const isReplacement = (event: RecordedEvent): event is RecordedEvent<ReplacementType> =>
  isOfType(event, ...replacementTypes)
