/**
 * The event store that forgets: the smallest correct one, for tests, and what a new adapter starts as a copy of.
 * Each append runs in one go, so nothing comes between its checks and its writing.
 */
import { either as E, taskEither as TE } from 'fp-ts'
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
  type SubscriptionItem,
} from '../../ports/event-store.js'
import { checkAppend, repetition } from '../append-checks.js'
import { inByteOrder } from '../byte-order.js'
import { StoreError } from '../../ports/store-error.js'
import { createSignal, type Signal } from '../../ports/signal.js'

export interface MemoryEventStore extends EventStore {
  /** From here on it answers like a store that cannot be reached. */
  close(): void
}

/** An empty store in memory. */
export function createMemoryEventStore(): MemoryEventStore {
  const log: StoredEvent[] = []
  const streams = new Map<string, { readonly events: StoredEvent[]; readonly byId: Map<string, StoredEvent> }>()
  const waiting = new Set<Signal>()
  let closed = false

  function open(): void {
    if (closed) throw new StoreError('StoreUnavailable', 'the store in memory is closed')
  }

  function record(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): E.Either<AppendFailure, Appended> {
    if (closed) return E.left({ kind: 'StoreUnavailable', detail: 'the store in memory is closed' })
    const there = streams.get(stream) ?? { events: [], byId: new Map<string, StoredEvent>() }
    const again = repetition(
      stream,
      events,
      events.flatMap((event) => there.byId.get(event.id) ?? []),
    )
    if (again !== undefined) return again
    const actual = BigInt(there.events.length) - 1n
    if (expected !== 'any' && actual !== (expected === 'no_stream' ? -1n : expected)) {
      return E.left({ kind: 'RevisionConflict', stream, expected, actual })
    }
    streams.set(stream, there)
    for (const { id, type, data, metadata } of events) {
      const stored: StoredEvent = Object.freeze({
        id,
        type,
        data,
        metadata,
        stream,
        revision: BigInt(there.events.length),
        position: BigInt(log.length),
      })
      there.events.push(stored)
      there.byId.set(id, stored)
      log.push(stored)
    }
    for (const each of waiting) each.notify()
    return E.right({ revision: BigInt(there.events.length) - 1n, position: BigInt(log.length) - 1n, repeated: false })
  }

  function* from(after: bigint, prefix: NonNullable<ReadAllOptions['prefix']>): Generator<StoredEvent> {
    const prefixes = prefixesOf(prefix)
    for (let position = Math.max(Number(after) + 1, 0); position < log.length; position++) {
      const event = log[position]
      if (event !== undefined && prefixes.some((one) => event.stream.startsWith(one))) yield event
    }
  }

  async function* readAll({
    after = -1n,
    prefix = '',
    limit = Infinity,
  }: ReadAllOptions = {}): AsyncGenerator<StoredEvent> {
    open()
    let left = limit
    for (const event of from(after, prefix)) {
      if (left-- <= 0) return
      yield event
    }
  }

  async function* subscribe({
    after = -1n,
    prefix = '',
    limit = Infinity,
    signal,
  }: ReadAllOptions & { readonly signal: AbortSignal }): AsyncGenerator<SubscriptionItem> {
    const news = createSignal(signal)
    waiting.add(news)
    try {
      let seen = after
      let told: bigint | undefined
      let left = limit
      while (!signal.aborted) {
        open()
        for (const event of from(seen, prefix)) {
          if (left-- <= 0 || signal.aborted) return
          seen = event.position
          yield { kind: 'event', event }
        }
        if (signal.aborted || left <= 0) return
        const head = BigInt(log.length) - 1n
        if (told !== head) yield { kind: 'caught-up', position: head }
        told = head
        await news.wait()
      }
    } finally {
      news.stop()
      waiting.delete(news)
    }
  }

  return {
    recognizes: 'always',
    append: (stream, expected, events) =>
      TE.fromIOEither(() => {
        const checked = checkAppend(stream, expected, events)
        return E.isLeft(checked) ? checked : record(stream, expected, events)
      }),
    async *readStream(stream, { from: first, direction = 'forwards', limit = Infinity } = {}) {
      open()
      const events = streams.get(stream)?.events ?? []
      const step = direction === 'forwards' ? 1 : -1
      const start = first === undefined ? (direction === 'forwards' ? 0n : BigInt(events.length) - 1n) : first
      const clamped =
        direction === 'forwards'
          ? start < 0n
            ? 0n
            : start
          : start >= BigInt(events.length)
            ? BigInt(events.length) - 1n
            : start
      let left = limit
      for (let revision = Number(clamped); left-- > 0; revision += step) {
        const event = events[revision]
        if (event === undefined) return
        yield event
      }
    },
    async readRevisions(stream, revisions) {
      open()
      const events = streams.get(stream)?.events ?? []
      return [...new Set(revisions)]
        .toSorted((a, b) => (a < b ? -1 : 1))
        .flatMap((revision) => events[Number(revision)] ?? [])
    },
    async findByIds(stream, ids) {
      open()
      const byId = streams.get(stream)?.byId
      return [...new Set(ids)]
        .flatMap((id) => byId?.get(id) ?? [])
        .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
    },
    async eventAt(position) {
      open()
      return log[Number(position)]
    },
    readAll,
    async *readPlaces(options) {
      for await (const { id, type, stream, revision, position, metadata } of readAll(options))
        yield { id, type, stream, revision, position, ...recordedAtOf(metadata) }
    },
    subscribe,
    async head() {
      open()
      return BigInt(log.length) - 1n
    },
    async *streams(prefix) {
      open()
      yield* inByteOrder([...streams.keys()].filter((name) => name.startsWith(prefix)))
    },
    async streamRevision(stream) {
      open()
      return BigInt(streams.get(stream)?.events.length ?? 0) - 1n
    },
    close() {
      closed = true
      for (const each of waiting) each.notify()
    },
  }
}
