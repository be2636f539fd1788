/** Encodes decided events for their stream, and appends them until the outcome is known. */
import { either as E } from 'fp-ts'
import { encode, encodeData, type Provenance } from '../domain/events/codec.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Event, RecordedEvent } from '../domain/events/index.js'
import { conversationStream, editionStream, eventIdOf, messageEventId } from '../domain/values/ids.js'
import { recordable, type NotRecordable } from '../domain/events/recordable.js'
import { backoffMs } from '../lib/backoff.js'
import { sleep } from '../ports/clock.js'
import type { AppendFailure, Appended, EventToAppend } from '../ports/event-store.js'
import type { Log } from './load-conversation.js'
import { countReplaced, type RedactedCommands } from './redaction.js'

/** Events ready to be appended together, and the bodies to store before them. */
export interface EncodedEvents {
  readonly toStore: EventToAppend[]
  readonly bodies: { readonly sha256: string; readonly text: string }[]
  readonly events: RecordedEvent[]
}

/** The stream of a state. */
export const streamOf = ({ conversationId, editionId }: Pick<Conversation, 'conversationId' | 'editionId'>): string =>
  editionId === undefined ? conversationStream(conversationId) : editionStream(editionId, conversationId)

/**
 * Encodes events for the revisions after `state`, all or none. The returned events are as every reader will decode
 * them.
 */
export function encodeEvents(
  state: Conversation,
  events: readonly Event[],
  now: string,
  provenance: Provenance,
  replacements?: RedactedCommands['replacements'],
): E.Either<NotRecordable, EncodedEvents> {
  const stream = streamOf(state)
  const recordedAt = state.recordedAt !== undefined && state.recordedAt > now ? state.recordedAt : now
  const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
  let previousHash = state.hash
  for (const [at, event] of events.entries()) {
    const revision = state.revision + 1 + at
    const data = encodeData(event)
    const read = recordable(event, data, { ...provenance, recordedAt })
    if (E.isLeft(read)) return read
    const id =
      event.type === 'MessageAppended'
        ? messageEventId(stream, event.data.messageId)
        : eventIdOf(stream, revision, event.type, data)
    const {
      toStore: stored,
      metadata,
      hash,
      body,
    } = encode(
      event,
      data,
      { stream, revision, id, previousHash, recordedAt },
      provenance,
      replacements === undefined ? undefined : countReplaced(data, replacements),
    )
    encoded.toStore.push(stored)
    if (body !== undefined) encoded.bodies.push(body)
    encoded.events.push({ ...read.right, stream, revision, position: -1, id, metadata })
    previousHash = hash
  }
  return E.right(encoded)
}

/**
 * After an unknown outcome, the same events are appended again if the failure was quick, such as a broken connection.
 * If the store did not answer for long, they are not.
 */
const FURTHER_ATTEMPTS = 3
const FURTHER_WITHIN_MS = 2_000
const BACKOFF = { firstMs: 80, mostMs: 500 }

const mayRetry = (failure: AppendFailure, mayBegin: number): boolean =>
  failure.kind === 'StoreUnavailable' && failure.triedAgain !== true && performance.now() < mayBegin

/** A successful append. `ours`: recorded by this call, possibly by an attempt with an unknown outcome. */
export interface Recorded extends Appended {
  readonly ours: boolean
}

/** Appends at an expected revision. */
export async function appendUntilKnown(
  log: Log,
  stream: string,
  expected: number,
  encoded: EncodedEvents,
): Promise<E.Either<AppendFailure, Recorded>> {
  for (const body of encoded.bodies) await log.bodies.put(body.sha256, body.text)
  const append = log.store.append(stream, expected < 0 ? 'no_stream' : expected, encoded.toStore)
  const mayBegin = performance.now() + FURTHER_WITHIN_MS
  let result = await append()
  let failures = 0
  while (failures < FURTHER_ATTEMPTS && E.isLeft(result) && mayRetry(result.left, mayBegin)) {
    failures += 1
    await sleep(backoffMs(failures, BACKOFF))
    result = await append()
  }
  // Events repeated from an earlier append have an older revision than the requested one.
  const last = expected + encoded.toStore.length
  const retried = failures > 0
  return E.map((appended: Appended) => ({
    ...appended,
    ours: !appended.repeated || (retried && appended.revision === last),
  }))(result)
}
