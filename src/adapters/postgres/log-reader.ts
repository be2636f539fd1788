/**
 * Reads of the log on Postgres, in pages.
 *
 * On a server an event becomes visible shortly before it is on the disk (`append_and_wait` in `schema.ts`). A read
 * returns it only after that, so that a reader never sees an event that a crash removes.
 */
import { LAST_REVISION } from '../../domain/values/revision.js'
import {
  prefixesOf,
  type EventHash,
  type EventPosition,
  type StreamHead,
  type EventStore,
  type KeyringReader,
  type MissingPositions,
  type ReadAllOptions,
  type ReadOptions,
  type StoredEvent,
} from '../../ports/event-store.js'
import type { Database } from '../../ports/sql.js'
import { keyringAsText, keyringFrom } from './keyring-store.js'
import { WAIT_FOR_DISK } from './schema.js'

type MiscountedStream =
  ReturnType<NonNullable<EventStore['miscountedStreams']>> extends AsyncIterable<infer Stream> ? Stream : never

/** Knows up to which position the log is on the disk. */
export class DiskWatermark {
  /** The highest position that is known to be on the disk. */
  private position = -1
  private waiting: Promise<void> | undefined

  constructor(private readonly db: Database) {}

  note(position: number): void {
    if (position > this.position) this.position = position
  }

  /** Waits until the event at this position is on the disk. Concurrent callers share a wait. */
  async reach(position: number): Promise<void> {
    if (!this.db.isServer || position <= this.position) return
    // A wait that is under way may have begun before this event was committed.
    await this.waiting
    if (position <= this.position) return
    this.waiting ??= this.wait().finally(() => {
      this.waiting = undefined
    })
    await this.waiting
    this.note(position)
  }

  private async wait(): Promise<void> {
    const [row] = await this.db.query<{ position: string }>(WAIT_FOR_DISK)
    this.note(Number(row?.position ?? -1))
  }
}

/** Reads of the log. Each returns only events that are on the disk. */
export class LogReader {
  constructor(
    private readonly db: Database,
    private readonly disk: DiskWatermark,
  ) {}

  /** Runs a statement that reads the log; returns when all of its rows are on the disk. */
  private async rows<Row extends { readonly position: string }>(
    statement: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const rows = await this.db.query<Row>(statement, values)
    let last = -1
    for (const { position } of rows) if (Number(position) > last) last = Number(position)
    await this.disk.reach(last)
    return rows
  }

  async head(): Promise<number> {
    const [row] = await this.rows(HEAD)
    return Number(row?.position ?? -1)
  }

  async streamRevision(stream: string): Promise<number> {
    const [row] = await this.rows<{ revision: string; position: string }>(STREAM_REVISION, [stream])
    return Number(row?.revision ?? -1)
  }

  async revisionAtTime(stream: string, time: number): Promise<number | undefined> {
    const [row] = await this.db.query<{ low: string }>(REVISION_AT_TIME, [stream, time])
    return row === undefined ? undefined : Number(row.low)
  }

  async revisions(stream: string, revisions: readonly number[]): Promise<StoredEvent[]> {
    return (await this.rows<EventRow>(READ_REVISIONS, [stream, revisions])).map(eventOf)
  }

  async byIds(stream: string, ids: readonly string[]): Promise<StoredEvent[]> {
    return (await this.rows<EventRow>(FIND_BY_IDS, [stream, ids])).map(eventOf)
  }

  async eventAt(position: number): Promise<StoredEvent | undefined> {
    const [row] = await this.rows<EventRow>(EVENT_AT, [position])
    return row === undefined ? undefined : eventOf(row)
  }

  /** Yields the events of all streams up to the head. */
  async *all({ after = -1, prefix, limit = Infinity }: ReadAllOptions): AsyncGenerator<StoredEvent> {
    let remaining = limit
    if (remaining <= 0) return
    for await (const event of this.between(after, await this.head(), prefix)) {
      yield event
      if (--remaining <= 0) return
    }
  }

  /** Yields the events after `after` up to and including `upTo`, which the log has already reached. */
  async *between(after: number, upTo: number, prefix: ReadAllOptions['prefix']): AsyncGenerator<StoredEvent> {
    const size = pageSize()
    const prefixes = prefix === undefined ? [] : prefixesOf(prefix)
    const statement = readAllWith(prefixes.length)
    let from = after
    while (from < upTo) {
      // Positions have no gaps, so a page is a range of positions: even if the prefix matches nothing, a statement
      // examines only one page of the log.
      const last = from + (prefix === undefined ? size.events : Math.max(size.events, 1_000))
      const rows = await this.rows<EventRow>(statement, [from, last < upTo ? last : upTo, ...prefixes])
      for (const row of rows) yield eventOf(row)
      size.learnFrom(rows)
      const cutAt = isCut(rows) ? rows.at(-1)?.position : undefined
      from = cutAt === undefined ? last : Number(cutAt)
    }
  }

  /** Yields events without their data, in pages. */
  async *places({ after = -1, prefix, limit = Infinity }: ReadAllOptions): AsyncGenerator<EventPosition> {
    let remaining = limit
    const upTo = remaining > 0 ? await this.head() : -1
    const prefixes = prefix === undefined ? [] : prefixesOf(prefix)
    const statement = readPlacesWith(prefixes.length)
    for (let from = after; from < upTo; from += PLACES_A_PAGE) {
      const last = from + PLACES_A_PAGE
      for (const { revision, position, recordedAt, ...event } of await this.rows<PlaceRow>(statement, [
        from,
        last < upTo ? last : upTo,
        ...prefixes,
      ])) {
        yield {
          ...event,
          revision: Number(revision),
          position: Number(position),
          ...(recordedAt === null ? {} : { recordedAt }),
        }
        if (--remaining <= 0) return
      }
    }
  }

  /** Yields the recorded hashes of events, in pages that are one row each. */
  async *hashes({ after = -1, prefix }: Pick<ReadAllOptions, 'after' | 'prefix'>): AsyncGenerator<EventHash> {
    const upTo = await this.head()
    const prefixes = prefix === undefined ? [] : prefixesOf(prefix)
    const statement = readHashesWith(prefixes.length)
    for (let from = after; from < upTo; from += PLACES_A_PAGE) {
      const last = Math.min(from + PLACES_A_PAGE, upTo)
      const [page] = await this.db.query<HashesRow>(statement, [from, last, ...prefixes])
      await this.disk.reach(last)
      const hashes = (page?.hashes ?? '').split(NO_HASH_HAS_IT)
      for (const [at, position] of (page?.positions?.split(',') ?? []).entries()) {
        const hash = hashes[at]
        yield { position: Number(position), ...(hash === undefined || hash === '' ? {} : { hash }) }
      }
    }
  }

  /** Yields the events of one stream. */
  async *stream(
    stream: string,
    { from, direction = 'forwards', limit = Infinity, keyring }: ReadOptions,
  ): AsyncGenerator<StoredEvent> {
    const size = pageSize()
    const forwards = direction === 'forwards'
    let next = from ?? (forwards ? 0 : LAST_REVISION)
    let remaining = limit
    const readPage = (events: number): Promise<EventRow[]> =>
      this.rows<EventRow>(forwards ? READ_FORWARDS : READ_BACKWARDS, [stream, next, events])
    let count = Math.min(size.events, remaining)
    if (count <= 0) return
    // Only a backwards read begins with a checkpoint event, whose texts need keys.
    let page = keyring === undefined || forwards ? readPage(count) : this.lastPage(stream, next, count, keyring)
    while (count > 0) {
      const rows = await page
      const last = rows.at(-1)
      const hasMore = last !== undefined && (rows.length === count || isCut(rows))
      if (hasMore) {
        remaining -= rows.length
        next = Number(last.revision) + (forwards ? 1 : -1)
        size.learnFrom(rows)
        count = Math.min(size.events, remaining)
      }
      // A forwards read usually continues, so the server reads the next page in the meantime. A backwards read usually
      // stops when it has found its event.
      const prefetch = hasMore && forwards && count > 0
      if (prefetch) page = readPage(count)
      if (prefetch) page.catch(() => undefined)
      for (const row of rows) yield eventOf(row)
      if (!hasMore) return
      if (!prefetch && count > 0) page = readPage(count)
    }
  }

  /** The first page of a backwards read, and the keys of the conversation. */
  private async lastPage(
    stream: string,
    from: number,
    events: number,
    { conversationId, take }: KeyringReader,
  ): Promise<EventRow[]> {
    const rows = await this.rows<EventRow>(READ_BACKWARDS_WITH_KEYRING, [stream, from, events, conversationId])
    const text = rows[0]?.keyring
    if (typeof text === 'string') take(keyringFrom(conversationId, text))
    return rows
  }

  /** Yields all events of the streams with a prefix, stream by stream. */
  async *eventsOfStreams(prefix: string): AsyncGenerator<StoredEvent> {
    const size = pageSize()
    const readPage = (stream: string, revision: string, events: number): Promise<EventRow[]> =>
      this.rows<EventRow>(READ_STREAMS, [stream, revision, events])
    let count = size.events
    let page = readPage(prefix, '-1', count)
    for (;;) {
      const rows = await page
      const last = rows.length === count || isCut(rows) ? rows.at(-1) : undefined
      const hasMore = last?.stream.startsWith(prefix) === true
      if (hasMore) {
        size.learnFrom(rows)
        count = size.events
        // The server reads the next page while the consumer handles this one.
        page = readPage(last.stream, last.revision, count)
        page.catch(() => undefined)
      }
      for (const row of rows) {
        if (!row.stream.startsWith(prefix)) return
        yield eventOf(row)
      }
      if (!hasMore) return
    }
  }

  /** Yields the names of the streams with a prefix. */
  async *streamNames(prefix: string): AsyncGenerator<string> {
    for await (const { stream } of this.streamRows(STREAMS, prefix)) yield stream
  }

  /** Yields the streams with a prefix, each with the revision of its last event. */
  async *streamHeads(prefix: string): AsyncGenerator<StreamHead> {
    for await (const { stream, revision } of this.streamRows<{ revision: string }>(STREAM_HEADS, prefix))
      yield { stream, revision: Number(revision) }
  }

  async missingPositions(): Promise<MissingPositions | undefined> {
    const [row] = await this.db.query<{ missing: string }>(COUNT_MISSING)
    const count = Number(row?.missing ?? 0)
    if (count <= 0) return undefined
    const [place] = await this.db.query<{ first: string }>(FIRST_MISSING)
    return { count, first: Number(place?.first ?? 0) }
  }

  /** Yields the streams whose recorded revision differs from their events. */
  async *miscountedStreams(prefix: string): AsyncGenerator<MiscountedStream> {
    // Both ways: a recorded revision without events, and events without a recorded revision.
    for (const statement of [COUNTED_STREAMS, UNCOUNTED_STREAMS]) {
      for await (const { stream, counted, last } of this.streamRows<{ counted: string; last: string }>(
        statement,
        prefix,
      )) {
        if (counted !== last) yield { stream, counted: Number(counted), last: Number(last) }
      }
    }
  }

  /** Yields one row for each stream with the prefix, in pages. */
  private async *streamRows<Columns>(
    statement: string,
    prefix: string,
  ): AsyncGenerator<Columns & { readonly stream: string }> {
    let after = ''
    for (;;) {
      const rows = await this.db.query<Columns & { readonly stream: string }>(statement, [
        prefix,
        after,
        STREAMS_A_PAGE,
      ])
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < STREAMS_A_PAGE) return
      after = last.stream
    }
  }
}

interface EventRow {
  readonly position: string
  readonly revision: string
  readonly id: string
  readonly stream: string
  readonly type: string
  readonly data: string
  readonly metadata: string
  /** Bytes of the page up to and including this row. */
  readonly bytes?: string
  /** In the first row of a page that was read with keys. */
  readonly keyring?: string | null
}

interface PlaceRow {
  readonly id: string
  readonly type: string
  readonly stream: string
  readonly revision: string
  readonly position: string
  readonly recordedAt: string | null
}

/** The events of a page, as two lists in one order; null if there are none. */
interface HashesRow {
  readonly positions: string | null
  readonly hashes: string | null
}

/** Whether the page ended because of its size in bytes, so that more rows may follow. */
const isCut = (rows: readonly EventRow[]): boolean => Number(rows.at(-1)?.bytes ?? 0) >= PAGE_BYTES

function eventOf(row: EventRow): StoredEvent {
  return {
    id: row.id,
    type: row.type,
    data: row.data,
    metadata: row.metadata,
    stream: row.stream,
    revision: Number(row.revision),
    position: Number(row.position),
  }
}

/** A page ends with the event that reaches this size, so that large events do not fill the memory. */
const PAGE_BYTES = 4_000_000

/**
 * The number of events in the next page, from the average size in the last one, so that the server reads few events
 * that do not fit into the page.
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

const COLUMNS = 'position, revision, id, stream, type, data, metadata'
const HEAD = 'select position from log_head'
// One statement, so that an append between the count and the head does not matter.
const COUNT_MISSING =
  'select position + 1 - (select count(*) from events e where e.position <= log_head.position) as missing from log_head'
const FIRST_MISSING = `
  select place + 1 as first from (select -1::bigint as place union all select position from events) there
  where not exists (select from events e where e.position = place + 1) order by place limit 1`
const STREAM_REVISION = 'select revision, position from streams cross join log_head where stream = $1'
const STREAMS_A_PAGE = 1_000
// From the events themselves, with an index-only step for each stream, however many events it has. The table of streams
// does not prove that events exist.
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
const STREAM_HEADS = `${STREAM_NAMES}
  select named.stream, ${LAST_THERE} as revision from names named where starts_with(named.stream, $1) order by named.place`
// A stream that is about to get its first event may already have the revision -1.
const COUNTED_STREAMS = `
  select named.stream, named.revision as counted, ${LAST_THERE} as last
  from (select stream, revision from streams where stream >= $1 and stream > $2 and starts_with(stream, $1) order by stream limit $3) named
  order by named.stream`
const UNCOUNTED_STREAMS = `${STREAM_NAMES}
  select named.stream, coalesce(counted.revision, -1) as counted, case when counted.stream is null then ${LAST_THERE} else counted.revision end as last
  from names named left join streams counted on counted.stream = named.stream
  where starts_with(named.stream, $1) order by named.place`
const EVENT_AT = `select ${COLUMNS} from events where position = $1`

/** A page of events that ends at `PAGE_BYTES`. Postgres stores the length of a text, so no text is read to measure it. */
const paged = (condition: string, order: string, limit = '', more = ''): string => `
  select ${COLUMNS}, bytes${more} from (
    select page.*, sum(weight) over (order by ${order} rows unbounded preceding) as bytes
    from (select ${COLUMNS}, octet_length(data) + octet_length(metadata) as weight from events where ${condition} order by ${order}${limit}) page
  ) weighed where bytes - weight < ${String(PAGE_BYTES)} order by ${order}`

/** Events between two positions: of all streams, or of streams with one of several prefixes. */
function betweenWith(prefixes: number): string {
  // starts_with takes the prefix literally; in a LIKE its % and _ would be wildcards.
  const streams = Array.from({ length: prefixes }, (_, at) => `starts_with(stream, $${String(at + 3)})`).join(' or ')
  return `position > $1 and position <= $2${streams === '' ? '' : ` and (${streams})`}`
}

const readAllWith = (prefixes: number): string => paged(betweenWith(prefixes), 'position')

const PLACES_A_PAGE = 5_000
// The time is cut out of the text, see `REVISION_AT_TIME`.
const readPlacesWith = (prefixes: number): string =>
  `select id, type, stream, revision, position, nullif(split_part(split_part(metadata, '"recordedAt":"', 2), '"', 1), '') as "recordedAt" from events where ${betweenWith(prefixes)} order by position`
/** Ends a hash in the text of the metadata, so that no hash contains it. */
const NO_HASH_HAS_IT = '"'
// A quote in a string is escaped, so that `,"hash":"` is in no string. One row for each event would take three times as
// long.
const readHashesWith = (prefixes: number): string =>
  `select string_agg(position::text, ',' order by position) as positions, string_agg(split_part(split_part(metadata, ',"hash":"', 2), '"', 1), '${NO_HASH_HAS_IT}' order by position) as hashes from events where ${betweenWith(prefixes)}`

const READ_FORWARDS = paged('stream = $1 and revision >= $2', 'revision', ' limit $3')
// The client stops after the last stream with the prefix: a filter would make the server read all events after it.
const READ_STREAMS = paged('(stream, revision) > ($1, $2)', 'stream, revision', ' limit $3')
const BACKWARDS = ['stream = $1 and revision <= $2', 'revision desc', ' limit $3'] as const
const READ_BACKWARDS = paged(...BACKWARDS)
const READ_BACKWARDS_WITH_KEYRING = paged(
  ...BACKWARDS,
  `, case when bytes = weight then ${keyringAsText(4)} end as keyring`,
)
/** The first second that Postgres has, since 1970: the beginning of Julian day 0. `Date` has earlier ones. */
const FIRST_SECOND = -210_866_803_200
// A binary search in one statement, with one index lookup in each step; separate statements would each need a round trip.
// The time is cut out of the text, because parsing it as json unescapes every field, and an escaped NUL in one is an
// error. An event without a time ends the search without a row.
const REVISION_AT_TIME = `
  with recursive search(low, high) as (
    select -1::bigint, coalesce((select revision from streams where stream = $1), -1)
    union all
    select case when middle.by_then is null then null when middle.by_then then middle.revision else low end,
           case when middle.by_then then high else middle.revision - 1 end
    from search cross join lateral (
      select e.revision, nullif(split_part(split_part(e.metadata, '"recordedAt":"', 2), '"', 1), '')::timestamptz <= to_timestamp(greatest($2::float8 / 1000, ${String(FIRST_SECOND)})) as by_then
      from events e where e.stream = $1 and e.revision = (low + high + 1) / 2 limit 1
    ) middle
    where low < high
  )
  select low from search where low >= high`
// Each event is looked up separately; `append_events` explains why `= any` is slow.
const READ_REVISIONS = `
  select found.* from (select distinct unnest($2::bigint[]) as revision) requested
  cross join lateral (select ${COLUMNS} from events e where e.stream = $1 and e.revision = requested.revision limit 1) found
  order by found.revision`
const FIND_BY_IDS = `
  select found.* from (select distinct unnest($2::uuid[]) as id) requested
  cross join lateral (select ${COLUMNS} from events e where e.stream = $1 and e.id = requested.id limit 1) found
  order by found.revision`
