/**
 * An event store in memory: the smallest correct one, for tests, and a template for new adapters. Each append runs
 * synchronously, so nothing happens between its checks and its writes.
 */
import { either as E, taskEither as TE } from 'fp-ts'
import {
  prefixesOf,
  metadataField,
  type Appended,
  type AppendFailure,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type ReadAllOptions,
  type ReadOptions,
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

interface Stream {
  readonly events: StoredEvent[]
  readonly byId: Map<string, StoredEvent>
}

class MemoryLog {
  readonly events: StoredEvent[] = []
  readonly streams = new Map<string, Stream>()
  readonly #subscribers = new Set<Signal>()
  #isClosed = false

  checkOpen(): void {
    if (this.#isClosed) throw storeError('StoreUnavailable', 'the store in memory is closed')
  }

  close(): void {
    this.#isClosed = true
    for (const each of this.#subscribers) each.notify()
  }

  get head(): number {
    return this.events.length - 1
  }

  record(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): E.Either<AppendFailure, Appended> {
    if (this.#isClosed) return E.left({ kind: 'StoreUnavailable', detail: 'the store in memory is closed' })
    const stored = this.streams.get(stream) ?? { events: [], byId: new Map<string, StoredEvent>() }
    const repeated = repetition(
      stream,
      events,
      events.flatMap((event) => stored.byId.get(event.id) ?? []),
    )
    if (repeated !== undefined) return repeated
    const actual = stored.events.length - 1
    if (expected !== 'any' && actual !== (expected === 'no_stream' ? -1 : expected)) {
      return E.left({ kind: 'RevisionConflict', stream, expected, actual })
    }
    this.streams.set(stream, stored)
    for (const { id, type, data, metadata } of events) {
      const event: StoredEvent = Object.freeze({
        id,
        type,
        data,
        metadata,
        stream,
        revision: stored.events.length,
        position: this.events.length,
      })
      stored.events.push(event)
      stored.byId.set(id, event)
      this.events.push(event)
    }
    for (const each of this.#subscribers) each.notify()
    return E.right({ revision: stored.events.length - 1, position: this.head, repeated: false })
  }

  *#eventsAfter(after: number, prefix: NonNullable<ReadAllOptions['prefix']>): Generator<StoredEvent> {
    const prefixes = prefixesOf(prefix)
    for (let position = Math.max(after + 1, 0); position < this.events.length; position++) {
      const event = this.events[position]
      if (event !== undefined && prefixes.some((one) => event.stream.startsWith(one))) yield event
    }
  }

  async *readAll({ after = -1, prefix = '', limit = Infinity }: ReadAllOptions = {}): AsyncGenerator<StoredEvent> {
    this.checkOpen()
    let remaining = limit
    for (const event of this.#eventsAfter(after, prefix)) {
      if (remaining-- <= 0) return
      yield event
    }
  }

  async *readStream(
    stream: string,
    { from, direction = 'forwards', limit = Infinity }: ReadOptions = {},
  ): AsyncGenerator<StoredEvent> {
    this.checkOpen()
    const events = this.streams.get(stream)?.events ?? []
    const isForwards = direction === 'forwards'
    const last = events.length - 1
    const start = from === undefined ? (isForwards ? 0 : last) : from
    const step = isForwards ? 1 : -1
    let remaining = limit
    for (let at = isForwards ? Math.max(start, 0) : Math.min(start, last); remaining-- > 0; at += step) {
      const event = events[at]
      if (event === undefined) return
      yield event
    }
  }

  async *subscribe({
    after = -1,
    prefix = '',
    limit = Infinity,
    signal,
  }: ReadAllOptions & { readonly signal: AbortSignal }): AsyncGenerator<SubscriptionItem> {
    const news = createSignal(signal)
    this.#subscribers.add(news)
    try {
      let position = after
      let caughtUpAt: number | undefined
      let remaining = limit
      while (!signal.aborted) {
        this.checkOpen()
        for (const event of this.#eventsAfter(position, prefix)) {
          if (remaining-- <= 0 || signal.aborted) return
          position = event.position
          yield { kind: 'event', event }
        }
        if (signal.aborted || remaining <= 0) return
        const { head } = this
        if (caughtUpAt !== head) yield { kind: 'caught-up', position: head }
        caughtUpAt = head
        await news.wait()
      }
    } finally {
      news.stop()
      this.#subscribers.delete(news)
    }
  }
}

/** Creates an empty store in memory. A plain object, because tests replace some of its methods. */
export function createMemoryEventStore(): MemoryEventStore {
  const log = new MemoryLog()
  return {
    recognizes: 'always',
    append: (stream, expected, events) =>
      TE.fromIOEither(() => {
        const checked = checkAppend(stream, expected, events)
        return E.isLeft(checked) ? checked : log.record(stream, expected, events)
      }),
    readStream: (stream, options) => log.readStream(stream, options),
    async readRevisions(stream, revisions) {
      log.checkOpen()
      const events = log.streams.get(stream)?.events ?? []
      return [...new Set(revisions)].toSorted((a, b) => (a < b ? -1 : 1)).flatMap((revision) => events[revision] ?? [])
    },
    async findByIds(stream, ids) {
      log.checkOpen()
      const byId = log.streams.get(stream)?.byId
      return [...new Set(ids)]
        .flatMap((id) => byId?.get(id) ?? [])
        .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
    },
    async eventAt(position) {
      log.checkOpen()
      return log.events[position]
    },
    readAll: (options) => log.readAll(options),
    async *readPositions(options) {
      for await (const { id, type, stream, revision, position, metadata } of log.readAll(options))
        yield { id, type, stream, revision, position, ...metadataField(metadata, 'recordedAt') }
    },
    async *readHashes(options) {
      for await (const { position, metadata } of log.readAll(options))
        yield { position, ...metadataField(metadata, 'hash') }
    },
    subscribe: (options) => log.subscribe(options),
    async head() {
      log.checkOpen()
      return log.head
    },
    async *streams(prefix) {
      log.checkOpen()
      yield* inByteOrder([...log.streams.keys()].filter((name) => name.startsWith(prefix)))
    },
    async streamRevision(stream) {
      log.checkOpen()
      return (log.streams.get(stream)?.events.length ?? 0) - 1
    },
    close: () => {
      log.close()
    },
  }
}
