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

/** The conversation that has the keys of an event. */
export const keyOwner = (stream: string): string | undefined =>
  conversationOf(stream) ?? editionOf(stream)?.conversationId

/** Decodes a stored event. A body that is stored outside the log is fetched and verified. */
export async function decodeEvent(stored: StoredEvent, source: EventSource): Promise<RecordedEvent> {
  return await decodeEventSoon(stored, source)
}

/**
 * The same for bulk reads: asynchronous only for a body outside the log, or keys that are not in memory. The steps are:
 * fetch the body, get the keys, decode, and forget keys after an erasure.
 */
export const decodeEventSoon = (stored: StoredEvent, source: EventSource): RecordedEvent | Promise<RecordedEvent> =>
  next(fetchBody(stored, source), (body) => {
    const { keys } = source
    const owner = keyOwner(stored.stream)
    if (keys === undefined || owner === undefined) return decoded(stored, body)
    if (isSealed(stored, body)) return decodeSealed(stored, body, keys, owner)
    const event = decoded(stored, body)
    // Keys in the memory of this process are outdated now, and must not open erased texts.
    if (event.type === 'ErasureRequested' || event.type === 'ErasureCompleted') keys.forget(owner)
    return event
  })

/** Continues with a value, at once if it is known. */
const next = <Value, Result>(
  value: Value | Promise<Value>,
  step: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> => (value instanceof Promise ? value.then(step) : step(value))

/** The body that is stored outside the log; undefined if the event has none. */
function fetchBody(stored: StoredEvent, { bodies }: EventSource): undefined | Promise<string | undefined> {
  const claim = claimOf(stored)
  return claim === undefined
    ? undefined
    : bodies.get(claim).then(async (body) => {
        if (isPauseDue(body?.length)) await pause()
        return body
      })
}

/** Decodes an event with sealed texts. Keys in memory may be older than the event: then they are read again. */
const decodeSealed = (
  stored: StoredEvent,
  body: string | undefined,
  keys: TextKeys,
  owner: string,
): RecordedEvent | Promise<RecordedEvent> =>
  next(keys.of(owner), (known) => {
    const event = decoded(stored, body, known)
    // Decoding finds out whether the keys are outdated.
    return known.isOutdated ? keys.reload(owner).then((current) => decoded(stored, body, current)) : event
  })

function decoded(stored: StoredEvent, body: string | undefined, keys?: ConversationKeys): RecordedEvent {
  const read = decode(stored, body, keys?.open)
  if (E.isLeft(read)) throw unreadableEvent(read.left)
  return read.right
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
