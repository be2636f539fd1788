/**
 * The event store on a KurrentDB (EventStoreDB), through its client.
 *
 * Every append names an exact revision or `no_stream`, and is repeated with the same one if its outcome is unknown: on
 * this server only such appends are idempotent, and they always are. The server has no index of event ids and does not
 * compare content, so this module looks up older events itself.
 */
import { LAST_REVISION } from '../../domain/values/revision.js'
import { either as E, type taskEither as TE } from 'fp-ts'
import type { BodyStore } from '../../ports/body-store.js'
import type { EventIdIndex } from '../../ports/event-id-index.js'
import {
  prefixesOf,
  metadataField,
  type Appended,
  type AppendFailure,
  type EventPosition,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type ReadAllOptions,
  type StoredEvent,
} from '../../ports/event-store.js'
import { checkAppend, repetition } from '../append-checks.js'
import { inByteOrder } from '../byte-order.js'
import { sentenceOf, storeError, isStoreError } from '../../ports/store-error.js'
import { createTurns } from '../../lib/turns.js'
import { send } from './appends.js'
import { mapConcurrently, planReplacements, putBodies, tooLarge, withBody } from './claim-checks.js'
import { meaningOf } from './client-errors.js'
import { parseAddress } from './connection.js'
import { follow } from './follow.js'
import { firstFrom, firstOf, lastOf, lastOfAll, streamBatches } from './reads.js'
import { eventIdOf, fromWire, toWire } from './recorded-event.js'
import { createSession, type Session } from './session.js'
import { StreamNames } from './stream-names.js'
import { withTimeout } from './waiting.js'
import type { Recorded } from './wire.js'

export interface KurrentDbOptions {
  /** Stores the data of an append that is too large for the server. */
  readonly bodies: BodyStore
  /** Index of older event ids, so that a lookup need not read the whole stream. */
  readonly eventIds: EventIdIndex
  /** Types of events that are never the first of their stream; listing streams skips them. Default: none. */
  readonly laterTypes?: readonly string[]
  /** Prefixes whose stream names are cached after the first listing. Default: none. */
  readonly prefixes?: readonly string[]
  /** Time limit for an answer to a call. Default: the address's `defaultDeadline`, otherwise 10 s. */
  readonly deadlineMs?: number
}

export interface KurrentDbEventStore extends EventStore {
  /** The address without the password, for messages. */
  readonly name: string
  /** Ends all calls and closes the connection. Pending calls fail because the store is closed. */
  close(): Promise<void>
}

/**
 * Share of its deadline that an append may wait for earlier appends to its stream. After that it is not sent, because
 * the rest of the time is too short to learn its outcome.
 */
const WAITING_SHARE = 0.9
/** Revisions at most this far apart are read in one call: one event costs about a thirtieth of a call. */
const MAX_GAP = 30
/** How many streams are remembered as whole. */
const MOST_WHOLE = 100_000

class EventStoreOnServer implements KurrentDbEventStore {
  readonly name: string
  readonly recognizes = 'at-its-revision'
  private readonly bodies: BodyStore
  private readonly eventIds: KurrentDbOptions['eventIds']
  private readonly laterTypes: readonly string[]
  /** Appends to one stream run one after another, because concurrent calls may reach the server in any order. */
  private readonly turns = createTurns()
  private readonly names: StreamNames
  /** Streams that begin with their first event. */
  private readonly whole = new Set<string>()

  constructor(
    private readonly session: Session,
    { bodies, eventIds, laterTypes = [], prefixes = [] }: KurrentDbOptions,
  ) {
    this.name = session.name
    this.bodies = bodies
    this.eventIds = eventIds
    this.laterTypes = laterTypes
    this.names = new StreamNames(session, prefixes, laterTypes)
  }

  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): TE.TaskEither<AppendFailure, Appended> {
    return async () => await this.appendInTurn(stream, expected, events)
  }

  async *readStream(
    stream: string,
    options: Parameters<EventStore['readStream']>[1] = {},
  ): AsyncGenerator<StoredEvent> {
    this.session.checkOpen()
    for await (const batch of streamBatches(this.session, stream, options)) {
      for (const event of await this.toStoredEvents(batch)) yield event
    }
  }

  async findByIds(stream: string, ids: readonly string[]): Promise<StoredEvent[]> {
    return ids.length === 0 ? [] : [...(await this.lookUp(stream, ids)).found]
  }

  async eventAt(position: number): Promise<StoredEvent | undefined> {
    this.session.checkOpen()
    if (position < 0 || position > LAST_REVISION) return undefined
    const found = await firstFrom(this.session, position).catch((error: unknown) => {
      // A position between two events.
      if (isStoreError(error) && isBadPosition(error.cause)) return undefined
      throw error
    })
    return found === undefined || found.position !== position ? undefined : (await this.toStoredEvents([found]))[0]
  }

  readAll(options?: ReadAllOptions): AsyncGenerator<StoredEvent> {
    return this.readToHead(options, (recorded) => this.toStoredEvents(recorded))
  }

  // The server sends whole events; data in the body store is not fetched.
  readPositions(options?: ReadAllOptions): ReturnType<EventStore['readPositions']> {
    return this.readToHead(options, (recorded) => Promise.resolve(recorded.map(placeOf)))
  }

  readHashes(options?: Pick<ReadAllOptions, 'after' | 'prefix'>): ReturnType<EventStore['readHashes']> {
    return this.readToHead(options, (recorded) =>
      Promise.resolve(
        recorded.map(({ position, ...event }) => ({
          position,
          ...metadataField(fromWire({ position, ...event }).event.metadata, 'hash'),
        })),
      ),
    )
  }

  async *subscribe({
    after = -1,
    prefix = '',
    limit = Infinity,
    signal,
  }: Parameters<EventStore['subscribe']>[0]): ReturnType<EventStore['subscribe']> {
    this.session.checkOpen()
    let remaining = limit
    if (remaining <= 0) return
    for await (const { events, position, caughtUp } of follow(this.session, {
      after,
      prefixes: prefixesOf(prefix),
      signal,
      patienceMs: Infinity,
    })) {
      for (const event of await this.toStoredEvents(events)) {
        if (signal.aborted) return
        yield { kind: 'event', event }
        if (--remaining <= 0) return
      }
      if (signal.aborted) return
      if (caughtUp) yield { kind: 'caught-up', position }
    }
    if (!signal.aborted) this.session.checkOpen()
  }

  // Also the streams that were shortened or deleted.
  async *streams(prefix: string): AsyncGenerator<string> {
    this.session.checkOpen()
    const known = this.names.covers(prefix) ? this.names : new StreamNames(this.session, [prefix], this.laterTypes)
    yield* inByteOrder([...(await known.all())].filter((name) => name.startsWith(prefix)))
  }

  async streamRevision(stream: string): Promise<number> {
    return (await lastOf(this.session, stream))?.revision ?? -1
  }

  async close(): Promise<void> {
    await this.session.close()
  }

  /** Converts recorded events to ours, with their data from the body store. */
  private async toStoredEvents(recorded: readonly Recorded[]): Promise<readonly StoredEvent[]> {
    const read = recorded.map(fromWire)
    const last = read.at(-1)
    if (last !== undefined) this.session.notePosition(last.event.position)
    if (read.every(({ claim }) => claim === undefined)) return read.map(({ event }) => event)
    return await mapConcurrently(read, async ({ event, claim }) =>
      claim === undefined ? event : await withBody(event, claim, this.bodies),
    )
  }

  async head(): Promise<number> {
    const last = await lastOfAll(this.session)
    if (last === undefined) return -1
    this.session.notePosition(last.position)
    return last.position
  }

  /** Yields all events up to the end of the log, converted by `convert`. */
  private async *readToHead<Result extends { readonly position: number }>(
    { after = -1, prefix = '', limit = Infinity }: ReadAllOptions = {},
    convert: (recorded: readonly Recorded[]) => Promise<readonly Result[]>,
  ): AsyncGenerator<Result> {
    this.session.checkOpen()
    let remaining = limit
    const upTo = remaining > 0 ? await this.head() : -1
    if (after >= upTo) return
    const { signal } = new AbortController()
    for await (const { events, position, caughtUp } of follow(this.session, {
      after,
      prefixes: prefixesOf(prefix),
      signal,
      patienceMs: this.session.deadlineMs,
    })) {
      for (const event of await convert(events)) {
        if (event.position > upTo) return
        yield event
        if (--remaining <= 0) return
      }
      if (caughtUp || position >= upTo) return
    }
    this.session.checkOpen()
  }

  async readRevisions(stream: string, revisions: readonly number[]): Promise<StoredEvent[]> {
    this.session.checkOpen()
    const requested = new Set(revisions.filter((revision) => revision >= 0))
    const runs: { readonly from: number; to: number }[] = []
    for (const revision of [...requested].toSorted((a, b) => (a < b ? -1 : 1))) {
      const run = runs.at(-1)
      if (run !== undefined && revision - run.to <= MAX_GAP) run.to = revision
      else runs.push({ from: revision, to: revision })
    }
    const found = await mapConcurrently(runs, async ({ from, to }) => {
      const events: Recorded[] = []
      for await (const batch of streamBatches(this.session, stream, { from, limit: to - from + 1 }))
        events.push(...batch.filter((event) => requested.has(event.revision)))
      return await this.toStoredEvents(events)
    })
    return found.flat()
  }

  /** The last revision of the stream, and its events that have these ids, in ascending order. */
  private async lookUp(
    stream: string,
    ids: readonly string[],
  ): Promise<{ readonly last: number; readonly found: readonly StoredEvent[] }> {
    this.session.checkOpen()
    const requested = new Set(ids)
    const { revisions, upTo: indexedUpTo } = await this.eventIds.find(stream, ids)
    // An index beyond the end of this log was built from another log, so this log is read from its start.
    const upTo = indexedUpTo > this.session.highestPosition() && indexedUpTo > (await this.head()) ? -1 : indexedUpTo
    let last = -1
    const recent: Recorded[] = []
    reading: for await (const batch of streamBatches(this.session, stream, { direction: 'backwards' })) {
      for (const event of batch) {
        if (last < 0) last = event.revision
        if (event.position <= upTo) break reading
        if (requested.has(eventIdOf(event))) recent.unshift(event)
      }
    }
    // Indexed events are read and compared: a wrong index may hide an event, but never adds a false one.
    const older = await this.readRevisions(
      stream,
      revisions.filter((revision) => recent[0] === undefined || revision < recent[0].revision),
    )
    return {
      last,
      found: [...older.filter((event) => requested.has(event.id)), ...(await this.toStoredEvents(recent))],
    }
  }

  /** The result of an append to a stream that has another revision: a repetition or a conflict. */
  private async resolveConflict(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    after: number,
    actual: number,
  ): Promise<E.Either<AppendFailure, Appended>> {
    const ids = new Set(events.map((event) => event.id))
    let known = false
    if (actual > after) {
      for await (const batch of streamBatches(this.session, stream, { from: after + 1, limit: events.length }))
        known ||= batch.some((event) => ids.has(eventIdOf(event)))
    }
    const { found } = known ? await this.lookUp(stream, [...ids]) : { found: [] }
    return repetition(stream, events, found) ?? E.left({ kind: 'RevisionConflict', stream, expected, actual })
  }

  /**
   * Throws if the stream was deleted. The server accepts events for a deleted stream but continues its revisions, so
   * they would not start at 0. The stream's metadata still records the deletion.
   */
  private async throwIfDeleted(stream: string, until: number): Promise<void> {
    const settings = (await lastOf(this.session, `$$${stream}`, until))?.data
    if (settings !== undefined && isTruncated(settings)) {
      throw storeError(
        'StoreRefused',
        `${this.session.name}: the stream ${stream} was deleted or truncated, so new events would not start at revision 0; use another name`,
      )
    }
  }

  /**
   * Throws if the beginning of the stream was removed. The server would append to the rest, which is no complete
   * conversation.
   */
  private async throwIfShortened(stream: string, until: number): Promise<void> {
    if (this.whole.has(stream)) return
    const first = await firstOf(streamBatches(this.session, stream, { limit: 1 }, until))
    if (first === undefined) return
    if (first.revision > 0) {
      throw storeError(
        'StoreRefused',
        `${this.session.name}: the stream ${stream} begins at revision ${String(first.revision)}, because the server removed the events before it ($maxCount, $maxAge or $tb), so nothing is appended to it; use another name, and restore the conversation from a backup`,
      )
    }
    this.noteWhole(stream)
  }

  private noteWhole(stream: string): void {
    if (this.whole.size >= MOST_WHOLE) this.whole.clear()
    this.whole.add(stream)
  }

  private async record(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    until: number,
  ): Promise<E.Either<AppendFailure, Appended>> {
    this.session.checkOpen()
    const replacements = planReplacements(events)
    if (replacements.size > 0) await putBodies(events, replacements, this.bodies)
    const wire = events.map((event, index) => toWire(stream, event, replacements.get(index)))
    if (expected !== 'any') {
      const after = expected === 'no_stream' ? -1 : expected
      await (after < 0 ? this.throwIfDeleted(stream, until) : this.throwIfShortened(stream, until))
      const sent = await send(this.session, stream, after, wire, until)
      if (E.isLeft(sent)) return await this.resolveConflict(stream, expected, events, after, sent.left)
      if (after < 0) this.noteWhole(stream)
      return sent
    }
    for (;;) {
      const { last, found } = await this.lookUp(
        stream,
        events.map((event) => event.id),
      )
      const known = repetition(stream, events, found)
      if (known !== undefined) return known
      const checkUntil = performance.now() + this.session.deadlineMs
      await (last < 0 ? this.throwIfDeleted(stream, checkUntil) : this.throwIfShortened(stream, checkUntil))
      // The lookup may take long in a long stream, so sending has a new deadline.
      const sent = await send(this.session, stream, last, wire, performance.now() + this.session.deadlineMs)
      if (E.isRight(sent)) return sent
    }
  }

  private async appendInTurn(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): Promise<E.Either<AppendFailure, Appended>> {
    const from = performance.now()
    const until = from + this.session.deadlineMs
    const checked = checkAppend(stream, expected, events)
    if (E.isLeft(checked)) return checked
    if (stream.startsWith('$'))
      return E.left({
        kind: 'AppendRefused',
        detail: `the stream name ${JSON.stringify(stream)} begins with $, which is reserved for the server's own streams`,
      })
    const large = tooLarge(events)
    if (large !== undefined) return E.left({ kind: 'AppendRefused', detail: large })
    const isFree = !this.turns.isTaken(stream)
    const turn = this.turns.take(stream)
    try {
      // Usually no other append to the stream is pending, and this one starts without waiting.
      if (!isFree)
        await withTimeout(
          turn,
          from + WAITING_SHARE * this.session.deadlineMs - performance.now(),
          this.session.waits,
        ).catch(() => {
          throw this.session.timeoutError()
        })
      return await this.record(stream, expected, events, until)
    } catch (error) {
      return E.left(this.failureOf(error))
    } finally {
      // An append that timed out still ends its turn only when the turn comes, so that no later one overtakes.
      void turn.then((end) => end())
    }
  }

  /** If the store was closed in the meantime, that is the reported failure. */
  private failureOf(failure: unknown): AppendFailure {
    if (this.session.closing.aborted) return { kind: 'StoreUnavailable', detail: `${this.session.name} is closed` }
    const detail = sentenceOf(failure)
    // Failures of the body store and of the id index were not retried.
    if (!isStoreError(failure)) return { kind: 'StoreUnavailable', detail }
    return failure.kind === 'StoreRefused'
      ? { kind: 'StoreRefused', detail }
      : { kind: 'StoreUnavailable', detail, triedAgain: true }
  }
}

/** The server sends whole events; data in the body store is not fetched. */
function placeOf(recorded: Recorded): EventPosition {
  const { id, type, stream, revision, position, metadata } = fromWire(recorded).event
  return { id, type, stream, revision, position, ...metadataField(metadata, 'recordedAt') }
}

/** Opens the log at an address; throws a `LedgerError` if the server does not answer. */
export async function openKurrentDbEventStore(
  address: string,
  options: KurrentDbOptions,
): Promise<KurrentDbEventStore> {
  const parsed = parseAddress(address)
  const session = createSession(parsed, options.deadlineMs ?? parsed.defaultDeadline ?? 10_000)
  try {
    // Fails at once if nothing listens at the address; waits for a server that is starting.
    const last = await lastOfAll(session, { patient: false })
    // Every event in the log now is older than any append of this process.
    if (last !== undefined) session.notePosition(last.position)
    return new EventStoreOnServer(session, options)
  } catch (error) {
    await session.close()
    throw error
  }
}

/** Whether a stream's metadata has a truncation mark, which deleting the stream sets too. */
function isTruncated(settings: string): boolean {
  try {
    const parsed: unknown = JSON.parse(settings)
    return typeof parsed === 'object' && parsed !== null && '$tb' in parsed
  } catch {
    return false
  }
}

/**
 * Whether the server rejected a read because of its position. Some servers report a position between two events with
 * code 2, like other refusals.
 */
function isBadPosition(error: unknown): boolean {
  const { code }: { code?: unknown } = typeof error === 'object' && error !== null ? error : {}
  const { kind } = meaningOf(error)
  return kind === 'no-position' || (kind === 'refused' && (code === 2 || code === 3))
}
