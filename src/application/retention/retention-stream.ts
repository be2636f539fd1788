/** Reads the retention rules, holds and runs, and records changes at the expected revision. */
import { either as E } from 'fp-ts'
import { encode, encodeData, GENESIS_HASH, type Provenance } from '../../domain/events/codec.js'
import type { Event, RecordedEvent } from '../../domain/events/index.js'
import { recordable, type NotRecordable } from '../../domain/events/recordable.js'
import { evolveRetention, NO_RETENTION, type RetentionState } from '../../domain/retention/retention-state.js'
import { eventIdOf, RETENTION_STREAM } from '../../domain/values/ids.js'
import type { Clock } from '../../ports/clock.js'
import type { AppendFailure } from '../../ports/event-store.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent } from '../recording/read-event.js'
import { appendUntilKnown, type EncodedEvents } from '../recording/record-events.js'

/** How often a change is decided again after another process changed the rules meanwhile. */
const ATTEMPTS = 20

interface Loaded {
  readonly state: RetentionState
  readonly last: RecordedEvent | undefined
}

/** The events of the stream from a revision on, in order. */
export async function* retentionEvents(log: Log, from = 0): AsyncIterable<RecordedEvent> {
  for await (const stored of log.store.readStream(RETENTION_STREAM, { from })) yield await decodeEvent(stored, log)
}

/** The state as far as this process has read it. Recorded events never change, so only later ones are read. */
const loadedOf = new WeakMap<Log, Loaded>()

async function load(log: Log): Promise<Loaded> {
  let { state, last }: Loaded = loadedOf.get(log) ?? { state: NO_RETENTION, last: undefined }
  for await (const event of retentionEvents(log, state.revision + 1)) {
    state = evolveRetention(state, event)
    last = event
  }
  const loaded = { state, last }
  loadedOf.set(log, loaded)
  return loaded
}

/** The rules, holds and last run. Includes changes by other processes. */
export const readRetention = async (log: Log): Promise<RetentionState> => (await load(log)).state

/** Encodes events after the last one. The stream has no texts of conversations, so nothing is sealed. */
function encoded(
  last: RecordedEvent | undefined,
  events: readonly Event[],
  now: string,
  provenance: Provenance,
): E.Either<NotRecordable, EncodedEvents> {
  const previousAt = last?.metadata.recordedAt ?? now
  const recordedAt = previousAt > now ? previousAt : now
  const result: EncodedEvents = { toStore: [], bodies: [], events: [] }
  let previousHash = last?.metadata.hash ?? GENESIS_HASH
  for (const event of events) {
    const revision = (last?.revision ?? -1) + 1 + result.events.length
    const data = encodeData(event)
    const read = recordable(event, data, { ...provenance, recordedAt })
    if (E.isLeft(read)) return read
    const id = eventIdOf(RETENTION_STREAM, revision, event.type, data)
    const header = { stream: RETENTION_STREAM, revision, id, previousHash, recordedAt }
    const { toStore, metadata, hash, body } = encode(event, data, header, provenance)
    result.toStore.push(toStore)
    if (body !== undefined) result.bodies.push(body)
    result.events.push({ ...read.right, stream: RETENTION_STREAM, revision, position: -1, id, metadata })
    previousHash = hash
  }
  return E.right(result)
}

/** Decides on the recorded state and records the events; decides again if another process was first. */
export async function changeRetention<Rejection>(
  log: Log,
  clock: Clock,
  provenance: Provenance,
  decide: (state: RetentionState) => E.Either<Rejection, readonly Event[]>,
): Promise<E.Either<Rejection | NotRecordable | AppendFailure, RetentionState>> {
  for (let attempt = 1; ; attempt += 1) {
    const { state, last } = await load(log)
    const decided = decide(state)
    if (E.isLeft(decided)) return decided
    if (decided.right.length === 0) return E.right(state)
    const events = encoded(last, decided.right, clock.now().toISOString(), provenance)
    if (E.isLeft(events)) return events
    const appended = await appendUntilKnown(log, RETENTION_STREAM, state.revision, events.right)
    if (E.isRight(appended)) return E.right(events.right.events.reduce(evolveRetention, state))
    if (appended.left.kind !== 'RevisionConflict' || attempt >= ATTEMPTS) return appended
  }
}
