/**
 * The loop that the runner and a rebuild share: read a batch of facts, turn it into rows, commit rows and checkpoints together.
 *
 * Several projections take the same batch, decoded once. A fact that cannot be read, answered or stored stops the projections that
 * it concerns, right before it and by name; everything before it is applied, and the others go on.
 */
import { claimOf } from '../src/domain/codec.js'
import type { RecordedFact } from '../src/domain/events.js'
import { CONVERSATION_PREFIX } from '../src/domain/ids.js'
import type { EventStore, StoredEvent } from '../src/ports/event-store.js'
import type { Database, Sql } from '../src/ports/sql.js'
import { createNet, type NetChanges } from './fold.js'
import { changesOf, type Projection } from './projection.js'
import { advance, CellRefused, writeNet } from './store.js'

/** What projections live from. */
export interface ProjectionSource {
  readonly db: Database
  readonly store: EventStore
  /** Reads a stored event; throws where it cannot be read. */
  readonly decode: (stored: StoredEvent) => Promise<RecordedFact>
  readonly projections: readonly Projection[]
}

/** Why a projection does not go on: a sentence, with the stream, revision and type where one fact is the reason. */
export interface Stop {
  readonly reason: string
  readonly stream?: string
  readonly revision?: bigint
  readonly type?: string
}

/** A generation of a projection that takes facts. Mutable: `applyBatch` moves it on. */
export interface Target {
  readonly projection: Projection
  readonly generation: number
  position: bigint
  stop?: Stop | undefined
}

interface Batch {
  readonly facts: readonly RecordedFact[]
  /** All that matters up to here is in `facts` or lies before them, other streams included. */
  readonly upTo: bigint
  /** What stands behind `upTo` and cannot be read. */
  readonly unreadable?: Stop | undefined
  /** True where the log ended here. */
  readonly ended: boolean
}

// A batch is held in memory with its rows; a log of large messages must not make it many times its usual size.
const BATCH_CHARACTERS = 16 * 1024 * 1024

// So many events are read, decoded and answered in some 5 ms.
const TURN_EVENTS = 64

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function stopAt(event: { readonly stream: string; readonly revision: bigint; readonly type: string }, error: unknown): Stop {
  const { stream, revision, type } = event
  return { reason: `cannot apply ${type} at revision ${String(revision)} of ${stream}: ${sentence(error)}`, stream, revision, type }
}

// A body beside the log is as long as the content that came from it; the event itself is then a short claim.
const charactersOf = (stored: StoredEvent, fact: RecordedFact): number =>
  claimOf(stored) === undefined ? stored.data.length : JSON.stringify(fact.data, (_key, value: unknown) => (typeof value === 'bigint' ? null : value)).length

interface Reader {
  /** The next facts, at most `limit` of them; each is shown to `onFact` as soon as it is decoded. */
  next(limit: number, onFact: (fact: RecordedFact) => void): Promise<Batch>
  close(): Promise<void>
}

/** Reads the log behind `after` in batches. One reading of the store from end to end, since a store pages better when it is not asked anew for each batch. */
function createReader({ store, decode }: Pick<ProjectionSource, 'store' | 'decode'>, after: bigint): Reader {
  let upTo = after
  let head = -1n
  let stored: AsyncIterator<StoredEvent> | undefined

  return {
    async next(limit, onFact) {
      if (stored === undefined) {
        // Asked before the events: what is committed until then is among them, so up to here the log was seen even where no event matched.
        head = await store.head()
        stored = store.readAll({ after, prefix: CONVERSATION_PREFIX })[Symbol.asyncIterator]()
      }
      const facts: RecordedFact[] = []
      let characters = 0
      while (facts.length < limit && characters < BATCH_CHARACTERS) {
        const item = await stored.next()
        if (item.done === true) {
          if (head > upTo) upTo = head
          return { facts, upTo, ended: true }
        }
        try {
          const fact = await decode(item.value)
          facts.push(fact)
          onFact(fact)
          characters += charactersOf(item.value, fact)
        } catch (error) {
          return { facts, upTo, unreadable: stopAt(item.value, error), ended: false }
        }
        upTo = item.value.position
        // Timers and requests get their turn: the embedded engine and a decoded text leave the queue of promises to nobody else.
        if (facts.length % TURN_EVENTS === 0) await new Promise(setImmediate)
      }
      return { facts, upTo, ended: false }
    },
    async close() {
      await stored?.return?.()
    },
  }
}

/** What a batch means for one target. */
interface Step {
  readonly target: Target
  readonly facts: readonly RecordedFact[]
  readonly net: NetChanges
  readonly upTo: bigint
  readonly stop?: Stop | undefined
}

/** Collects what facts mean for a target, one by one as they are decoded. Where its position is behind them is looked at once, since no batch begins before the last one ended. */
function createCollector(target: Target): { add(fact: RecordedFact): void; step(upTo: bigint): Step } {
  const { projection, position } = target
  const collected = createNet(projection.tables)
  const facts: RecordedFact[] = []
  let stop: Stop | undefined
  return {
    add(fact) {
      if (stop !== undefined || fact.position <= position) return
      try {
        collected.add(changesOf(projection, fact))
        facts.push(fact)
      } catch (error) {
        stop = stopAt(fact, error)
      }
    },
    step(upTo) {
      if (stop === undefined) return { target, facts, net: collected.net, upTo }
      // Anew without the fact that stopped it: part of its changes may be among the collected ones.
      return { ...stepOf(target, facts, facts.at(-1)?.position ?? position), stop }
    },
  }
}

function stepOf(target: Target, facts: readonly RecordedFact[], upTo: bigint): Step {
  const collector = createCollector(target)
  for (const fact of facts) collector.add(fact)
  return collector.step(upTo)
}

interface Prepared extends Batch {
  readonly steps: readonly Step[]
}

async function prepare(reader: Reader, targets: readonly Target[], limit: number): Promise<Prepared> {
  const collectors = targets.filter((target) => target.stop === undefined).map(createCollector)
  const batch = await reader.next(limit, (fact) => {
    for (const collector of collectors) collector.add(fact)
  })
  return { ...batch, steps: collectors.map((collector) => collector.step(batch.upTo)) }
}

class CheckpointMoved extends Error {}

/** Five characters of the database, where the failure is its own. */
const sqlState = (error: unknown): string => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

// 22: a value that its type cannot hold. 23: a constraint. 54: a limit of the program, as for a key too long for its index. The same rows would fail for ever.
const isRefusedRow = (error: unknown): boolean => error instanceof CellRefused || /^(22|23|54)/.test(sqlState(error))
// 40: a deadlock or a serialization failure. 42P01: the table was dropped by the one who swapped generations in the meantime.
const isRace = (error: unknown): boolean => error instanceof CheckpointMoved || /^(40|42P01)/.test(sqlState(error))

async function commit(db: Sql, steps: readonly Step[]): Promise<void> {
  await db.transaction(async (sql) => {
    for (const { target, upTo } of steps) {
      if (!(await advance(sql, target.projection.name, target.generation, target.position, upTo))) throw new CheckpointMoved()
    }
    for (const { target, net } of steps) await writeNet(sql, target.projection.tables, target.generation, net)
  })
  for (const { target, upTo } of steps) target.position = upTo
}

/** Commits steps; where rows are refused, looks for the one fact at fault and stops its projection right before it. */
async function commitOrFind(db: Sql, steps: readonly Step[]): Promise<void> {
  try {
    await commit(db, steps)
  } catch (error) {
    if (!isRefusedRow(error)) throw error
    const [step, ...others] = steps
    if (step === undefined) return
    if (others.length > 0) {
      for (const alone of steps) await commitOrFind(db, [alone])
      return
    }
    const [fact] = step.facts
    if (step.facts.length === 1 && fact !== undefined) {
      step.target.stop = stopAt(fact, error)
      return
    }
    // Halves find it in as many commits as the batch has binary digits, and what lies before it is applied on the way.
    const half = Math.ceil(step.facts.length / 2)
    const first = step.facts.slice(0, half)
    await commitOrFind(db, [stepOf(step.target, first, first.at(-1)?.position ?? step.target.position)])
    if (step.target.stop === undefined) await commitOrFind(db, [stepOf(step.target, step.facts.slice(half), step.upTo)])
  }
}

/**
 * Applies a batch to all targets that are behind it, rows and checkpoints in one transaction, and moves the targets on.
 * 'moved' where a checkpoint stood elsewhere (another runner, a swap): nothing was written, and the targets have to be read anew.
 */
async function applyBatch(db: Sql, batch: Prepared): Promise<'applied' | 'moved'> {
  // A target may have stopped since the batch was prepared. By name, so that two runners lock checkpoints in the same order and one waits instead of both.
  const steps = batch.steps.filter(({ target }) => target.stop === undefined).toSorted((a, b) => (a.target.projection.name < b.target.projection.name ? -1 : 1))
  const moving = steps.filter(({ target, upTo }) => upTo > target.position)
  try {
    if (moving.length > 0) await commitOrFind(db, moving)
  } catch (error) {
    if (isRace(error)) return 'moved'
    throw error
  }
  for (const { target, stop } of steps) target.stop ??= stop
  // Who stands right before what cannot be read has nothing left to do.
  if (batch.unreadable !== undefined) for (const { target } of steps) if (target.position === batch.upTo) target.stop ??= batch.unreadable
  return 'applied'
}

/** The place from which the next batch has to be read, or undefined where no target goes on. */
function nextAfter(targets: readonly Target[], until: bigint): bigint | undefined {
  const waiting = targets.filter((target) => target.stop === undefined && target.position < until).map((target) => target.position)
  return waiting.length === 0 ? undefined : waiting.reduce((least, position) => (position < least ? position : least))
}

/**
 * Applies all that the log has up to `until`. The next batch is read, decoded and turned into rows while the one before is written:
 * on a server these are two processors' work.
 */
export async function applyUntil(
  source: ProjectionSource,
  targets: readonly Target[],
  until: bigint,
  options: { readonly batchSize: number; readonly signal?: AbortSignal; readonly onBatch?: (batch: Batch) => void },
): Promise<'done' | 'moved'> {
  const from = nextAfter(targets, until)
  if (from === undefined) return 'done'
  const reader = createReader(source, from)
  let next = prepare(reader, targets, options.batchSize)
  try {
    for (;;) {
      const batch = await next
      const goesOn = !batch.ended && batch.unreadable === undefined && batch.upTo < until && options.signal?.aborted !== true
      if (goesOn) {
        next = prepare(reader, targets, options.batchSize)
        // Its failure is told where it is awaited, which is after the write; until then it must not count as unhandled.
        next.catch(ignore)
      }
      if ((await applyBatch(source.db, batch)) === 'moved') return 'moved'
      options.onBatch?.(batch)
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
