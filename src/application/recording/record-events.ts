/** Encodes decided events for their stream, and appends them until the outcome is known. */
import { either as E, type taskEither as TE } from 'fp-ts'
import { encode, encodeData, type Provenance } from '../../domain/events/codec.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { eventTypes, type Event, type RecordedEvent } from '../../domain/events/index.js'
import type { SealedPlace } from '../../domain/events/sealed.js'
import { conversationStream, editionStream, eventIdOf, messageEventId } from '../../domain/values/ids.js'
import type { Command } from '../../domain/decide/index.js'
import { recordable, type NotRecordable } from '../../domain/events/recordable.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import { backoffMs } from '../../lib/backoff.js'
import { sleep } from '../../ports/clock.js'
import type { AppendFailure, Appended, EventToAppend } from '../../ports/event-store.js'
import { notErasable, type ConversationKeys, type NewKeys } from '../sealing/text-keys.js'
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

/** What encoding needs in addition to the events. */
export interface EncodingOptions {
  readonly replacements?: RedactedCommands['replacements']
  /** The keys of the conversation's texts; undefined if the ledger is not erasable. */
  readonly keys?: SealingKeys | undefined
}

/** The keys of a conversation, and the pseudonyms of the persons that its new messages name. */
export interface SealingKeys {
  readonly conversation: ConversationKeys
  readonly pseudonym: (subject: string) => string
  /** Present if the keys are not stored yet. */
  readonly created?: NewKeys
}

/** Commands that record no text: they need no keys, and are possible in a conversation without any. */
const WITHOUT_TEXT: ReadonlySet<Command['type']> = new Set([
  'Expect',
  'ExpectNoErasure',
  'RequestErasure',
  'CompleteErasure',
])

/**
 * Adds an `idSeed` to each summary that has none. In an erasable ledger the ids of summaries are derived from it. A reused
 * summary keeps the seed with which it was first recorded.
 */
export function withIdSeeds(keys: SealingKeys | undefined, commands: readonly Command[]): readonly Command[] {
  if (keys === undefined) return commands
  return commands.map((command) => {
    if (
      command.type !== 'RecordChunk' &&
      command.type !== 'RecordResummarization' &&
      command.type !== 'SetSummaryAside'
    )
      return command
    const { summarizer } = command
    const idSeed = summarizer.idSeed ?? keys.conversation.idSeedOf(summarizer.requestHash)
    return idSeed === undefined ? command : { ...command, summarizer: { ...summarizer, idSeed } }
  })
}

/**
 * The keys for the events of these commands; undefined if the ledger is not erasable.
 * @param from `memory`: may be known already; `store`: read again, because another process may have changed them; `new`:
 *   created, because the conversation has no events
 */
export async function sealingKeys(
  { keys }: Log,
  conversationId: string,
  commands: readonly Command[],
  from: 'memory' | 'store' | 'new',
): Promise<SealingKeys | undefined> {
  const subjects = subjectsOf(commands)
  if (keys === undefined) {
    if (subjects.length > 0) throw notErasable('subjects')
    return undefined
  }
  if (commands.every(({ type }) => WITHOUT_TEXT.has(type))) return undefined
  const pseudonym = (subject: string): string => keys.pseudonym(subject)
  if (from === 'new' && subjects.length === 0) {
    const created = keys.begin(conversationId)
    return { conversation: created.keys, pseudonym, created }
  }
  return { conversation: await keys.toRecord(conversationId, subjects.map(pseudonym), from === 'store'), pseudonym }
}

/** The persons that the messages of these commands are about. */
const subjectsOf = (commands: readonly Command[]): readonly string[] => [
  ...new Set(
    commands.flatMap((command) =>
      command.type === 'AppendMessages' ? command.messages.flatMap(({ subjects = [] }) => subjects) : [],
    ),
  ),
]

/** The text of the data as it is stored. In an erasable ledger its texts are sealed before anything is hashed. */
function sealed(event: Event, plain: string, place: SealedPlace, keys: SealingKeys | undefined): string {
  if (keys === undefined) return plain
  const subjects = event.type === 'MessageAppended' ? (event.data.subjects ?? []) : []
  return keys.conversation.seal(plain, eventTypes[event.type].texts, place, subjects.map(keys.pseudonym).toSorted())
}

/**
 * Encodes events for the revisions after `state`, all or none. The returned events are as every reader will decode
 * them.
 */
export async function encodeEvents(
  state: Conversation,
  events: readonly Event[],
  now: string,
  provenance: Provenance,
  { replacements, keys }: EncodingOptions = {},
): Promise<E.Either<NotRecordable, EncodedEvents>> {
  const stream = streamOf(state)
  const recordedAt = state.recordedAt !== undefined && state.recordedAt > now ? state.recordedAt : now
  const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
  let previousHash = state.hash
  for (const [at, event] of events.entries()) {
    const revision = state.revision + 1 + at
    const plain = encodeData(event)
    // An event may have a text of many megabytes, so other work may run between two steps.
    if (isPauseDue(plain.length)) await pause()
    const read = recordable(event, plain, { ...provenance, recordedAt })
    if (E.isLeft(read)) return read
    if (isPauseDue(plain.length)) await pause()
    const data = sealed(event, plain, { stream, revision, type: event.type }, keys)
    const id =
      event.type === 'MessageAppended'
        ? messageEventId(stream, event.data.messageId)
        : eventIdOf(stream, revision, event.type, data)
    if (isPauseDue(plain.length)) await pause()
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
      replacements === undefined ? undefined : countReplaced(plain, replacements),
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
  return await untilKnown(append, expected + encoded.toStore.length)
}

/**
 * Appends the first events of a conversation after its new keys were stored, or with them.
 * @returns undefined if other keys must be used; nothing is recorded then
 */
export async function appendWithNewKeys(
  log: Log,
  stream: string,
  encoded: EncodedEvents,
  created: NewKeys,
): Promise<E.Either<AppendFailure, Recorded> | undefined> {
  const record = await created.record
  if (record === undefined) return undefined
  if (log.store.appendWithKeyring === undefined || encoded.bodies.length > 0) {
    const isStored = await (log.store.putKeyring === undefined ? created.store() : log.store.putKeyring(record))
    if (!isStored) return undefined
    created.keep()
    return await appendUntilKnown(log, stream, -1, encoded)
  }
  // The database is in this process: no connection can break, so a failure is not tried again.
  const append = log.store.appendWithKeyring(record, stream, 'no_stream', encoded.toStore)
  const appended = await append()
  if (E.isLeft(appended)) return appended
  if (appended.right === undefined) return undefined
  created.keep()
  return E.right({ ...appended.right, ours: true })
}

/** Appends until the outcome is known. `last`: the revision of the last event if this call records it. */
async function untilKnown(
  append: TE.TaskEither<AppendFailure, Appended>,
  last: number,
): Promise<E.Either<AppendFailure, Recorded>> {
  const mayBegin = performance.now() + FURTHER_WITHIN_MS
  let result = await append()
  let failures = 0
  while (failures < FURTHER_ATTEMPTS && E.isLeft(result) && mayRetry(result.left, mayBegin)) {
    failures += 1
    await sleep(backoffMs(failures, BACKOFF))
    result = await append()
  }
  // Events repeated from an earlier append have an older revision than the requested one.
  const retried = failures > 0
  return E.map((appended: Appended) => ({
    ...appended,
    ours: !appended.repeated || (retried && appended.revision === last),
  }))(result)
}
