/**
 * The event store on Postgres, a server or the embedded engine: reads by page, appends by the function in `schema.ts`.
 *
 * A reader goes by position and sees every committed event, because positions have no gaps and become visible in their
 * order. On a server they become visible a moment before they are on the disk (`append_and_wait` in `schema.ts`); nobody
 * is given an event before it is there, so that none is ever seen that a crash takes back.
 */
import { either as E, taskEither as TE } from 'fp-ts'
import {
  prefixesOf,
  type Appended,
  type AppendFailure,
  type EventPlace,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type ReadAllOptions,
  type StoredEvent,
  type SubscriptionItem,
} from '../../ports/event-store.js'
import type { Database } from '../../ports/sql.js'
import { checkAppend } from '../append-checks.js'
import { sentenceOf } from '../../ports/store-error.js'
import { createSignal, type Signal } from '../../ports/signal.js'
import { createAppendQueue, refusesData } from './append-queue.js'
import { LOG_CHANNEL, WAIT_FOR_DISK } from './schema.js'

export interface PostgresEventStoreOptions {
  /** How often a subscription looks by itself, for the case that a wake-up call was lost. Default 250 ms. */
  readonly pollMs?: number
}

/** The log in the tables that `migrateLog` creates. It lives as long as `db` does. */
export function createPostgresEventStore(db: Database, { pollMs = 250 }: PostgresEventStoreOptions = {}): EventStore {
  const waiting = new Set<Signal>()
  const queue = createAppendQueue(db)
  const ringAll = (): void => {
    for (const each of waiting) each.notify()
  }

  /** All events up to here are on the disk, as far as we know. */
  let onDisk = -1n
  let waitingForDisk: Promise<void> | undefined

  /** Comes back when an event that was seen at this position is on the disk. Those who wait at once wait together. */
  async function kept(position: bigint): Promise<void> {
    if (!db.isServer || position <= onDisk) return
    // What others wait for already may have begun before this event came.
    await waitingForDisk
    if (position <= onDisk) return
    waitingForDisk ??= waitForDisk().finally(() => {
      waitingForDisk = undefined
    })
    await waitingForDisk
    isKept(position)
  }

  async function waitForDisk(): Promise<void> {
    const [row] = await db.query<{ position: string }>(WAIT_FOR_DISK)
    isKept(BigInt(row?.position ?? -1))
  }

  function isKept(position: bigint): void {
    if (position > onDisk) onDisk = position
  }

  /** Rows of a statement that reads the log, once all of them are on the disk. */
  async function read<Row extends { readonly position: string }>(
    statement: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const rows = await db.query<Row>(statement, values)
    let last = -1n
    for (const { position } of rows) if (BigInt(position) > last) last = BigInt(position)
    await kept(last)
    return rows
  }

  async function head(): Promise<bigint> {
    const [row] = await read(HEAD)
    return BigInt(row?.position ?? -1)
  }

  async function record(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): Promise<E.Either<AppendFailure, Appended>> {
    const row = await queue.append(stream, expected, events)
    const result = { revision: BigInt(row.last_revision), position: BigInt(row.last_position ?? -1) }
    isKept(result.position)
    switch (row.outcome) {
      case 'appended':
        ringAll()
        return E.right({ ...result, repeated: false })
      case 'repeated':
        return E.right({ ...result, repeated: true })
      case 'recorded':
        return E.left({ kind: 'IdsRecorded', stream, ids: row.recorded ?? [] })
      case 'conflict':
        return E.left({ kind: 'RevisionConflict', stream, expected, actual: result.revision })
    }
    row.outcome satisfies never
    throw new Error(`append_events gave the outcome ${String(row.outcome)}`)
  }

  /** Where events stand, page by page. */
  async function* places({ after = -1n, prefix, limit = Infinity }: ReadAllOptions): AsyncGenerator<EventPlace> {
    let left = limit
    const upTo = left > 0 ? await head() : -1n
    const prefixes = prefix === undefined ? [] : prefixesOf(prefix)
    const statement = readPlacesWith(prefixes.length)
    for (let seen = after; seen < upTo; seen += PLACES_A_PAGE) {
      const last = seen + PLACES_A_PAGE
      for (const { revision, position, recordedAt, ...event } of await read<PlaceRow>(statement, [
        seen,
        last < upTo ? last : upTo,
        ...prefixes,
      ])) {
        yield {
          ...event,
          revision: BigInt(revision),
          position: BigInt(position),
          ...(recordedAt === null ? {} : { recordedAt }),
        }
        if (--left <= 0) return
      }
    }
  }

  /** Events after `after` up to and with `upTo`, which the log has already passed. */
  async function* between(after: bigint, upTo: bigint, prefix: ReadAllOptions['prefix']): AsyncGenerator<StoredEvent> {
    const size = pageSize()
    const prefixes = prefix === undefined ? [] : prefixesOf(prefix)
    const statement = readAllWith(prefixes.length)
    let seen = after
    while (seen < upTo) {
      // Without gaps, a page is a range of positions: also where the prefix matches nothing, no statement looks at more
      // of the log than one page.
      const last = seen + BigInt(prefix === undefined ? size.events : Math.max(size.events, 1_000))
      const rows = await read<EventRow>(statement, [seen, last < upTo ? last : upTo, ...prefixes])
      for (const row of rows) yield eventOf(row)
      size.learnFrom(rows)
      const cutAt = isCut(rows) ? rows.at(-1)?.position : undefined
      seen = cutAt === undefined ? last : BigInt(cutAt)
    }
  }

  async function* subscribe({
    after = -1n,
    prefix,
    limit = Infinity,
    signal,
  }: ReadAllOptions & { readonly signal: AbortSignal }): AsyncGenerator<SubscriptionItem> {
    const news = createSignal(signal)
    waiting.add(news)
    const stopListening = await db.listen(LOG_CHANNEL, () => news.notify())
    try {
      let seen = after
      let told: bigint | undefined
      let left = limit
      while (!signal.aborted) {
        const upTo = await head()
        for await (const event of between(seen, upTo, prefix)) {
          if (left-- <= 0 || signal.aborted) return
          yield { kind: 'event', event }
        }
        if (signal.aborted || left <= 0) return
        if (upTo > seen) seen = upTo
        if (told !== upTo) yield { kind: 'caught-up', position: upTo }
        told = upTo
        await news.wait(pollMs)
      }
    } finally {
      news.stop()
      waiting.delete(news)
      await stopListening()
    }
  }

  /** Rows of streams by the names of those, page after page. */
  async function* named<Columns>(
    statement: string,
    prefix: string,
  ): AsyncGenerator<Columns & { readonly stream: string }> {
    let after = ''
    for (;;) {
      const rows = await db.query<Columns & { readonly stream: string }>(statement, [prefix, after, STREAMS_A_PAGE])
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < STREAMS_A_PAGE) return
      after = last.stream
    }
  }

  return {
    recognizes: 'always',
    append: (stream, expected, events) => async () => {
      const checked = checkAppend(stream, expected, events)
      if (E.isLeft(checked)) return checked
      return await TE.tryCatch(() => record(stream, expected, events), failureOf)().then(E.flatten)
    },

    async *readStream(stream, { from, direction = 'forwards', limit = Infinity } = {}) {
      const size = pageSize()
      const forwards = direction === 'forwards'
      let next = from ?? (forwards ? 0n : LAST)
      let left = limit
      const page = (asked: number): Promise<EventRow[]> =>
        read<EventRow>(forwards ? READ_FORWARDS : READ_BACKWARDS, [stream, next, asked])
      let asked = Math.min(size.events, left)
      if (asked <= 0) return
      let coming = page(asked)
      while (asked > 0) {
        const rows = await coming
        const last = rows.at(-1)
        const whole = last !== undefined && (rows.length === asked || isCut(rows))
        if (whole) {
          left -= rows.length
          next = BigInt(last.revision) + (forwards ? 1n : -1n)
          size.learnFrom(rows)
          asked = Math.min(size.events, left)
        }
        // Who reads forwards mostly reads on, and the server works meanwhile; who reads backwards looks for something,
        // and stops there.
        const ahead = whole && forwards && asked > 0
        if (ahead) coming = page(asked)
        if (ahead) coming.catch(() => undefined)
        for (const row of rows) yield eventOf(row)
        if (!whole) return
        if (!ahead && asked > 0) coming = page(asked)
      }
    },

    async revisionAtTime(stream, time) {
      const [row] = await db.query<{ low: string }>(REVISION_AT_TIME, [stream, time])
      return row === undefined ? undefined : BigInt(row.low)
    },

    readRevisions: async (stream, revisions) =>
      (await read<EventRow>(READ_REVISIONS, [stream, revisions])).map(eventOf),
    findByIds: async (stream, ids) => (await read<EventRow>(FIND_BY_IDS, [stream, ids])).map(eventOf),

    async eventAt(position) {
      const [row] = await read<EventRow>(EVENT_AT, [position])
      return row === undefined ? undefined : eventOf(row)
    },

    async *readAll({ after = -1n, prefix, limit = Infinity } = {}) {
      let left = limit
      if (left <= 0) return
      for await (const event of between(after, await head(), prefix)) {
        yield event
        if (--left <= 0) return
      }
    },

    readPlaces: (options = {}) => places(options),

    async *streams(prefix) {
      for await (const { stream } of named(STREAMS, prefix)) yield stream
    },

    async *readStreams(prefix) {
      const size = pageSize()
      const page = (stream: string, revision: string, events: number): Promise<EventRow[]> =>
        read<EventRow>(READ_STREAMS, [stream, revision, events])
      let asked = size.events
      let coming = page(prefix, '-1', asked)
      for (;;) {
        const rows = await coming
        const last = rows.length === asked || isCut(rows) ? rows.at(-1) : undefined
        const isMore = last?.stream.startsWith(prefix) === true
        if (isMore) {
          size.learnFrom(rows)
          asked = size.events
          // The server works on the next page while this one is.
          coming = page(last.stream, last.revision, asked)
          coming.catch(() => undefined)
        }
        for (const row of rows) {
          if (!row.stream.startsWith(prefix)) return
          yield eventOf(row)
        }
        if (!isMore) return
      }
    },

    async *miscountedStreams(prefix) {
      // From both sides: a count without its events, and events without their count.
      for (const statement of [COUNTED_STREAMS, UNCOUNTED_STREAMS]) {
        for await (const { stream, counted, last } of named<{ counted: string; last: string }>(statement, prefix)) {
          if (counted !== last) yield { stream, counted: BigInt(counted), last: BigInt(last) }
        }
      }
    },

    subscribe,
    head,

    async streamRevision(stream) {
      const [row] = await read<{ revision: string; position: string }>(STREAM_REVISION, [stream])
      return BigInt(row?.revision ?? -1)
    },
  }
}

const LAST = 2n ** 63n - 1n

interface EventRow {
  readonly position: string
  readonly revision: string
  readonly id: string
  readonly stream: string
  readonly type: string
  readonly data: string
  readonly metadata: string
  /** Of a page: what it weighs up to and with this row. */
  readonly bytes?: string
}

interface PlaceRow {
  readonly id: string
  readonly type: string
  readonly stream: string
  readonly revision: string
  readonly position: string
  readonly recordedAt: string | null
}

/** Whether the page has its bytes, so that there may be more rows than it has. */
const isCut = (rows: readonly EventRow[]): boolean => Number(rows.at(-1)?.bytes ?? 0) >= PAGE_BYTES

function eventOf(row: EventRow): StoredEvent {
  return {
    id: row.id,
    type: row.type,
    data: row.data,
    metadata: row.metadata,
    stream: row.stream,
    revision: BigInt(row.revision),
    position: BigInt(row.position),
  }
}

/**
 * What a page weighs at most, before its last event: many large events do not fill the memory. The first of them is
 * given whatever it weighs.
 */
const PAGE_BYTES = 4_000_000

/**
 * How many events the next page asks for: by what the last page's events weighed, so that the server looks at few that
 * it does not give.
 */
function pageSize(): { events: number; learnFrom(rows: readonly EventRow[]): void } {
  return {
    events: 64,
    learnFrom(rows) {
      if (rows.length === 0) return
      const average = rows.reduce((sum, row) => sum + row.data.length + row.metadata.length, 0) / rows.length
      this.events = Math.max(1, Math.min(Math.floor(PAGE_BYTES / (average + 1)), this.events * 4, 1_000))
    },
  }
}

/** What was not refused for good may have been written or not, as where a connection breaks under a commit. */
function failureOf(failure: unknown): AppendFailure {
  return { kind: refusesData(failure) ? 'AppendRefused' : 'StoreUnavailable', detail: sentenceOf(failure) }
}

const COLUMNS = 'position, revision, id, stream, type, data, metadata'
const HEAD = 'select position from log_head'
const STREAM_REVISION = 'select revision, position from streams cross join log_head where stream = $1'
const STREAMS_A_PAGE = 1_000
// From the events themselves, and by their index alone: one step a stream, however many events it has. The table of
// streams is no proof of them.
const STREAM_NAMES = `
  with recursive names as (
    (select stream, 1 as place from events where stream >= $1 and stream > $2 order by stream limit 1)
    union all
    select next.stream, names.place + 1 from names
    cross join lateral (select stream from events e where e.stream > names.stream order by e.stream limit 1) next
    where names.place < $3 and starts_with(next.stream, $1)
  )`
const STREAMS = `${STREAM_NAMES} select stream from names where starts_with(stream, $1) order by place`
const LAST_THERE = 'coalesce((select max(e.revision) from events e where e.stream = named.stream), -1)'
// A stream that is about to get its first event may be counted up to -1 already.
const COUNTED_STREAMS = `
  select named.stream, named.revision as counted, ${LAST_THERE} as last
  from (select stream, revision from streams where stream >= $1 and stream > $2 and starts_with(stream, $1) order by stream limit $3) named
  order by named.stream`
const UNCOUNTED_STREAMS = `${STREAM_NAMES}
  select named.stream, coalesce(counted.revision, -1) as counted, case when counted.stream is null then ${LAST_THERE} else counted.revision end as last
  from names named left join streams counted on counted.stream = named.stream
  where starts_with(named.stream, $1) order by named.place`
const EVENT_AT = `select ${COLUMNS} from events where position = $1`

/**
 * A page of events, cut where it has its bytes: how long a text is stands beside it, and is known without reading it.
 */
const paged = (condition: string, order: string, limit = ''): string => `
  select ${COLUMNS}, bytes from (
    select page.*, sum(weight) over (order by ${order} rows unbounded preceding) as bytes
    from (select ${COLUMNS}, octet_length(data) + octet_length(metadata) as weight from events where ${condition} order by ${order}${limit}) page
  ) weighed where bytes - weight < ${String(PAGE_BYTES)} order by ${order}`

/** Events between two positions, of all streams or of those with one of so many prefixes. */
function betweenWith(prefixes: number): string {
  // starts_with takes the prefix as it is; in a LIKE its % and _ would stand for anything.
  const wanted = Array.from({ length: prefixes }, (_, at) => `starts_with(stream, $${String(at + 3)})`).join(' or ')
  return `position > $1 and position <= $2${wanted === '' ? '' : ` and (${wanted})`}`
}

const readAllWith = (prefixes: number): string => paged(betweenWith(prefixes), 'position')

const PLACES_A_PAGE = 5_000n
// The time is taken out of the text, as below.
const readPlacesWith = (prefixes: number): string =>
  `select id, type, stream, revision, position, nullif(split_part(split_part(metadata, '"recordedAt":"', 2), '"', 1), '') as "recordedAt" from events where ${betweenWith(prefixes)} order by position`

const READ_FORWARDS = paged('stream = $1 and revision >= $2', 'revision', ' limit $3')
// What stands behind the prefix ends it: a filter would have the server look through all of that.
const READ_STREAMS = paged('(stream, revision) > ($1, $2)', 'stream, revision', ' limit $3')
const READ_BACKWARDS = paged('stream = $1 and revision <= $2', 'revision desc', ' limit $3')
// A binary search in one statement, one look at the index a step; from outside each step would wait for its answer. The
// time is taken out of the text: as json all of it would be unescaped, which NUL in another field makes an error.
// Without a time the steps end and no row is left.
const REVISION_AT_TIME = `
  with recursive search(low, high) as (
    select -1::bigint, coalesce((select revision from streams where stream = $1), -1)
    union all
    select case when middle.by_then is null then null when middle.by_then then middle.revision else low end,
           case when middle.by_then then high else middle.revision - 1 end
    from search cross join lateral (
      select e.revision, nullif(split_part(split_part(e.metadata, '"recordedAt":"', 2), '"', 1), '')::timestamptz <= to_timestamp($2::float8 / 1000) as by_then
      from events e where e.stream = $1 and e.revision = (low + high + 1) / 2 limit 1
    ) middle
    where low < high
  )
  select low from search where low >= high`
// Each one is looked up by itself; see `append_events` for what comes of `= any` otherwise.
const READ_REVISIONS = `
  select there.* from (select distinct unnest($2::bigint[]) as revision) asked
  cross join lateral (select ${COLUMNS} from events e where e.stream = $1 and e.revision = asked.revision limit 1) there
  order by there.revision`
const FIND_BY_IDS = `
  select there.* from (select distinct unnest($2::uuid[]) as id) asked
  cross join lateral (select ${COLUMNS} from events e where e.stream = $1 and e.id = asked.id limit 1) there
  order by there.revision`
