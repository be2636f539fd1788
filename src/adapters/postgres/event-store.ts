/**
 * The event store on Postgres, a server or the embedded engine: reads in pages (`log-reader.ts`), appends through the
 * functions in `schema.ts`.
 *
 * A reader that follows positions sees every committed event, because positions have no gaps and become visible in
 * order.
 */
import { either as E, taskEither as TE } from 'fp-ts'
import type {
  Appended,
  AppendFailure,
  EventStore,
  ExpectedRevision,
  ReadAllOptions,
  SubscriptionItem,
} from '../../ports/event-store.js'
import type { Database } from '../../ports/sql.js'
import { checkAppend } from '../append-checks.js'
import { sentenceOf } from '../../ports/store-error.js'
import { createSignal, type Signal } from '../../lib/signal.js'
import { appendWithKeyring, createAppendQueue, refusesData, type AppendRow } from './append-queue.js'
import { putBeforeAppend } from './keyring-store.js'
import { DiskWatermark, LogReader } from './log-reader.js'
import { LOG_CHANNEL } from './schema.js'

export interface PostgresEventStoreOptions {
  /** Polling interval of a subscription, for lost notifications. Default 250 ms. */
  readonly pollMs?: number
}

/** The log in the tables that `migrateLog` creates. It lives as long as `db` does. */
export function createPostgresEventStore(db: Database, { pollMs = 250 }: PostgresEventStoreOptions = {}): EventStore {
  const subscribers = new Set<Signal>()
  const queue = createAppendQueue(db)
  const disk = new DiskWatermark(db)
  const reader = new LogReader(db, disk)

  function outcomeOf(stream: string, expected: ExpectedRevision, row: AppendRow): E.Either<AppendFailure, Appended> {
    const result = { revision: Number(row.last_revision), position: Number(row.last_position ?? -1) }
    disk.note(result.position)
    switch (row.outcome) {
      case 'appended':
        for (const subscriber of subscribers) subscriber.notify()
        return E.right({ ...result, repeated: false })
      case 'repeated':
        return E.right({ ...result, repeated: true })
      case 'recorded':
        return E.left({ kind: 'IdsRecorded', stream, ids: row.recorded ?? [] })
      case 'conflict':
        return E.left({ kind: 'RevisionConflict', stream, expected, actual: result.revision })
    }
    row.outcome satisfies never
    throw new Error(`append_events returned the unknown outcome ${String(row.outcome)}`)
  }

  async function* subscribe({
    after = -1,
    prefix,
    limit = Infinity,
    signal,
  }: ReadAllOptions & { readonly signal: AbortSignal }): AsyncGenerator<SubscriptionItem> {
    const news = createSignal(signal)
    subscribers.add(news)
    const stopListening = await db.listen(LOG_CHANNEL, () => news.notify())
    try {
      let position = after
      let caughtUpAt: number | undefined
      let remaining = limit
      while (!signal.aborted) {
        const upTo = await reader.head()
        for await (const event of reader.between(position, upTo, prefix)) {
          if (remaining-- <= 0 || signal.aborted) return
          yield { kind: 'event', event }
        }
        if (signal.aborted || remaining <= 0) return
        if (upTo > position) position = upTo
        if (caughtUpAt !== upTo) yield { kind: 'caught-up', position: upTo }
        caughtUpAt = upTo
        await news.wait(pollMs)
      }
    } finally {
      news.stop()
      subscribers.delete(news)
      await stopListening()
    }
  }

  return {
    recognizes: 'always',
    append: (stream, expected, events) => async () => {
      const checked = checkAppend(stream, expected, events)
      if (E.isLeft(checked)) return checked
      return await TE.tryCatch(
        async () => outcomeOf(stream, expected, await queue.append(stream, expected, events)),
        failureOf,
      )().then(E.flatten)
    },
    ...(db.isServer
      ? { putKeyring: (keyring) => putBeforeAppend(db, keyring) }
      : {
          appendWithKeyring: (keyring, stream, expected, events) => async () => {
            const checked = checkAppend(stream, expected, events)
            if (E.isLeft(checked)) return checked
            return await TE.tryCatch(async () => {
              const row = await appendWithKeyring(db, keyring, stream, expected, events)
              return row === undefined ? E.right(undefined) : outcomeOf(stream, expected, row)
            }, failureOf)().then(E.flatten)
          },
        }),
    readStream: (stream, options = {}) => reader.stream(stream, options),
    revisionAtTime: (stream, time) => reader.revisionAtTime(stream, time),
    readRevisions: (stream, revisions) => reader.revisions(stream, revisions),
    findByIds: (stream, ids) => reader.byIds(stream, ids),
    eventAt: (position) => reader.eventAt(position),
    readAll: (options = {}) => reader.all(options),
    readPositions: (options = {}) => reader.places(options),
    readHashes: (options = {}) => reader.hashes(options),
    streams: (prefix) => reader.streamNames(prefix),
    readStreams: (prefix) => reader.eventsOfStreams(prefix),
    streamHeads: (prefix) => reader.streamHeads(prefix),
    miscountedStreams: (prefix) => reader.miscountedStreams(prefix),
    missingPositions: () => reader.missingPositions(),
    subscribe,
    head: () => reader.head(),
    streamRevision: (stream) => reader.streamRevision(stream),
  }
}

/** Without a permanent refusal the outcome is unknown, for example if the connection breaks during a commit. */
function failureOf(failure: unknown): AppendFailure {
  return { kind: refusesData(failure) ? 'AppendRefused' : 'StoreUnavailable', detail: sentenceOf(failure) }
}
