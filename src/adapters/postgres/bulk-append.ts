/**
 * Events of many streams in one transaction, in the order of a log that is copied: for what `append_events` would do
 * stream by stream with a round trip each. It keeps the same rules: the streams' rows are locked first and in the order
 * of their names, the log's counter last and until the commit, so positions have no gaps and become visible in their
 * order.
 */
import { either as E } from 'fp-ts'
import type { StoredEvent } from '../../domain/events/stored-event.js'
import { LogCopyError, type BulkTarget, type CopiedEvent } from '../../ports/log-copy.js'
import type { Sql } from '../../ports/sql.js'
import { checkAppend } from '../append-checks.js'
import { codeOf, sentenceOf, StoreError } from '../../ports/store-error.js'
import { refusesData } from './append-queue.js'
import { LOG_CHANNEL } from './schema.js'

interface Span {
  readonly first: StoredEvent
  last: bigint
}

/** The log in the tables that `migrateLog` creates, for who fills it. `name` is for messages. */
export function createPostgresBulkTarget(db: Sql, name: string): BulkTarget {
  return {
    async appendInOrder(entries) {
      if (entries.length === 0) return
      const spans = spansOf(entries, name)
      try {
        await db.transaction((sql) => append(sql, entries, spans, name))
      } catch (error) {
        throw failureOf(error, name)
      }
    },
  }
}

/** Where each stream begins and ends among these events. */
function spansOf(entries: readonly CopiedEvent[], name: string): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>()
  for (const { event } of entries) {
    const checked = checkAppend(event.stream, 'any', [event])
    if (E.isLeft(checked))
      throw new LogCopyError(
        'TargetRefuses',
        `${name} refuses ${placeOf(event)}: ${'detail' in checked.left ? checked.left.detail : checked.left.kind}`,
      )
    const span = spans.get(event.stream)
    if (span === undefined) spans.set(event.stream, { first: event, last: event.revision })
    else if (event.revision === span.last + 1n) span.last = event.revision
    else
      throw new LogCopyError(
        'TargetRefuses',
        `${placeOf(event)} cannot be written to ${name}: it does not stand behind revision ${span.last.toString()}`,
      )
  }
  return spans
}

async function append(
  sql: Sql,
  entries: readonly CopiedEvent[],
  spans: ReadonlyMap<string, Span>,
  name: string,
): Promise<void> {
  const streams = [...spans.keys()]
  const fresh = streams.filter((stream) => spans.get(stream)?.first.revision === 0n)
  if (fresh.length > 0) await sql.query(NEW_STREAMS, [fresh])
  const rows = await sql.query<{ stream: string; revision: string }>(LOCK_STREAMS, [streams])
  const found = new Map(rows.map(({ stream, revision }) => [stream, BigInt(revision)]))
  for (const [stream, { first }] of spans) {
    const actual = found.get(stream) ?? -1n
    if (actual !== first.revision - 1n) {
      throw new LogCopyError(
        'TargetChanged',
        `${placeOf(first)} cannot be written to ${name}: the stream ends there at revision ${actual.toString()}. Either somebody else writes to it, or the source has a gap before it`,
      )
    }
  }
  await sql.query(MOVE_STREAMS, [streams, streams.map((stream) => spans.get(stream)?.last ?? -1n)])
  const [head] = await sql.query<{ position: string }>(TAKE_POSITIONS, [entries.length])
  if (head === undefined) throw new StoreError('StoreUnavailable', 'the log has no counter')
  await sql.query(INSERT_EVENTS, [
    BigInt(head.position) - BigInt(entries.length),
    `[${entries.map(({ text }) => text).join(',')}]`,
  ])
  await sql.query(WAKE)
}

const placeOf = (event: StoredEvent): string => `${event.stream} revision ${event.revision.toString()}`

function failureOf(error: unknown, name: string): unknown {
  if (error instanceof LogCopyError) return error
  // 53100: the server's disk is full.
  if (codeOf(error) === '53100')
    return new LogCopyError(
      'DiskFull',
      `the disk of ${name} is full: ${sentenceOf(error)}; the same copy again goes on from where it was`,
      error,
    )
  if (refusesData(error))
    return new LogCopyError('TargetRefuses', `${name} refuses these events: ${sentenceOf(error)}`, error)
  return new LogCopyError(
    'TargetUnavailable',
    `${name} does not answer: ${sentenceOf(error)}; the same copy again goes on from where it was`,
    error,
  )
}

const NEW_STREAMS =
  'insert into streams select s, -1 from unnest($1::text[]) s order by s collate "C" on conflict (stream) do nothing'
const LOCK_STREAMS = 'select stream, revision from streams where stream = any ($1::text[]) order by stream for update'
const MOVE_STREAMS =
  'update streams s set revision = moved.revision from unnest($1::text[], $2::bigint[]) moved (stream, revision) where s.stream = moved.stream'
const TAKE_POSITIONS = 'update log_head set position = position + $1 returning position'
// One JSON and not an array a column: the texts are there already, and arrays take the client a third more time to
// write.
const INSERT_EVENTS = `
  insert into events (position, revision, id, stream, type, data, metadata)
  select $1::bigint + e.ord, e.revision, e.id, e.stream, e.type, e.data, e.metadata
  from rows from (json_to_recordset($2::json) as (stream text, revision bigint, id uuid, type text, data text, metadata text))
    with ordinality e (stream, revision, id, type, data, metadata, ord)`
const WAKE = `select pg_notify('${LOG_CHANNEL}', '')`
