/**
 * The loop that the runner and a rebuild share: it reads a batch of events, turns it into rows, and commits rows and
 * checkpoints in one transaction.
 *
 * A batch is decoded once for all projections. If there are several partitions, each commits its own transaction on its
 * own connection, at the same time as the others: one processor decodes while others store. A transaction contains all
 * projections that apply the batch, so an adopted edition appears in all of them at the same time.
 *
 * An event that cannot be read, handled or stored stops its conversation (editions included) right before that event.
 * The stop is recorded, and later events of that conversation are skipped until its rows are rebuilt. All other
 * conversations continue, and the checkpoint moves.
 */
import { codeOf } from '../../src/ports/store-error.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'
import { dataLengthOf } from '../../src/domain/events/codec.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { conversationStream, EDITION_PREFIX } from '../../src/domain/values/ids.js'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import {
  advance,
  countStopped,
  leastPosition,
  removeStopped,
  recordStopped,
  type ConversationStop,
  type EventMark,
  type Generation,
  type ExpectedCheckpoint,
  type Stop,
} from './checkpoints.js'
import { createChangeCollector, type NetChanges } from './fold.js'
import { partitionOfStream } from './partitions.js'
import { changesOf, type Projection } from './projection.js'
import { statementLimits, writeNetChanges } from './store.js'
import { PROJECTED_PREFIXES, stoppedAt } from './streams.js'

/** The log that projections read, and the database that they write to. */
export interface ProjectionSource {
  readonly db: Database
  readonly store: EventStore
  /** Decodes a stored event; throws if it cannot be read. */
  readonly decode: (stored: StoredEvent) => Promise<RecordedEvent>
  readonly projections: readonly Projection[]
  /** Fence of this process's claim. Once the checkpoints have a larger one, this process cannot write. */
  readonly fence?: bigint
}

/** A partition of a generation to which events are applied. Mutable: applying a batch moves its position. */
export interface Target {
  readonly projection: Projection
  readonly generation: number
  readonly partition: number
  readonly partitions: number
  position: bigint
  /** Why the whole partition stopped. */
  stop?: Stop | undefined
  /** The stopped conversations of the generation, by id. */
  readonly stopped: Map<string, ConversationStop>
  /** How many conversations the database refused. A step that was prepared before the last refusal is prepared again. */
  refusals: number
}

/** One target for each partition of a generation. */
export function targetsOf(projection: Projection, { generation, checkpoints, stopped }: Generation): Target[] {
  const known = new Map(stopped.map((stop) => [stop.conversationId, stop]))
  return checkpoints.map(({ partition, position, stop }) => ({
    projection,
    generation,
    partition,
    partitions: checkpoints.length,
    position,
    stop,
    stopped: new Map(known),
    refusals: 0,
  }))
}

const checkpointOf = ({ projection, generation, partition, partitions, position }: Target): ExpectedCheckpoint => ({
  name: projection.name,
  generation,
  partition,
  partitions,
  position,
})

interface Batch {
  readonly events: number
  /** All projected events up to this position are in this batch or an earlier one. */
  readonly upTo: bigint
  /** True if no further event is to be read. */
  readonly ended: boolean
}

// A batch and its rows are in memory. This limit keeps a log of large messages from multiplying the usual size.
const BATCH_CHARACTERS = 16 * 1024 * 1024

// The database is idle until the first batch is ready, so that one is small. Each following batch is twice as large,
// because a large batch needs fewer writes.
const FIRST_BATCH = 1_000

// Reading, decoding and handling this number of events takes about 3 ms. The concurrent transaction needs its turns of
// the event loop too: with 64 events a server was idle between two statements for longer than it worked.
const TURN_EVENTS = 16

function stopAt(
  event: Pick<StoredEvent, 'stream' | 'revision' | 'type' | 'position'>,
  error: unknown,
): ConversationStop {
  const { stream, revision, type, position } = event
  return {
    reason: `cannot apply ${type} at revision ${String(revision)} of ${stream}: ${thrownSentence(error)}`,
    stream,
    revision,
    type,
    conversationId: stoppedAt(stream),
    position,
  }
}

/** Receives the events of a batch, in order. */
interface BatchReceiver {
  event(event: RecordedEvent): void
  /** An event that could not be read. */
  unreadable(stored: StoredEvent, error: unknown): void
}

interface Reader {
  /** Reads up to `limit` events and passes each to `receiver` as soon as it is decoded. */
  next(limit: number, receiver: BatchReceiver): Promise<Batch>
  close(): Promise<void>
}

/**
 * Reads the log after `after` in batches. All batches come from one iteration, since a store pages better than with a
 * new query for each batch.
 * @param end the last batch ends exactly at this position; must be a position that the store returned
 */
function createReader(
  { store, decode }: Pick<ProjectionSource, 'store' | 'decode'>,
  after: bigint,
  end?: bigint,
): Reader {
  let upTo = after
  let head = -1n
  let stored: AsyncIterator<StoredEvent> | undefined

  return {
    async next(limit, receiver) {
      if (stored === undefined) {
        // Read before the events: the iteration contains everything committed up to this head, so the batch covers the
        // log up to it even if no event matches.
        head = await store.head()
        stored = store.readAll({ after, prefix: PROJECTED_PREFIXES })[Symbol.asyncIterator]()
      }
      let characters = 0
      let events = 0
      while (events < limit && characters < BATCH_CHARACTERS) {
        const item = await stored.next()
        if (item.done === true || (end !== undefined && item.value.position > end)) {
          const covered = end ?? head
          return { events, upTo: covered > upTo ? covered : upTo, ended: true }
        }
        try {
          const event = await decode(item.value)
          receiver.event(event)
          characters += dataLengthOf(item.value)
        } catch (error) {
          if (isInfrastructureFailure(error)) throw error
          receiver.unreadable(item.value, error)
        }
        upTo = item.value.position
        events += 1
        // Lets timers and requests run: the embedded engine and the decoder only queue microtasks.
        if (events % TURN_EVENTS === 0) await new Promise(setImmediate)
      }
      return { events, upTo, ended: false }
    },
    async close() {
      await stored?.return?.()
    },
  }
}

/** The changes that a batch makes in one target. Does not contain the events, so that two batches need little memory. */
interface Step {
  readonly target: Target
  /** Number of applied events. */
  readonly events: number
  /** The last applied event. */
  readonly last?: EventMark | undefined
  readonly changes: NetChanges
  readonly upTo: bigint
  /** Conversations that stop in this step. */
  readonly stops: readonly ConversationStop[]
  /** Conversations of which the step skipped events, because they had stopped before. */
  readonly skipped: ReadonlySet<string>
  /** The value of `Target.refusals` when the step was prepared. */
  readonly refusals: number
}

interface Collector {
  readonly target: Target
  add(event: RecordedEvent): void
  /** Stops the conversation of an event that could not be read. */
  refuse(stored: StoredEvent, error: unknown): void
  step(upTo: bigint): Step
}

/**
 * Collects the changes of events for one target. It reads the target's position once: no batch begins before the
 * previous one ended.
 */
function createCollector(target: Target): Collector {
  const { projection, position, stopped, refusals } = target
  const collected = createChangeCollector(projection.tables)
  const stops: ConversationStop[] = []
  const skipped = new Set<string>()
  let events = 0
  let last: EventMark | undefined
  /** Whether the conversation of a stream stopped at this position or before it. */
  function isStopped(stream: string, at: bigint): boolean {
    if (stopped.size === 0) return false
    const id = stoppedAt(stream)
    const earlier = stopped.get(id)
    if (earlier === undefined || at < earlier.position) return false
    // A stop of this step is recorded when the step commits; any other must already be in the database.
    if (!stops.includes(earlier)) skipped.add(id)
    return true
  }
  function addStop(event: Parameters<typeof stopAt>[0], error: unknown): void {
    const stop = stopAt(event, error)
    stopped.set(stop.conversationId, stop)
    stops.push(stop)
  }
  return {
    target,
    add(event) {
      if (event.position <= position) return
      if (isStopped(event.stream, event.position)) return
      try {
        collected.add(changesOf(projection, event))
        events += 1
        last = { position: event.position, id: event.id }
      } catch (error) {
        addStop(event, error)
      }
    },
    refuse(stored, error) {
      if (stored.position > position && !isStopped(stored.stream, stored.position)) addStop(stored, error)
    },
    step: (upTo) => ({ target, events, last, changes: collected.changes, upTo, stops, skipped, refusals }),
  }
}

/** An event of a step that was read again: decoded, or with the error. */
type ReadEvent =
  | { readonly stored: StoredEvent; readonly event: RecordedEvent }
  | { readonly stored: StoredEvent; readonly error: unknown }

function stepOf(target: Target, items: readonly ReadEvent[], upTo: bigint): Step {
  // Conversations that stopped at one of these events stop again; otherwise the stop would not be recorded.
  for (const { stored } of items)
    if (target.stopped.get(stoppedAt(stored.stream))?.position === stored.position)
      target.stopped.delete(stoppedAt(stored.stream))
  const collector = createCollector(target)
  for (const item of items) {
    if ('event' in item) collector.add(item.event)
    else collector.refuse(item.stored, item.error)
  }
  return collector.step(upTo)
}

/** Finds the collectors of a stream. Generations can have different numbers of partitions. */
function createDispatch(collectors: readonly Collector[]): (stream: string) => readonly Collector[] {
  const byCount = new Map<number, Collector[][]>()
  for (const collector of collectors) {
    const { partition, partitions } = collector.target
    const byPartition = byCount.get(partitions) ?? Array.from({ length: partitions }, () => [])
    byCount.set(partitions, byPartition)
    byPartition[partition]?.push(collector)
  }
  const [[partitions, only] = [1, []], ...further] = byCount
  if (further.length === 0) return (stream) => only[partitionOfStream(stream, partitions)] ?? []
  return (stream) => [...byCount].flatMap(([count, byPartition]) => byPartition[partitionOfStream(stream, count)] ?? [])
}

interface PreparedBatch extends Batch {
  readonly steps: readonly Step[]
}

async function prepare(reader: Reader, targets: readonly Target[], limit: number): Promise<PreparedBatch> {
  const collectors = targets.filter((target) => target.stop === undefined).map(createCollector)
  const collectorsOf = createDispatch(collectors)
  const batch = await reader.next(limit, {
    event(event) {
      for (const collector of collectorsOf(event.stream)) collector.add(event)
    },
    unreadable(stored, error) {
      for (const collector of collectorsOf(stored.stream)) collector.refuse(stored, error)
    },
  })
  return { ...batch, steps: collectors.map((collector) => collector.step(batch.upTo)) }
}

// A failure that says nothing about the event: the body store is unavailable, or an SQL state of class 08 (connection),
// 53 (resources), 57 (operator intervention) or 58 (system error).
const isInfrastructureFailure = (error: unknown): boolean =>
  isLedgerError(error, 'StoreUnavailable') || /^(08|53|57|58)/.test(sqlState(error))

/** Another process moved a checkpoint. Thrown, so that the transaction is rolled back; `applyUntil` returns `moved`. */
class CheckpointMoved extends Error {}

/** The SQL state of a database failure; empty for any other failure. */
const sqlState = (error: unknown): string => {
  const code = codeOf(error) ?? ''
  return /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

// 22: a value outside its type. 23: a constraint. 54: a program limit, such as a key too long for its index. The same
// rows would always fail.
const isRefusedRow = (error: unknown): boolean =>
  isLedgerError(error, 'CellRefused') || /^(22|23|54)/.test(sqlState(error))
// 40: a deadlock or a serialization failure. 42P01: a concurrent swap of generations dropped the table.
const isRace = (error: unknown): boolean => error instanceof CheckpointMoved || /^(40|42P01)/.test(sqlState(error))

type CommitOptions = Pick<ApplyOptions, 'isQuick'> & {
  readonly fence: bigint | undefined
  /** Counts the applied events of each target. */
  readonly applied: Map<Target, number>
}

// A text index collects new entries in a list and merges the list when it is full. At the default of 4 MB the merge is
// one statement of 1 s, at this size one of 50 ms. The total cost is a third higher, so this is only for live rows.
const QUICK = `select set_config('gin_pending_list_limit', '256', true)`

async function commit(db: Database, steps: readonly Step[], { fence, isQuick, applied }: CommitOptions): Promise<void> {
  await db.transaction(async (sql) => {
    if (isQuick === true) await sql.query(QUICK)
    for (const { target, last, upTo, stops, skipped } of steps) {
      if (!(await advance(sql, checkpointOf(target), upTo, last, fence))) throw new CheckpointMoved()
      // Another process may have completed the rows of a stopped conversation; then its events must not be skipped.
      if (skipped.size > 0 && (await countStopped(sql, checkpointOf(target), [...skipped])) < skipped.size)
        throw new CheckpointMoved()
      await recordStopped(sql, checkpointOf(target), stops)
    }
    for (const { target, changes } of steps)
      await writeNetChanges(sql, target.projection.tables, target.generation, changes, statementLimits(db))
  })
  for (const { target, events, upTo } of steps) {
    target.position = upTo
    applied.set(target, (applied.get(target) ?? 0) + events)
  }
}

/** Reads the events of a step from the log again. */
async function itemsOf(
  { store, decode }: Pick<ProjectionSource, 'store' | 'decode'>,
  { target, upTo }: Step,
): Promise<ReadEvent[]> {
  const items: ReadEvent[] = []
  for await (const stored of store.readAll({ after: target.position, prefix: PROJECTED_PREFIXES })) {
    if (stored.position > upTo) break
    if (partitionOfStream(stored.stream, target.partitions) === target.partition)
      items.push(await readEvent(decode, stored))
  }
  return items
}

async function readEvent(decode: ProjectionSource['decode'], stored: StoredEvent): Promise<ReadEvent> {
  try {
    return { stored, event: await decode(stored) }
  } catch (error) {
    if (isInfrastructureFailure(error)) throw error
    return { stored, error }
  }
}

/**
 * Commits events of which the database refuses at least one. A binary search finds the refused event: its conversation
 * stops right before it, and all other events are committed.
 */
async function commitAround(
  db: Database,
  target: Target,
  items: readonly ReadEvent[],
  upTo: bigint,
  refusal: unknown,
  options: CommitOptions,
): Promise<void> {
  const [item] = items
  if (item === undefined) throw refusal
  if (items.length === 1) {
    target.refusals += 1
    await commit(db, [stepOf(target, [{ stored: item.stored, error: refusal }], upTo)], options)
    return
  }
  const half = Math.ceil(items.length / 2)
  const first = items.slice(0, half)
  for (const part of [
    { items: first, upTo: first.at(-1)?.stored.position ?? target.position },
    { items: items.slice(half), upTo },
  ]) {
    try {
      await commit(db, [stepOf(target, part.items, part.upTo)], options)
    } catch (error) {
      if (!isRefusedRow(error)) throw error
      await commitAround(db, target, part.items, part.upTo, error, options)
    }
  }
}

/** Commits steps. If the database refuses rows, finds their events and stops those conversations right before them. */
async function commitOrStop(source: ProjectionSource, steps: readonly Step[], options: CommitOptions): Promise<void> {
  try {
    await commit(source.db, steps, options)
  } catch (error) {
    if (!isRefusedRow(error)) throw error
    const [step, ...further] = steps
    if (step === undefined) return
    if (further.length > 0) for (const each of steps) await commitOrStop(source, [each], options)
    else await commitAround(source.db, step.target, await itemsOf(source, step), step.upTo, error, options)
  }
}

/** Prepares a step again if the database has refused a conversation since it was prepared. */
async function upToDate(source: ProjectionSource, step: Step): Promise<Step> {
  return step.refusals === step.target.refusals ? step : stepOf(step.target, await itemsOf(source, step), step.upTo)
}

const inOrder = (a: Target, b: Target): number =>
  a.projection.name === b.projection.name ? a.partition - b.partition : a.projection.name < b.projection.name ? -1 : 1

// A batch of at most this number of events is one transaction: one for each partition would cost more than it saves.
const ONE_TRANSACTION_EVENTS = 100

/** Applies steps of a batch in one transaction. Throws if a checkpoint has moved. */
async function applyPart(source: ProjectionSource, steps: readonly Step[], options: CommitOptions): Promise<void> {
  // Sorted, so that two runners lock checkpoints in the same order and cannot deadlock.
  const moving = steps
    .filter(({ target, upTo }) => upTo > target.position)
    .toSorted((a, b) => inOrder(a.target, b.target))
  if (moving.length === 0) return
  await commitOrStop(source, await Promise.all(moving.map((step) => upToDate(source, step))), options)
}

/**
 * Applies a batch to all targets that have not applied it yet, with the rows and checkpoints of each partition in one
 * transaction, and moves the targets. Returns 'moved' if another runner or a swap has moved a checkpoint: that partition
 * was not written, and the caller must read the targets again.
 */
async function applyBatch(
  source: ProjectionSource,
  batch: PreparedBatch,
  options: CommitOptions,
): Promise<'applied' | 'moved'> {
  const parts = new Map<string, Step[]>()
  // All changes of one event are in one transaction, so that no reader sees it in one read model and not in another. A
  // transaction for each partition does that only if all read models have the same number of partitions.
  const hasEqualPartitions = new Set(batch.steps.map(({ target }) => target.partitions)).size <= 1
  const isOne = batch.events <= ONE_TRANSACTION_EVENTS || !hasEqualPartitions
  for (const step of batch.steps) {
    const { partition, partitions, stop } = step.target
    // A target may have stopped since the batch was prepared.
    if (stop !== undefined) continue
    const part = isOne ? 'all' : `${String(partition)}/${String(partitions)}`
    parts.set(part, [...(parts.get(part) ?? []), step])
  }
  const results = await Promise.allSettled([...parts.values()].map((steps) => applyPart(source, steps, options)))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const failure = failures.find((each) => !isRace(each))
  if (failure !== undefined) throw failure
  return failures.length === 0 ? 'applied' : 'moved'
}

/** The position after which the next batch is read; undefined if no target needs one. */
function nextAfter(targets: readonly Target[], until: bigint): bigint | undefined {
  const waiting = targets.filter((target) => target.stop === undefined && target.position < until)
  return waiting.length === 0 ? undefined : leastPosition(waiting)
}

export interface ApplyOptions {
  readonly batchSize: number
  readonly signal?: AbortSignal
  /**
   * True ends exactly at `until`, which must be a position that the store returned; false at the end of the batch that
   * contains it.
   */
  readonly exactly?: boolean
  /** True prefers short statements to the lowest total cost. */
  readonly isQuick?: boolean
  /** Called after each batch with the number of events that each target applied, and the number of events read. */
  readonly onBatch?: (
    applied: readonly { readonly target: Target; readonly events: number }[],
    storedEvents: number,
  ) => void
}

/**
 * Applies the log up to `until`. Reads, decodes and prepares the next batch while the previous one is written: with a
 * server, two processors work in parallel.
 */
export async function applyUntil(
  source: ProjectionSource,
  targets: readonly Target[],
  until: bigint,
  options: ApplyOptions,
): Promise<'done' | 'moved'> {
  const from = nextAfter(targets, until)
  if (from === undefined) return 'done'
  const reader = createReader(source, from, options.exactly === true ? until : undefined)
  let limit = Math.min(FIRST_BATCH, options.batchSize)
  let next = prepare(reader, targets, limit)
  try {
    for (;;) {
      const batch = await next
      const continues = !batch.ended && batch.upTo < until && options.signal?.aborted !== true
      if (continues) {
        limit = Math.min(limit * 2, options.batchSize)
        next = prepare(reader, targets, limit)
        // A failure is thrown when `next` is awaited, after the write; until then it must not count as unhandled.
        next.catch(ignore)
      }
      const applied = new Map<Target, number>()
      const result = await applyBatch(source, batch, {
        isQuick: options.isQuick ?? false,
        fence: source.fence,
        applied,
      })
      options.onBatch?.(
        batch.steps.map(({ target }) => ({ target, events: applied.get(target) ?? 0 })),
        batch.events,
      )
      if (result === 'moved') return 'moved'
      if (!continues || nextAfter(targets, until) === undefined) return 'done'
    }
  } finally {
    await next.catch(ignore)
    await reader.close()
  }
}

function ignore(): void {
  // The failure is reported when the promise is awaited.
}

/**
 * Retries stopped conversations: a newer program may be able to read their events. Completes each in one transaction,
 * from the event at which it stopped up to its checkpoint. A conversation that still fails stays stopped.
 */
export async function retryStopped(source: ProjectionSource, targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    for (const stop of target.stopped.values()) {
      if (
        partitionOfStream(stop.stream ?? stop.conversationId, target.partitions) !== target.partition ||
        stop.position > target.position
      )
        continue
      const changes = await missingChanges(source, target, stop)
      if (changes === undefined) continue
      try {
        await source.db.transaction(async (sql) => {
          const checkpoint = checkpointOf(target)
          if (!(await advance(sql, checkpoint, target.position, undefined, source.fence))) throw new CheckpointMoved()
          if (!(await removeStopped(sql, checkpoint, stop.conversationId))) throw new CheckpointMoved()
          await writeNetChanges(sql, target.projection.tables, target.generation, changes, statementLimits(source.db))
        })
        target.stopped.delete(stop.conversationId)
      } catch (error) {
        if (!isRefusedRow(error) && !isRace(error)) throw error
      }
    }
  }
}

/** The changes of a stopped conversation since its stop; undefined if one of its events still cannot be applied. */
async function missingChanges(
  { store, decode }: ProjectionSource,
  { projection, position }: Target,
  stop: ConversationStop,
): Promise<NetChanges | undefined> {
  // Usually the event still fails, so it is tried before the rest is read.
  const first = await store.eventAt(stop.position)
  if (first === undefined) return undefined
  const item = await readEvent(decode, first)
  if (!('event' in item)) return undefined
  try {
    changesOf(projection, item.event)
    const events: RecordedEvent[] = []
    for (const stream of await streamsOf(store, stop)) {
      for await (const stored of store.readStream(stream)) {
        if (stored.position > position) break
        if (stored.position >= stop.position) events.push(await decode(stored))
      }
    }
    const collected = createChangeCollector(projection.tables)
    for (const event of events.toSorted((a, b) => (a.position < b.position ? -1 : 1)))
      collected.add(changesOf(projection, event))
    return collected.changes
  } catch (error) {
    if (isInfrastructureFailure(error)) throw error
    return undefined
  }
}

/** The stream of a stopped conversation and the streams of its editions. */
async function streamsOf(store: EventStore, stop: ConversationStop): Promise<string[]> {
  const streams = [conversationStream(stop.conversationId)]
  for await (const stream of store.streams(EDITION_PREFIX))
    if (stoppedAt(stream) === stop.conversationId) streams.push(stream)
  return streams
}
