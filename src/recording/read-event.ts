/**
 * Decodes stored events, with bodies that are stored outside the log. An unreadable event stops the reader with an
 * error that names it.
 */
import { either as E } from 'fp-ts'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'
import { claimOf, decode, type Unreadable } from '../domain/events/codec.js'
import { replacementTypes, type EventType, type RecordedEvent, type ReplacementType } from '../domain/events/index.js'
import type { BodyStore } from '../ports/body-store.js'
import type { StoredEvent } from '../ports/event-store.js'

/** An event of the log cannot be read: an unknown type or version, a missing body, or invalid data. */
export const unreadableEvent = ({ kind, ...details }: Unreadable): LedgerError =>
  new LedgerError(
    kind,
    `${details.stream} revision ${details.revision.toString()} (${details.type}): ${details.detail}`,
    { details },
  )

/** Whether an event of the log could not be read. */
export const isUnreadableEvent = (
  error: unknown,
): error is LedgerError & { readonly details: Omit<Unreadable, 'kind'> } => isLedgerError(error, 'UnreadableEvent')

function decoded(stored: StoredEvent, body?: string): RecordedEvent {
  const read = decode(stored, body)
  if (E.isLeft(read)) throw unreadableEvent(read.left)
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
