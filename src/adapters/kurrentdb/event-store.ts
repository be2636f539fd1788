/**
 * The event store on a KurrentDB (EventStoreDB), by its client.
 *
 * Appends go at an exact revision or at no stream at all, always, and again at the same one where their outcome is not
 * known: on this server nothing else is idempotent, and this is for ever. What the server does not know (ids of long
 * ago, the content behind an id) is looked up here.
 */
import { either as E, type taskEither as TE } from 'fp-ts'
import type { BodyStore } from '../../ports/body-store.js'
import type { EventIdIndex } from '../../ports/event-id-index.js'
import {
  prefixesOf,
  recordedAtOf,
  type Appended,
  type AppendFailure,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type ReadAllOptions,
  type StoredEvent,
} from '../../ports/event-store.js'
import { checkAppend, repetition } from '../append-checks.js'
import { inByteOrder } from '../byte-order.js'
import { sentenceOf, StoreError } from '../../ports/store-error.js'
import { createTurns } from '../../ports/turns.js'
import { send } from './appends.js'
import { fewAtOnce, planClaims, putBodies, tooLarge, withBody } from './claims.js'
import { meaningOf } from './client-errors.js'
import { parseAddress } from './connection.js'
import { follow } from './follow.js'
import { firstFrom, lastOf, lastOfAll, streamBatches } from './reads.js'
import { eventIdOf, fromWire, toWire } from './recorded-event.js'
import { createSession } from './session.js'
import { within } from './waiting.js'
import type { Recorded } from './wire.js'

export interface KurrentDbOptions {
  /** Where the data of an append goes that is too large for the server. */
  readonly bodies: BodyStore
  /** Where ids stand that are older than what one wants to read through. */
  readonly eventIds: EventIdIndex
  /**
   * Types of events that are never the first of their stream: who asks for the names of streams is not sent these.
   * Default: none.
   */
  readonly laterTypes?: readonly string[]
  /** How long a call may go without an answer. Default: the address's `defaultDeadline`, else 10 s. */
  readonly deadlineMs?: number
}

export interface KurrentDbEventStore extends EventStore {
  /** The address for people, without the password. */
  readonly name: string
  /** Ends all calls, and the connection. Whoever waits learns that the store is closed. */
  close(): Promise<void>
}

/**
 * How much of its time an append may wait for its turn: with less than the rest it is not sent, for nobody would hear
 * what became of it.
 */
const WAITING_SHARE = 0.9
/** Revisions so near to each other are read in one call: an event costs about a thirtieth of a call. */
const NEAR = 30n
const LAST_POSITION = 2n ** 63n - 1n

/** Opens the log at an address, once the server answers; throws a `StoreError` where it does not. */
export async function openKurrentDbEventStore(
  address: string,
  { bodies, eventIds, laterTypes = [], deadlineMs }: KurrentDbOptions,
): Promise<KurrentDbEventStore> {
  const parsed = parseAddress(address)
  const session = createSession(parsed, deadlineMs ?? parsed.defaultDeadline ?? 10_000)
  /** Appends to one stream go one after the other: calls that are made at once may reach the server in any order. */
  const turns = createTurns()

  /** Recorded events as ours, with the data that lies beside the log. */
  async function ours(recorded: readonly Recorded[]): Promise<readonly StoredEvent[]> {
    const read = recorded.map(fromWire)
    const last = read.at(-1)
    if (last !== undefined) session.saw(last.event.position)
    if (read.every(({ claim }) => claim === undefined)) return read.map(({ event }) => event)
    return await fewAtOnce(read, async ({ event, claim }) =>
      claim === undefined ? event : await withBody(event, claim, bodies),
    )
  }

  async function head(): Promise<bigint> {
    const last = await lastOfAll(session)
    if (last === undefined) return -1n
    session.saw(last.position)
    return last.position
  }

  /** All events up to the end of the log, as `make` makes them. */
  async function* readThrough<Made extends { readonly position: bigint }>(
    { after = -1n, prefix = '', limit = Infinity }: ReadAllOptions = {},
    make: (recorded: readonly Recorded[]) => Promise<readonly Made[]>,
  ): AsyncGenerator<Made> {
    session.checkOpen()
    let left = limit
    const upTo = left > 0 ? await head() : -1n
    if (after >= upTo) return
    const { signal } = new AbortController()
    for await (const { events, position, caughtUp } of follow(session, {
      after,
      prefixes: prefixesOf(prefix),
      signal,
      patienceMs: session.deadlineMs,
    })) {
      for (const event of await make(events)) {
        if (event.position > upTo) return
        yield event
        if (--left <= 0) return
      }
      if (caughtUp || position >= upTo) return
    }
    session.checkOpen()
  }

  async function readRevisions(stream: string, revisions: readonly bigint[]): Promise<StoredEvent[]> {
    session.checkOpen()
    const wanted = new Set(revisions.filter((revision) => revision >= 0n))
    const runs: { readonly from: bigint; to: bigint }[] = []
    for (const revision of [...wanted].toSorted((a, b) => (a < b ? -1 : 1))) {
      const run = runs.at(-1)
      if (run !== undefined && revision - run.to <= NEAR) run.to = revision
      else runs.push({ from: revision, to: revision })
    }
    const found = await fewAtOnce(runs, async ({ from, to }) => {
      const events: Recorded[] = []
      for await (const batch of streamBatches(session, stream, { from, limit: Number(to - from) + 1 }))
        events.push(...batch.filter((event) => wanted.has(event.revision)))
      return await ours(events)
    })
    return found.flat()
  }

  /** Where the stream ends, and those of its events that have these ids, in ascending order. */
  async function lookUp(
    stream: string,
    ids: readonly string[],
  ): Promise<{ readonly last: bigint; readonly found: readonly StoredEvent[] }> {
    session.checkOpen()
    const wanted = new Set(ids)
    const { revisions, upTo: told } = await eventIds.find(stream, ids)
    // An index that has come further than the log was made from another one, and what it does not know says nothing of
    // this one.
    const upTo = told > session.seen() && told > (await head()) ? -1n : told
    let last = -1n
    const recent: Recorded[] = []
    reading: for await (const batch of streamBatches(session, stream, { direction: 'backwards' })) {
      for (const event of batch) {
        if (last < 0n) last = event.revision
        if (event.position <= upTo) break reading
        if (wanted.has(eventIdOf(event))) recent.unshift(event)
      }
    }
    // What the index says is read: a wrong index may hide an event, and never shows a false one.
    const older = await readRevisions(
      stream,
      revisions.filter((revision) => recent[0] === undefined || revision < recent[0].revision),
    )
    return { last, found: [...older.filter((event) => wanted.has(event.id)), ...(await ours(recent))] }
  }

  /** What is said of an append whose place is taken. */
  async function taken(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    after: bigint,
    actual: bigint,
  ): Promise<E.Either<AppendFailure, Appended>> {
    const ids = new Set(events.map((event) => event.id))
    let known = false
    if (actual > after) {
      for await (const batch of streamBatches(session, stream, { from: after + 1n, limit: events.length }))
        known ||= batch.some((event) => ids.has(eventIdOf(event)))
    }
    const { found } = known ? await lookUp(stream, [...ids]) : { found: [] }
    return repetition(stream, events, found) ?? E.left({ kind: 'RevisionConflict', stream, expected, actual })
  }

  /**
   * A stream that somebody deleted takes events as a new one does, and goes on counting where it stood: what begins
   * anew there would never be read as a beginning. Its metadata say so, and stay.
   */
  async function refuseDeleted(stream: string, until: number): Promise<void> {
    const settings = (await lastOf(session, `$$${stream}`, until))?.data
    if (settings !== undefined && isCutOff(settings)) {
      throw new StoreError(
        'StoreRefused',
        `${session.name}: the stream ${stream} was deleted, or its beginning cut off, and what is appended to it now would not be its beginning; take another name`,
      )
    }
  }

  async function record(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    until: number,
  ): Promise<E.Either<AppendFailure, Appended>> {
    session.checkOpen()
    const claims = planClaims(events)
    if (claims.size > 0) await putBodies(events, claims, bodies)
    const wire = events.map((event, place) => toWire(stream, event, claims.get(place)))
    if (expected !== 'any') {
      const after = expected === 'no_stream' ? -1n : expected
      if (after < 0n) await refuseDeleted(stream, until)
      const sent = await send(session, stream, after, wire, until)
      return E.isRight(sent) ? sent : await taken(stream, expected, events, after, sent.left)
    }
    for (;;) {
      const { last, found } = await lookUp(
        stream,
        events.map((event) => event.id),
      )
      const known = repetition(stream, events, found)
      if (known !== undefined) return known
      if (last < 0n) await refuseDeleted(stream, performance.now() + session.deadlineMs)
      // Looking up may take its time in a long stream; sending has its own.
      const sent = await send(session, stream, last, wire, performance.now() + session.deadlineMs)
      if (E.isRight(sent)) return sent
    }
  }

  function append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): TE.TaskEither<AppendFailure, Appended> {
    return async () => {
      const from = performance.now()
      const until = from + session.deadlineMs
      const checked = checkAppend(stream, expected, events)
      if (E.isLeft(checked)) return checked
      if (stream.startsWith('$'))
        return E.left({
          kind: 'AppendRefused',
          detail: `the name of the stream ${JSON.stringify(stream)} begins with $, as those of the server itself`,
        })
      const large = tooLarge(events)
      if (large !== undefined) return E.left({ kind: 'AppendRefused', detail: large })
      const isFree = !turns.isTaken(stream)
      const turn = turns.take(stream)
      try {
        // Mostly nobody is before it, and then there is nothing to wait for.
        if (!isFree)
          await within(turn, from + WAITING_SHARE * session.deadlineMs - performance.now(), session.waits).catch(() => {
            throw session.silence()
          })
        return await record(stream, expected, events, until)
      } catch (error) {
        return E.left(failureOf(error))
      } finally {
        // Who gave up ends its turn when it comes: nobody passes the one that it waited for.
        void turn.then((end) => end())
      }
    }
  }

  /** A store that was closed meanwhile says so, whatever else it was waiting for. */
  function failureOf(failure: unknown): AppendFailure {
    if (session.closing.aborted) return { kind: 'StoreUnavailable', detail: `${session.name} is closed` }
    const detail = sentenceOf(failure)
    // What lies beside the server (bodies, ids) was asked once.
    if (!(failure instanceof StoreError)) return { kind: 'StoreUnavailable', detail }
    return failure.kind === 'StoreRefused'
      ? { kind: 'AppendRefused', detail }
      : { kind: 'StoreUnavailable', detail, triedAgain: true }
  }

  const store: KurrentDbEventStore = {
    name: session.name,
    recognizes: 'at-its-revision',
    append,

    async *readStream(stream, options = {}) {
      session.checkOpen()
      for await (const batch of streamBatches(session, stream, options)) {
        for (const event of await ours(batch)) yield event
      }
    },

    readRevisions,
    findByIds: async (stream, ids) => (ids.length === 0 ? [] : [...(await lookUp(stream, ids)).found]),

    async eventAt(position) {
      session.checkOpen()
      if (position < 0n || position > LAST_POSITION) return undefined
      const there = await firstFrom(session, position).catch((error: unknown) => {
        // A position between two events.
        if (error instanceof StoreError && isBadPosition(error.cause)) return undefined
        throw error
      })
      return there === undefined || there.position !== position ? undefined : (await ours([there]))[0]
    },

    readAll: (options) => readThrough(options, ours),
    // The server sends the events whole; what lies beside the log is left there.
    readPlaces: (options) =>
      readThrough(options, async (recorded) =>
        recorded.map(fromWire).map(({ event: { id, type, stream, revision, position, metadata } }) => ({
          id,
          type,
          stream,
          revision,
          position,
          ...recordedAtOf(metadata),
        })),
      ),

    async *subscribe({ after = -1n, prefix = '', limit = Infinity, signal }) {
      session.checkOpen()
      let left = limit
      if (left <= 0) return
      for await (const { events, position, caughtUp } of follow(session, {
        after,
        prefixes: prefixesOf(prefix),
        signal,
        patienceMs: Infinity,
      })) {
        for (const event of await ours(events)) {
          if (signal.aborted) return
          yield { kind: 'event', event }
          if (--left <= 0) return
        }
        if (signal.aborted) return
        if (caughtUp) yield { kind: 'caught-up', position }
      }
      if (!signal.aborted) session.checkOpen()
    },

    // The server has no list of names that one may ask for by prefix. It looks through its log, and sends the events
    // that may be the first of a stream. A stream that has none of them any more, because somebody cut its beginning
    // off, is not named.
    async *streams(prefix) {
      session.checkOpen()
      const names = new Set<string>()
      const upTo = await head()
      const { signal } = new AbortController()
      for await (const { events, position, caughtUp } of upTo < 0n
        ? []
        : follow(session, {
            after: -1n,
            prefixes: [prefix],
            typesBut: laterTypes,
            signal,
            patienceMs: session.deadlineMs,
          })) {
        for (const { streamId } of events) if (streamId.startsWith(prefix)) names.add(streamId)
        if (caughtUp || position >= upTo) break
      }
      session.checkOpen()
      yield* inByteOrder([...names])
    },
    head,
    streamRevision: async (stream) => (await lastOf(session, stream))?.revision ?? -1n,
    close: () => session.close(),
  }

  try {
    // Nobody waits long for an address where nothing listens; a server that is starting is waited for.
    const last = await lastOfAll(session, { patient: false })
    // What stands in the log by now is known to be older than any append to come.
    if (last !== undefined) session.saw(last.position)
    return store
  } catch (error) {
    await session.close()
    throw error
  }
}

/** Whether a stream's settings say that its beginning was cut off, as deleting it does. */
function isCutOff(settings: string): boolean {
  try {
    const said: unknown = JSON.parse(settings)
    return typeof said === 'object' && said !== null && '$tb' in said
  } catch {
    return false
  }
}

/**
 * Whether a read was refused for its position. What it says of one between two events is not told apart from other
 * refusals by code 2 everywhere.
 */
function isBadPosition(error: unknown): boolean {
  const { code }: { code?: unknown } = typeof error === 'object' && error !== null ? error : {}
  const { kind } = meaningOf(error)
  return kind === 'no-position' || (kind === 'refused' && (code === 2 || code === 3))
}
