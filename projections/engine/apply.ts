/**
 * The loop that the runner and a rebuild share: read a batch of facts, turn it into rows, commit rows and checkpoints
 * together.
 *
 * Several projections take the same batch, decoded once. Where conversations are spread over partitions, each partition
 * commits its own transaction on its own connection, all of a batch at the same time: decoding is one processor's work,
 * and storing that of others. A transaction is of all projections that take the batch, which is what makes an adopted
 * edition appear in all of them at once. A fact that cannot be read, answered or stored stops its own conversation,
 * with its editions, right before it and by name: later facts of it are passed over until its rows are made anew.
 * Everybody else's go on, and the checkpoint moves.
 */
import { claimOf } from '../../src/domain/events/codec.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { conversationStream, EDITION_PREFIX } from '../../src/domain/values/ids.js'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import {
  advance,
  countStopped,
  forgetStopped,
  recordStopped,
  type ConversationStop,
  type EventMark,
  type Generation,
  type CheckpointPlace,
  type Stop,
} from './checkpoints.js'
import { createNet, type NetChanges } from './fold.js'
import { partitionOfStream } from './partitions.js'
import { CellRefused, changesOf, type Projection } from './projection.js'
import { statementsOf, writeNet } from './store.js'
import { PROJECTED_PREFIXES, stoppedAt } from './streams.js'

/** What projections live from. */
export interface ProjectionSource {
  readonly db: Database
  readonly store: EventStore
  /** Reads a stored event; throws where it cannot be read. */
  readonly decode: (stored: StoredEvent) => Promise<RecordedEvent>
  readonly projections: readonly Projection[]
  /**
   * Of the claim under which this process works. Once a larger one is on the checkpoints, nothing is written any more.
   */
  readonly fence?: bigint
}

/** A partition of a generation that takes facts. Mutable: applying moves it on. */
export interface Target {
  readonly projection: Projection
  readonly generation: number
  readonly partition: number
  readonly partitions: number
  position: bigint
  /** Why it does not go on at all. */
  stop?: Stop | undefined
  /** The conversations of the generation that do not go on, by their ids. */
  readonly stopped: Map<string, ConversationStop>
  /** How many of them the database refused: what was prepared without knowing it is prepared anew. */
  refusals: number
}

/** The targets that a generation consists of. */
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

const placeOf = ({ projection, generation, partition, partitions, position }: Target): CheckpointPlace => ({
  name: projection.name,
  generation,
  partition,
  partitions,
  position,
})

interface Batch {
  readonly events: number
  /** All that matters up to here was in the batch or lies before it, other streams included. */
  readonly upTo: bigint
  /** True where there is nothing behind it that is wanted. */
  readonly ended: boolean
}

// A batch is held in memory with its rows; a log of large messages must not make it many times its usual size.
const BATCH_CHARACTERS = 16 * 1024 * 1024

// The first batch is small, for the database has nothing to do until it is there; each next one is twice as large, for a
// large one leaves less to write.
const FIRST_BATCH = 1_000

// So many events are read, decoded and answered in some 3 ms. The transaction that runs beside waits for its turns as
// well: with 64 a server stood idle between two statements for longer than it worked.
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

// A body beside the log is as long as the content that came from it; the event itself is then a short claim.
const charactersOf = (stored: StoredEvent, event: RecordedEvent): number =>
  claimOf(stored) === undefined
    ? stored.data.length
    : JSON.stringify(event.data, (_key, value: unknown) => (typeof value === 'bigint' ? null : value)).length

/** Who hears of the events of a batch, in their order. */
interface Listener {
  event(event: RecordedEvent): void
  /** One that could not be read. */
  refused(stored: StoredEvent, error: unknown): void
}

interface Reader {
  /** The next events, at most `limit` of them; each is shown to `listener` as soon as it is decoded. */
  next(limit: number, listener: Listener): Promise<Batch>
  close(): Promise<void>
}

/**
 * Reads the log behind `after` in batches. One reading of the store from end to end, since a store pages better when it
 * is not asked anew for each batch. With `end` no event behind that place is given, and the last batch ends right
 * there: it has to be a place that the store itself has named.
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
    async next(limit, listener) {
      if (stored === undefined) {
        // Asked before the events: what is committed until then is among them, so up to here the log was seen even
        // where no event matched.
        head = await store.head()
        stored = store.readAll({ after, prefix: PROJECTED_PREFIXES })[Symbol.asyncIterator]()
      }
      let characters = 0
      let events = 0
      while (events < limit && characters < BATCH_CHARACTERS) {
        const item = await stored.next()
        if (item.done === true || (end !== undefined && item.value.position > end)) {
          const seen = end ?? head
          return { events, upTo: seen > upTo ? seen : upTo, ended: true }
        }
        try {
          const event = await decode(item.value)
          listener.event(event)
          characters += charactersOf(item.value, event)
        } catch (error) {
          if (isOfTheWorld(error)) throw error
          listener.refused(item.value, error)
        }
        upTo = item.value.position
        events += 1
        // Timers and requests get their turn: the embedded engine and a decoded text leave the queue of promises to
        // nobody else.
        if (events % TURN_EVENTS === 0) await new Promise(setImmediate)
      }
      return { events, upTo, ended: false }
    },
    async close() {
      await stored?.return?.()
    },
  }
}

/**
 * What a batch means for one target. Without the facts themselves: two batches of them in memory are work for the
 * garbage collector.
 */
interface Step {
  readonly target: Target
  /** How many facts it is of, and the last of them. */
  readonly events: number
  readonly last?: EventMark | undefined
  readonly net: NetChanges
  readonly upTo: bigint
  /** Conversations that stop in it. */
  readonly stops: readonly ConversationStop[]
  /** Conversations of which it passed facts over, because they had stopped before. */
  readonly passedOver: ReadonlySet<string>
  /** How many refusals of the database it knows of. */
  readonly refusals: number
}

interface Collector {
  readonly target: Target
  add(event: RecordedEvent): void
  refuse(stored: StoredEvent, error: unknown): void
  step(upTo: bigint): Step
}

/**
 * Collects what facts mean for a target, one by one as they are decoded. Where its position is behind them is looked at
 * once, since no batch begins before the last one ended.
 */
function createCollector(target: Target): Collector {
  const { projection, position, stopped, refusals } = target
  const collected = createNet(projection.tables)
  const stops: ConversationStop[] = []
  const passedOver = new Set<string>()
  let events = 0
  let last: EventMark | undefined
  /** Whether the conversation of a stream stopped at this place or before. */
  function isStopped(stream: string, at: bigint): boolean {
    if (stopped.size === 0) return false
    const id = stoppedAt(stream)
    const known = stopped.get(id)
    if (known === undefined || at < known.position) return false
    // What stops in this very step is recorded with it; all else has to stand in the database.
    if (!stops.includes(known)) passedOver.add(id)
    return true
  }
  function stop(stored: Parameters<typeof stopAt>[0], error: unknown): void {
    const at = stopAt(stored, error)
    stopped.set(at.conversationId, at)
    stops.push(at)
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
        stop(event, error)
      }
    },
    refuse(stored, error) {
      if (stored.position > position && !isStopped(stored.stream, stored.position)) stop(stored, error)
    },
    step: (upTo) => ({ target, events, last, net: collected.net, upTo, stops, passedOver, refusals }),
  }
}

/** An event of a step, read once more: as a fact, or why it is none. */
type Item =
  | { readonly stored: StoredEvent; readonly event: RecordedEvent }
  | { readonly stored: StoredEvent; readonly error: unknown }

function stepOf(target: Target, items: readonly Item[], upTo: bigint): Step {
  // What stopped in these is found again; else it would count as known, and not be told to the database.
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

/** Finds the collectors that an event concerns. Two generations may be divided in different ways. */
function createDispatch(collectors: readonly Collector[]): (stream: string) => readonly Collector[] {
  const divisions = new Map<number, Collector[][]>()
  for (const collector of collectors) {
    const { partition, partitions } = collector.target
    const division = divisions.get(partitions) ?? Array.from({ length: partitions }, () => [])
    divisions.set(partitions, division)
    division[partition]?.push(collector)
  }
  const [[partitions, only] = [1, []], ...others] = divisions
  if (others.length === 0) return (stream) => only[partitionOfStream(stream, partitions)] ?? []
  return (stream) => [...divisions].flatMap(([count, division]) => division[partitionOfStream(stream, count)] ?? [])
}

interface Prepared extends Batch {
  readonly steps: readonly Step[]
}

async function prepare(reader: Reader, targets: readonly Target[], limit: number): Promise<Prepared> {
  const collectors = targets.filter((target) => target.stop === undefined).map(createCollector)
  const concerned = createDispatch(collectors)
  const batch = await reader.next(limit, {
    event(event) {
      for (const collector of concerned(event.stream)) collector.add(event)
    },
    refused(stored, error) {
      for (const collector of concerned(stored.stream)) collector.refuse(stored, error)
    },
  })
  return { ...batch, steps: collectors.map((collector) => collector.step(batch.upTo)) }
}

// A body beside the log that cannot be fetched now is no fault of its event. 08, 53, 57 and 58: connection, resources,
// somebody stepped in, its system.
const isOfTheWorld = (error: unknown): boolean =>
  (error instanceof Error && 'kind' in error && error.kind === 'StoreUnavailable') ||
  /^(08|53|57|58)/.test(sqlState(error))

class CheckpointMoved extends Error {}

/** Five characters of the database, where the failure is its own. */
const sqlState = (error: unknown): string => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

// 22: a value that its type cannot hold. 23: a constraint. 54: a limit of the program, as for a key too long for its
// index. The same rows would fail for ever.
const isRefusedRow = (error: unknown): boolean => error instanceof CellRefused || /^(22|23|54)/.test(sqlState(error))
// 40: a deadlock or a serialization failure. 42P01: the table was dropped by the one who swapped generations in the
// meantime.
const isRace = (error: unknown): boolean => error instanceof CheckpointMoved || /^(40|42P01)/.test(sqlState(error))

/** How transactions are made, and how many facts each target has taken by them. */
type Manner = Pick<ApplyOptions, 'isQuick'> & {
  readonly fence: bigint | undefined
  readonly applied: Map<Target, number>
}

// A text index collects what is new in a list and tidies up when the list is full: at the default of 4 MB that is one
// statement of a second, at this size one of 50 ms. All in all it costs a third more, so it is for rows that somebody
// waits for.
const QUICK = `select set_config('gin_pending_list_limit', '256', true)`

async function commit(db: Database, steps: readonly Step[], { fence, isQuick, applied }: Manner): Promise<void> {
  await db.transaction(async (sql) => {
    if (isQuick === true) await sql.query(QUICK)
    for (const { target, last, upTo, stops, passedOver } of steps) {
      if (!(await advance(sql, placeOf(target), upTo, last, fence))) throw new CheckpointMoved()
      // Somebody else may have completed the rows of one of them since: then its facts must not be passed over.
      if (passedOver.size > 0 && (await countStopped(sql, placeOf(target), [...passedOver])) < passedOver.size)
        throw new CheckpointMoved()
      await recordStopped(sql, placeOf(target), stops)
    }
    for (const { target, net } of steps)
      await writeNet(sql, target.projection.tables, target.generation, net, statementsOf(db))
  })
  for (const { target, events, upTo } of steps) {
    target.position = upTo
    applied.set(target, (applied.get(target) ?? 0) + events)
  }
}

/** The events of a step, once more from the log. */
async function itemsOf(
  { store, decode }: Pick<ProjectionSource, 'store' | 'decode'>,
  { target, upTo }: Step,
): Promise<Item[]> {
  const items: Item[] = []
  for await (const stored of store.readAll({ after: target.position, prefix: PROJECTED_PREFIXES })) {
    if (stored.position > upTo) break
    if (partitionOfStream(stored.stream, target.partitions) === target.partition)
      items.push(await itemOf(decode, stored))
  }
  return items
}

async function itemOf(decode: ProjectionSource['decode'], stored: StoredEvent): Promise<Item> {
  try {
    return { stored, event: await decode(stored) }
  } catch (error) {
    if (isOfTheWorld(error)) throw error
    return { stored, error }
  }
}

/**
 * Commits events of which one is refused. Halves find it in as many commits as the batch has binary digits; its
 * conversation stops right before it, and all others go on.
 */
async function commitAround(
  db: Database,
  target: Target,
  items: readonly Item[],
  upTo: bigint,
  refusal: unknown,
  manner: Manner,
): Promise<void> {
  const [item] = items
  if (item === undefined) throw refusal
  if (items.length === 1) {
    target.refusals += 1
    await commit(db, [stepOf(target, [{ stored: item.stored, error: refusal }], upTo)], manner)
    return
  }
  const half = Math.ceil(items.length / 2)
  const first = items.slice(0, half)
  for (const part of [
    { items: first, upTo: first.at(-1)?.stored.position ?? target.position },
    { items: items.slice(half), upTo },
  ]) {
    try {
      await commit(db, [stepOf(target, part.items, part.upTo)], manner)
    } catch (error) {
      if (!isRefusedRow(error)) throw error
      await commitAround(db, target, part.items, part.upTo, error, manner)
    }
  }
}

/**
 * Commits steps; where rows are refused, looks for the facts at fault and stops their conversations right before them.
 */
async function commitOrFind(source: ProjectionSource, steps: readonly Step[], manner: Manner): Promise<void> {
  try {
    await commit(source.db, steps, manner)
  } catch (error) {
    if (!isRefusedRow(error)) throw error
    const [step, ...others] = steps
    if (step === undefined) return
    if (others.length > 0) for (const alone of steps) await commitOrFind(source, [alone], manner)
    else await commitAround(source.db, step.target, await itemsOf(source, step), step.upTo, error, manner)
  }
}

/** The step as it is by now: what was prepared while the database refused a conversation does not know of it. */
async function upToDate(source: ProjectionSource, step: Step): Promise<Step> {
  return step.refusals === step.target.refusals ? step : stepOf(step.target, await itemsOf(source, step), step.upTo)
}

const inOrder = (a: Target, b: Target): number =>
  a.projection.name === b.projection.name ? a.partition - b.partition : a.projection.name < b.projection.name ? -1 : 1

// Below so many facts a transaction for each partition costs more than it saves.
const TOGETHER = 100

/**
 * What one partition (or all, of a few facts) takes of a batch: one transaction. Throws where a checkpoint stood
 * elsewhere.
 */
async function applyPart(source: ProjectionSource, steps: readonly Step[], manner: Manner): Promise<void> {
  // In one order, so that two runners lock checkpoints alike and one waits instead of both.
  const moving = steps
    .filter(({ target, upTo }) => upTo > target.position)
    .toSorted((a, b) => inOrder(a.target, b.target))
  if (moving.length === 0) return
  await commitOrFind(source, await Promise.all(moving.map((step) => upToDate(source, step))), manner)
}

/**
 * Applies a batch to all targets that are behind it, rows and checkpoints of each partition in one transaction, and
 * moves the targets on. 'moved' where a checkpoint stood elsewhere (another runner, a swap): that partition was not
 * written, and the targets have to be read anew.
 */
async function applyBatch(source: ProjectionSource, batch: Prepared, manner: Manner): Promise<'applied' | 'moved'> {
  const parts = new Map<string, Step[]>()
  // What one fact changes in several read models is in one transaction, so that no reader sees it in one of them and
  // not yet in the other. A partition is that for all of them where they are divided alike; where they are not, only
  // the whole is.
  const isDividedAlike = new Set(batch.steps.map(({ target }) => target.partitions)).size <= 1
  const isOne = batch.events <= TOGETHER || !isDividedAlike
  for (const step of batch.steps) {
    const { partition, partitions, stop } = step.target
    // A target may have stopped since the batch was prepared.
    if (stop !== undefined) continue
    const part = isOne ? 'all' : `${String(partition)}/${String(partitions)}`
    parts.set(part, [...(parts.get(part) ?? []), step])
  }
  const done = await Promise.allSettled([...parts.values()].map((steps) => applyPart(source, steps, manner)))
  const failures = done.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  const failure = failures.find((one) => !isRace(one))
  if (failure !== undefined) throw failure
  return failures.length === 0 ? 'applied' : 'moved'
}

/** The place from which the next batch has to be read, or undefined where no target goes on. */
function nextAfter(targets: readonly Target[], until: bigint): bigint | undefined {
  const waiting = targets
    .filter((target) => target.stop === undefined && target.position < until)
    .map((target) => target.position)
  return waiting.length === 0 ? undefined : waiting.reduce((least, position) => (position < least ? position : least))
}

export interface ApplyOptions {
  readonly batchSize: number
  readonly signal?: AbortSignal
  /**
   * Ends right at `until`, which has to be a place that the store itself has named; else with the batch that it falls
   * in.
   */
  readonly exactly?: boolean
  /** Rows soon rather than cheaply. */
  readonly isQuick?: boolean
  /** Told after each batch how many facts each target has taken, and how many events were read for it. */
  readonly onBatch?: (
    applied: readonly { readonly target: Target; readonly events: number }[],
    storedEvents: number,
  ) => void
}

/**
 * Applies all that the log has up to `until`. The next batch is read, decoded and turned into rows while the one before
 * is written: on a server these are two processors' work.
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
      const goesOn = !batch.ended && batch.upTo < until && options.signal?.aborted !== true
      if (goesOn) {
        limit = Math.min(limit * 2, options.batchSize)
        next = prepare(reader, targets, limit)
        // Its failure is told where it is awaited, which is after the write; until then it must not count as unhandled.
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
      if (!goesOn || nextAfter(targets, until) === undefined) return 'done'
    }
  } finally {
    await next.catch(ignore)
    await reader.close()
  }
}

function ignore(): void {
  // Told elsewhere.
}

/**
 * Tries the conversations again at which targets stopped: what a program of its time could not read may be readable by
 * now. Each is completed in one transaction, from the fact on at which it stopped up to where its checkpoint stands;
 * where it cannot be, it stays as it is.
 */
export async function retryStopped(source: ProjectionSource, targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    for (const stop of target.stopped.values()) {
      if (
        partitionOfStream(stop.stream ?? stop.conversationId, target.partitions) !== target.partition ||
        stop.position > target.position
      )
        continue
      const net = await completed(source, target, stop)
      if (net === undefined) continue
      try {
        await source.db.transaction(async (sql) => {
          if (!(await advance(sql, placeOf(target), target.position, undefined, source.fence)))
            throw new CheckpointMoved()
          if (
            !(await forgetStopped(
              sql,
              { name: target.projection.name, generation: target.generation },
              stop.conversationId,
            ))
          )
            throw new CheckpointMoved()
          await writeNet(sql, target.projection.tables, target.generation, net, statementsOf(source.db))
        })
        target.stopped.delete(stop.conversationId)
      } catch (error) {
        if (!isRefusedRow(error) && !isRace(error)) throw error
      }
    }
  }
}

/** The rows of a conversation from where it stopped; undefined where it still cannot be applied. */
async function completed(
  { store, decode }: ProjectionSource,
  { projection, position }: Target,
  stop: ConversationStop,
): Promise<NetChanges | undefined> {
  // Mostly nothing has changed, and then one look at the one event is all.
  const first = await store.eventAt(stop.position)
  if (first === undefined) return undefined
  const again = await itemOf(decode, first)
  if (!('event' in again)) return undefined
  try {
    changesOf(projection, again.event)
    const events: RecordedEvent[] = []
    for (const stream of await streamsStoppedWith(store, stop)) {
      for await (const stored of store.readStream(stream)) {
        if (stored.position > position) break
        if (stored.position >= stop.position) events.push(await decode(stored))
      }
    }
    const collected = createNet(projection.tables)
    for (const event of events.toSorted((a, b) => (a.position < b.position ? -1 : 1)))
      collected.add(changesOf(projection, event))
    return collected.net
  } catch (error) {
    if (isOfTheWorld(error)) throw error
    return undefined
  }
}

/** The stream of a conversation that stopped, and those of its editions. */
async function streamsStoppedWith(store: EventStore, stop: ConversationStop): Promise<string[]> {
  const streams = [conversationStream(stop.conversationId)]
  for await (const stream of store.streams(EDITION_PREFIX))
    if (stoppedAt(stream) === stop.conversationId) streams.push(stream)
  return streams
}
