/**
 * An event store in memory: the smallest correct one, for tests, and a template for new adapters. Each append runs
 * synchronously, so nothing happens between its checks and its writes.
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
import { storeError } from '../../ports/store-error.js'
import { createSignal, type Signal } from '../../lib/signal.js'

export interface MemoryEventStore extends EventStore {
  /** Closes the store; later calls fail like those of an unavailable store. */
  close(): void
}

/** Creates an empty store in memory. */
export function createMemoryEventStore(): MemoryEventStore {
  const log: StoredEvent[] = []
  const streams = new Map<string, { readonly events: StoredEvent[]; readonly byId: Map<string, StoredEvent> }>()
  const subscribers = new Set<Signal>()
  let closed = false

  function checkOpen(): void {
    if (closed) throw storeError('StoreUnavailable', 'the store in memory is closed')
  }

  function record(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): E.Either<AppendFailure, Appended> {
    if (closed) return E.left({ kind: 'StoreUnavailable', detail: 'the store in memory is closed' })
    const stored = streams.get(stream) ?? { events: [], byId: new Map<string, StoredEvent>() }
    const repeated = repetition(
      stream,
      events,
      events.flatMap((event) => stored.byId.get(event.id) ?? []),
    )
    if (repeated !== undefined) return repeated
    const actual = BigInt(stored.events.length) - 1n
    if (expected !== 'any' && actual !== (expected === 'no_stream' ? -1n : expected)) {
      return E.left({ kind: 'RevisionConflict', stream, expected, actual })
    }
    streams.set(stream, stored)
    for (const { id, type, data, metadata } of events) {
      const event: StoredEvent = Object.freeze({
        id,
        type,
        data,
        metadata,
        stream,
        revision: BigInt(stored.events.length),
        position: BigInt(log.length),
      })
      stored.events.push(event)
      stored.byId.set(id, event)
      log.push(event)
    }
    for (const each of subscribers) each.notify()
    return E.right({ revision: BigInt(stored.events.length) - 1n, position: BigInt(log.length) - 1n, repeated: false })
  }

  function* eventsAfter(after: bigint, prefix: NonNullable<ReadAllOptions['prefix']>): Generator<StoredEvent> {
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
    checkOpen()
    let remaining = limit
    for (const event of eventsAfter(after, prefix)) {
      if (remaining-- <= 0) return
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
    subscribers.add(news)
    try {
      let position = after
      let caughtUpAt: bigint | undefined
      let remaining = limit
      while (!signal.aborted) {
        checkOpen()
        for (const event of eventsAfter(position, prefix)) {
          if (remaining-- <= 0 || signal.aborted) return
          position = event.position
          yield { kind: 'event', event }
        }
        if (signal.aborted || remaining <= 0) return
        const head = BigInt(log.length) - 1n
        if (caughtUpAt !== head) yield { kind: 'caught-up', position: head }
        caughtUpAt = head
        await news.wait()
      }
    } finally {
      news.stop()
      subscribers.delete(news)
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
      checkOpen()
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
      let remaining = limit
      for (let revision = Number(clamped); remaining-- > 0; revision += step) {
        const event = events[revision]
        if (event === undefined) return
        yield event
      }
    },
    async readRevisions(stream, revisions) {
      checkOpen()
      const events = streams.get(stream)?.events ?? []
      return [...new Set(revisions)]
        .toSorted((a, b) => (a < b ? -1 : 1))
        .flatMap((revision) => events[Number(revision)] ?? [])
    },
    async findByIds(stream, ids) {
      checkOpen()
      const byId = streams.get(stream)?.byId
      return [...new Set(ids)]
        .flatMap((id) => byId?.get(id) ?? [])
        .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
    },
    async eventAt(position) {
      checkOpen()
      return log[Number(position)]
    },
    readAll,
    async *readPositions(options) {
      for await (const { id, type, stream, revision, position, metadata } of readAll(options))
        yield { id, type, stream, revision, position, ...recordedAtOf(metadata) }
    },
    subscribe,
    async head() {
      checkOpen()
      return BigInt(log.length) - 1n
    },
    async *streams(prefix) {
      checkOpen()
      yield* inByteOrder([...streams.keys()].filter((name) => name.startsWith(prefix)))
    },
    async streamRevision(stream) {
      checkOpen()
      return BigInt(streams.get(stream)?.events.length ?? 0) - 1n
    },
    close() {
      closed = true
      for (const each of subscribers) each.notify()
    },
  }
}
