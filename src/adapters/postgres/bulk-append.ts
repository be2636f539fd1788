/**
 * Appends events of many streams in one transaction, in the order of a copied log. `append_events` would need a round
 * trip for each stream. The locking is the same: first the streams' rows in the order of their names, last the log's
 * counter until the commit. So positions have no gaps and become visible in order.
 */
import { either as E } from 'fp-ts'
import type { StoredEvent } from '../../domain/events/stored-event.js'
import { logCopyError, isLogCopyError, type BulkTarget, type CopiedEvent } from '../../ports/log-copy.js'
import type { Sql } from '../../ports/sql.js'
import { checkAppend } from '../append-checks.js'
import { codeOf, sentenceOf, storeError } from '../../ports/store-error.js'
import { refusesData } from './append-queue.js'
import { LOG_CHANNEL } from './schema.js'

interface Span {
  readonly first: StoredEvent
  last: number
}

/** The log in the tables that `migrateLog` creates, as the target of a copy. `name` is for messages. */
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

/** The first event and the last revision of each stream among these events. */
function spansOf(entries: readonly CopiedEvent[], name: string): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>()
  for (const { event } of entries) {
    const checked = checkAppend(event.stream, 'any', [event])
    if (E.isLeft(checked))
      throw logCopyError(
        'TargetRefuses',
        `${name} refuses ${placeOf(event)}: ${'detail' in checked.left ? checked.left.detail : checked.left.kind}`,
      )
    const span = spans.get(event.stream)
    if (span === undefined) spans.set(event.stream, { first: event, last: event.revision })
    else if (event.revision === span.last + 1) span.last = event.revision
    else
      throw logCopyError(
        'TargetRefuses',
        `${placeOf(event)} cannot be written to ${name}: it does not follow revision ${span.last.toString()}`,
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
  const newStreams = streams.filter((stream) => spans.get(stream)?.first.revision === 0)
  if (newStreams.length > 0) await sql.query(NEW_STREAMS, [newStreams])
  const rows = await sql.query<{ stream: string; revision: string }>(LOCK_STREAMS, [streams])
  const found = new Map(rows.map(({ stream, revision }) => [stream, Number(revision)]))
  for (const [stream, { first }] of spans) {
    const actual = found.get(stream) ?? -1
    if (actual !== first.revision - 1) {
      throw logCopyError(
        'TargetChanged',
        `${placeOf(first)} cannot be written to ${name}: the stream ends there at revision ${actual.toString()}. Either another process writes to it, or the source has a gap before this event`,
      )
    }
  }
  await sql.query(MOVE_STREAMS, [streams, streams.map((stream) => spans.get(stream)?.last ?? -1)])
  const [head] = await sql.query<{ position: string }>(TAKE_POSITIONS, [entries.length])
  if (head === undefined) throw storeError('StoreUnavailable', 'the log has no counter')
  await sql.query(INSERT_EVENTS, [
    Number(head.position) - entries.length,
    `[${entries.map(({ text }) => text).join(',')}]`,
  ])
  await sql.query(WAKE)
}

const placeOf = (event: StoredEvent): string => `${event.stream} revision ${event.revision.toString()}`

function failureOf(error: unknown, name: string): unknown {
  if (isLogCopyError(error)) return error
  // 53100: the server's disk is full.
  if (codeOf(error) === '53100')
    return logCopyError(
      'DiskFull',
      `the disk of ${name} is full: ${sentenceOf(error)}; run the same copy again to continue`,
      error,
    )
  if (refusesData(error))
    return logCopyError('TargetRefuses', `${name} refuses these events: ${sentenceOf(error)}`, error)
  return logCopyError(
    'TargetUnavailable',
    `${name} does not answer: ${sentenceOf(error)}; run the same copy again to continue`,
    error,
  )
}

const NEW_STREAMS =
  'insert into streams select s, -1 from unnest($1::text[]) s order by s collate "C" on conflict (stream) do nothing'
const LOCK_STREAMS = 'select stream, revision from streams where stream = any ($1::text[]) order by stream for update'
const MOVE_STREAMS =
  'update streams s set revision = moved.revision from unnest($1::text[], $2::bigint[]) moved (stream, revision) where s.stream = moved.stream'
const TAKE_POSITIONS = 'update log_head set position = position + $1 returning position'
// One JSON text instead of an array for each column: each event's JSON already exists, and arrays take the client a
// third more time.
const INSERT_EVENTS = `
  insert into events (position, revision, id, stream, type, data, metadata)
  select $1::bigint + e.ord, e.revision, e.id, e.stream, e.type, e.data, e.metadata
  from rows from (json_to_recordset($2::json) as (stream text, revision bigint, id uuid, type text, data text, metadata text))
    with ordinality e (stream, revision, id, type, data, metadata, ord)`
const WAKE = `select pg_notify('${LOG_CHANNEL}', '')`
