/** Which records a read or a subscription is to see, in which order, and which of its questions a server refuses. */
import type { ReadableLog, Recorded } from './log.js'

/**
 * A place in the whole log. Of an event both are the same; `prepare: 0` is right before the event that begins there.
 */
interface Place {
  readonly commit: number
  readonly prepare: number
}

/** `prepare` goes with a place in the whole log; a revision has none. */
export type StartPoint =
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'at'; readonly value: number; readonly prepare?: number }

export interface ReadQuery {
  /** Without a stream it is a question about everything. */
  readonly stream: string | undefined
  readonly start: StartPoint
  readonly backwards: boolean
  readonly maxCount: number
}

export type ReadAnswer =
  | { readonly kind: 'records'; readonly records: Iterable<Recorded> }
  | { readonly kind: 'missing'; readonly stream: string }
  | { readonly kind: 'deleted'; readonly stream: string }
  | { readonly kind: 'invalid'; readonly reason: string }

export interface SubscriptionQuery {
  readonly stream: string | undefined
  readonly start: StartPoint
  readonly filter: SubscriptionFilter | undefined
}

export interface SubscriptionFilter {
  matches(record: Recorded): boolean
  /** The number of examined records, matching or not, after which a checkpoint is sent. */
  readonly checkpointEvery: number
}

export type SubscriptionItem =
  | { readonly kind: 'confirmation' | 'caughtUp' | 'fellBehind' }
  | { readonly kind: 'record'; readonly record: Recorded }
  | { readonly kind: 'checkpoint'; readonly position: Place }

/** What the server writes for a place that it does not have: an internal -1, without a sign. */
const NOWHERE = 2 ** 63
/** With more than this waiting, a live subscriber counts as too slow and is sent back to catching up. */
const LIVE_BUFFER = 32

/** The index of the first record at or after a position. */
function placeOf(position: number, records: readonly Recorded[]): number {
  let low = 0
  let high = records.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const record = records[middle]
    if (record !== undefined && record.position < position) low = middle + 1
    else high = middle
  }
  return low
}

/** Positions are offsets into a file: a read cannot begin inside a record. A position beyond the end is not checked. */
const isInsideOfRecord = (position: number, log: ReadableLog): boolean =>
  position < log.end && log.all[placeOf(position, log.all)]?.position !== position

function* forwards(records: readonly Recorded[], from: number, maxCount: number): Iterable<Recorded> {
  let left = maxCount
  for (let at = from; left > 0; at++, left--) {
    const record = records[at]
    if (record === undefined) return
    yield record
  }
}

function* backwards(records: readonly Recorded[], from: number, downTo: number, maxCount: number): Iterable<Recorded> {
  let left = maxCount
  for (let at = Math.min(from, records.length - 1); at >= downTo && left > 0; at--, left--) {
    const record = records[at]
    if (record !== undefined) yield record
  }
}

const placeAt = (start: StartPoint, count: number, place: (value: number) => number): number => {
  if (start.kind === 'start') return 0
  return start.kind === 'end' ? count : place(start.value)
}

function readStream(name: string, query: ReadQuery, log: ReadableLog): ReadAnswer {
  const view = log.stream(name)
  if (view.kind !== 'found') return { kind: view.kind, stream: name }
  const { records, from } = view
  const start = placeAt(query.start, records.length, (revision) =>
    revision > records.length ? records.length : revision,
  )
  return {
    kind: 'records',
    records: query.backwards
      ? backwards(records, start, from, query.maxCount)
      : forwards(records, Math.max(start, from), query.maxCount),
  }
}

function readAll(query: ReadQuery, log: ReadableLog): ReadAnswer {
  if (query.start.kind === 'at' && isInsideOfRecord(query.start.value, log))
    return { kind: 'invalid', reason: 'Unexpected ReadAllResult: InvalidPosition' }
  const start = placeAt(query.start, log.all.length, (position) => placeOf(position, log.all))
  // Forwards a read begins with the record at its position, backwards with the one before it.
  return {
    kind: 'records',
    records: query.backwards
      ? backwards(log.all, start - 1, 0, query.maxCount)
      : forwards(log.all, start, query.maxCount),
  }
}

/** Answers a read, or says what is wrong with it. */
export function read(query: ReadQuery, log: ReadableLog): ReadAnswer {
  if (query.maxCount <= 0) return { kind: 'invalid', reason: 'A read of no events' }
  if (query.start.kind === 'end' && !query.backwards) return { kind: 'invalid', reason: 'A read forwards from the end' }
  return query.stream === undefined ? readAll(query, log) : readStream(query.stream, query, log)
}

/** What keeps a subscription from its beginning, in one sentence. */
export function subscriptionProblem(
  { stream, start }: SubscriptionQuery,
  log: ReadableLog,
): 'deleted' | 'invalid-position' | undefined {
  if (stream !== undefined) return log.stream(stream).kind === 'deleted' ? 'deleted' : undefined
  return start.kind === 'at' && isInsideOfRecord(start.value, log) ? 'invalid-position' : undefined
}

function sourceOf(
  stream: string | undefined,
  log: ReadableLog,
): { readonly records: readonly Recorded[]; readonly from: number } {
  if (stream === undefined) return { records: log.all, from: 0 }
  const view = log.stream(stream)
  return view.kind === 'found' ? view : { records: [], from: 0 }
}

/**
 * The items that a subscriber is sent while the call is open. `woken` resolves when there may be more, or when the
 * client disconnects; `isOpen` distinguishes the two.
 *
 * A catch-up ends with a checkpoint at the last position that was sent (event or checkpoint), or else at its start; the
 * server has read further, but does not report that. An earlier checkpoint is at the last event that matched since the
 * previous checkpoint. If none matched, it is right before the next event that the server examines. The checkpoints of
 * a live subscription are events.
 */
export async function* subscribe(
  query: SubscriptionQuery,
  log: ReadableLog,
  isOpen: () => boolean,
  woken: () => Promise<void>,
): AsyncGenerator<SubscriptionItem> {
  const { stream, start, filter } = query
  yield { kind: 'confirmation' }
  const { records } = sourceOf(stream, log)
  const ofAll = start.kind === 'at' && stream === undefined
  // The start is exclusive, and one beyond the end waits until the log has come so far.
  const after = ofAll
    ? start.prepare !== undefined && start.prepare < start.value
      ? start.value - 1
      : start.value
    : -1
  let next = placeAt(start, records.length, (value) => (stream === undefined ? placeOf(after + 1, records) : value + 1))
  let sent: Place | undefined =
    start.kind === 'start'
      ? { commit: NOWHERE, prepare: NOWHERE }
      : ofAll && after < log.end
        ? { commit: start.value, prepare: start.prepare ?? start.value }
        : undefined
  let sinceCheckpoint = 0
  let matched: Place | undefined
  let live = false
  while (isOpen()) {
    const source = sourceOf(stream, log)
    next = Math.max(next, source.from)
    const record = source.records[next]
    if (record === undefined) {
      if (!live) {
        if (filter !== undefined && sent !== undefined) yield { kind: 'checkpoint', position: sent }
        yield { kind: 'caughtUp' }
        live = true
      }
      if (sourceOf(stream, log).records[next] === undefined && isOpen()) await woken()
      continue
    }
    if (live && source.records.length - next > LIVE_BUFFER) {
      live = false
      yield { kind: 'fellBehind' }
    }
    next += 1
    if (record.position <= after) continue
    if (filter === undefined || filter.matches(record)) {
      matched = { commit: record.position, prepare: record.position }
      sent = matched
      yield { kind: 'record', record }
    }
    sinceCheckpoint += 1
    const following = source.records[next]
    if (filter !== undefined && sinceCheckpoint >= filter.checkpointEvery && (live || following !== undefined)) {
      sinceCheckpoint = 0
      sent =
        live || following === undefined
          ? { commit: record.position, prepare: record.position }
          : (matched ?? { commit: following.position, prepare: 0 })
      matched = undefined
      yield { kind: 'checkpoint', position: sent }
    }
  }
}
