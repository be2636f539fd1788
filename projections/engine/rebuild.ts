/**
 * Rows again from the start of the log, beside the ones that readers see.
 *
 * The next generation of tables is filled by the same loop that the runner uses, its further indexes are built at the
 * end (on a server), and then one transaction points the views at it. Readers and the live runner go on all the while;
 * nobody sees a hole or a mixture, and no model is called. The new generation has as many partitions as the live one. A
 * rebuild that was killed is resumed by the next one of the same version, from its own checkpoint; one of another
 * version is dropped, and so is one that stopped at a conversation: a rebuild tries all of them again, and goes on
 * without those that still cannot be applied.
 *
 * One limit: a reader in a REPEATABLE READ transaction that began before the rows were written finds the new tables
 * without them.
 */
import { Mutex } from 'async-mutex'
import { sleep } from '../../src/ports/clock.js'
import type { Database, Sql } from '../../src/ports/sql.js'
import { applyUntil, targetsOf, type ProjectionSource, type Target } from './apply.js'
import {
  addGeneration,
  createCheckpoints,
  Fenced,
  leastPosition,
  liveOf,
  lockIndexes,
  lockLayout,
  mostPosition,
  readGenerations,
  setState,
  type Generation,
  type Stop,
} from './checkpoints.js'
import { foreignLog } from './log-identity.js'
import type { Projection } from './projection.js'
import {
  beginGeneration,
  createTables,
  dropGeneration,
  gatherStatistics,
  indexStatements,
  pointViews,
  runsInProcess,
} from './store.js'

/** How far a rebuild is. */
export interface RebuildProgress {
  /** The read models that are rebuilt. */
  readonly names: readonly string[]
  /** What is being done. */
  readonly phase: 'rows' | 'indexes' | 'swap' | 'done'
  /** Places of the log: in some stores these are no numbers of events, but offsets of bytes. */
  readonly done: number
  /** The place that `done` goes up to. */
  readonly total: number
  /** Events of conversations that this rebuild has read so far. */
  readonly events: number
  /** Undefined until there is something to reckon from. */
  readonly secondsLeft?: number
}

/** How to rebuild, and who hears meanwhile. */
export interface RebuildOptions {
  /** Hears how far it is. */
  readonly onProgress?: (progress: RebuildProgress) => void
  /** Ends it between two steps; a later rebuild goes on from there. */
  readonly signal?: AbortSignal
  /**
   * Facts a transaction; default 8,000 on a server, 1,000 on the embedded engine. More of them leave less to write,
   * since what came and went within a batch is never written.
   */
  readonly batchSize?: number
  /** Begin anew where an earlier rebuild of the same version was cut off, instead of going on from there. */
  readonly fresh?: boolean
}

/** A rebuild that could not be finished. What it has done stays for the next one; readers see the old rows. */
export class RebuildFailed extends Error {
  /** @param stop the fact that it met and could not apply, where that is why */
  constructor(
    message: string,
    readonly stop?: Stop,
  ) {
    super(message)
    this.name = 'RebuildFailed'
  }
}

const SERVER_BATCH = 8_000
// On the embedded engine everybody waits for the transaction: 1,000 facts take it 150 to 190 ms.
const EMBEDDED_BATCH = 1_000
// Postgres looks for deadlocks after a second. The swap gives up its turn long before, so that it is never a reader who
// is thrown out, and a reader that waits behind it waits no longer than this.
const SWAP_LOCK_MS = 250
const SWAP_PATIENCE_MS = 60_000

const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')

/**
 * Rebuilds the named projections, or all of them, in one pass over the log. Resolves when readers see the new rows and
 * the old tables are gone.
 */
export async function rebuild(
  source: ProjectionSource,
  names: readonly string[] | 'all',
  options: RebuildOptions = {},
): Promise<void> {
  const { db, store } = source
  const { signal } = options
  const unknown =
    names === 'all'
      ? undefined
      : names.find((name) => !source.projections.some((projection) => projection.name === name))
  if (unknown !== undefined)
    throw new RebuildFailed(
      `there is no projection ${unknown}; there are ${source.projections.map(({ name }) => name).join(', ')}`,
    )
  const chosen = source.projections.filter((projection) => names === 'all' || names.includes(projection.name))
  if (chosen.length === 0) return

  const isEmbedded = await runsInProcess(db)
  const batchSize = options.batchSize ?? (isEmbedded ? EMBEDDED_BATCH : SERVER_BATCH)
  const foreign = await foreignAmong(source)
  let targets = await open(source, chosen, { fresh: options.fresh === true, indexesFirst: isEmbedded, foreign })
  const progress = progressOf(chosen, options.onProgress)
  const stopped = (): void => {
    if (signal?.aborted === true) throw new RebuildFailed('the rebuild was stopped; the next one goes on from here')
    const stop = targets.find((target) => target.stop !== undefined)?.stop
    if (stop !== undefined) throw new RebuildFailed(stop.reason, stop)
  }
  const refreshed = async (): Promise<'again' | 'swapped'> => {
    const known = await positions(source, targets)
    targets = known.targets
    if (known.swapped) return 'swapped'
    if (known.missing !== undefined)
      throw new RebuildFailed(`somebody else began to rebuild ${known.missing}, and dropped what was built here`)
    return 'again'
  }
  /**
   * How far the new rows are to come: to the end of the log; where other read models stay as they are, to where these
   * are, since a fact that changes several of them has to appear in all at once.
   */
  async function goal(): Promise<bigint> {
    const known = await readGenerations(
      db,
      source.projections.map(({ name }) => name),
    )
    if (liveTargets(source, known, foreign, chosen).length === 0) return await store.head()
    return mostPosition(
      source.projections.flatMap(({ name }) => {
        const live = liveOf(known, name)
        return live === undefined || foreign.has(keyOf(live)) ? [] : live.checkpoints
      }),
    )
  }
  /**
   * Applies what the log has until there; two rebuilds at once share the work, each seeing the other's steps as moved
   * checkpoints.
   */
  const drained = async (phase: RebuildProgress['phase']): Promise<'drained' | 'swapped'> => {
    for (;;) {
      const head = await goal()
      progress.at(phase, leastPosition(targets), head)
      const result = await applyUntil(source, targets, head, {
        batchSize,
        exactly: true,
        ...(signal === undefined ? {} : { signal }),
        onBatch: (_applied, events) => {
          progress.read(events)
          progress.at(phase, leastPosition(targets), head)
        },
      })
      stopped()
      if (result === 'done') return 'drained'
      if ((await refreshed()) === 'swapped') return 'swapped'
    }
  }

  if ((await drained('rows')) === 'drained') {
    progress.at('indexes', leastPosition(targets), leastPosition(targets))
    for (const { projection, generation } of targets.filter(({ partition }) => partition === 0)) {
      for (const statement of indexStatements(projection, generation)) {
        await db.transaction(
          async (sql) => {
            // Not the lock of the layout: whoever opens the ledger meanwhile waits for that one.
            await lockIndexes(sql)
            await sql.script(statement)
          },
          { isPatient: true },
        )
        stopped()
      }
      await gatherStatistics(db, projection, generation)
    }
    await swapped()
  }
  await dropRetired(source, chosen)
  progress.at('done', leastPosition(targets), leastPosition(targets))

  /**
   * Where some of the rows that readers see are behind others, or behind the new ones, all of them come to one place,
   * together.
   */
  async function alongside(): Promise<void> {
    if (chosen.length === source.projections.length) return
    const live = liveTargets(
      source,
      await readGenerations(
        db,
        source.projections.map(({ name }) => name),
      ),
      foreign,
    )
    await applyUntil(source, live, mostPosition([...live, ...targets]), { batchSize, exactly: true })
  }

  async function swapped(): Promise<void> {
    const patience = Date.now() + SWAP_PATIENCE_MS
    for (;;) {
      if ((await drained('swap')) === 'swapped') return
      await alongside()
      const outcome = await swap(source, targets, { batchSize, isEmbedded, foreign })
      if (outcome === 'swapped') return
      if (outcome === 'moved' && (await refreshed()) === 'swapped') return
      stopped()
      if (Date.now() > patience)
        throw new RebuildFailed(
          'readers hold the old tables for a minute now, so the new ones cannot take their place; try again',
        )
      await sleep(20)
    }
  }
}

const keyOf = ({ name, generation }: Pick<Generation, 'name' | 'generation'>): string => `${name}/${String(generation)}`

/** Generations whose rows were made from another log: their places mean nothing here. */
async function foreignAmong({ db, store, projections }: ProjectionSource): Promise<ReadonlySet<string>> {
  await db.transaction(async (sql) => {
    await lockLayout(sql)
    await createCheckpoints(sql)
  })
  const foreign = new Set<string>()
  for (const generation of await readGenerations(
    db,
    projections.map(({ name }) => name),
  )) {
    if (generation.state !== 'retired' && (await foreignLog(store, generation)) !== undefined)
      foreign.add(keyOf(generation))
  }
  return foreign
}

/** The live rows as far as this program keeps them: not what stopped, nor what is of another version or log. */
function liveTargets(
  { projections }: ProjectionSource,
  known: readonly Generation[],
  foreign: ReadonlySet<string>,
  but: readonly Projection[] = [],
): Target[] {
  return projections.flatMap((projection) => {
    const live = liveOf(known, projection.name)
    if (
      live?.version !== projection.version ||
      but.includes(projection) ||
      foreign.has(keyOf(live)) ||
      live.checkpoints.some(({ stop }) => stop !== undefined)
    )
      return []
    return targetsOf(projection, live)
  })
}

interface OpenOptions {
  readonly fresh: boolean
  readonly indexesFirst: boolean
  readonly foreign: ReadonlySet<string>
}

/** The generations to fill: what an earlier rebuild of this version left, or new ones. */
async function open({ db }: ProjectionSource, chosen: readonly Projection[], how: OpenOptions): Promise<Target[]> {
  return await db.transaction(async (sql) => {
    await lockLayout(sql)
    const names = chosen.map(({ name }) => name)
    const known = await readGenerations(sql, names)
    const filled = new Map<string, number>()
    for (const projection of chosen) {
      const left = known.filter(({ name, state }) => name === projection.name && state === 'building')
      const resumed = how.fresh
        ? undefined
        : left.find(
            (one) => one.version === projection.version && one.stopped.length === 0 && !how.foreign.has(keyOf(one)),
          )
      for (const leftover of left) if (leftover !== resumed) await dropGeneration(sql, leftover)
      const generation = resumed?.generation ?? (await beginGeneration(sql, known, projection))
      if (resumed === undefined) {
        await createTables(sql, projection, generation)
        // Built at the end, the text index of 40,000 messages is one statement of 1.5 s, for which the whole process
        // stands still with the embedded engine. Kept from the start it costs the same in all (6.4 s against 6.8 s), in
        // statements of some 30 ms, 0.2 s where the index tidies up.
        if (how.indexesFirst)
          for (const statement of indexStatements(projection, generation)) await sql.script(statement)
        await addGeneration(
          sql,
          projection,
          generation,
          'building',
          liveOf(known, projection.name)?.checkpoints.length ?? 1,
        )
      }
      filled.set(projection.name, generation)
    }
    const found = await readGenerations(sql, names)
    return chosen.flatMap((projection) =>
      found
        .filter(({ name, generation }) => name === projection.name && generation === filled.get(name))
        .flatMap((one) => targetsOf(projection, one)),
    )
  })
}

const projectionsOf = (targets: readonly Target[]): Projection[] => [
  ...new Set(targets.map(({ projection }) => projection)),
]

/** The generation that these targets fill. */
const filledBy = (
  known: readonly Generation[],
  targets: readonly Target[],
  { name }: Projection,
): Generation | undefined =>
  known.find(
    (one) =>
      one.name === name && one.generation === targets.find(({ projection }) => projection.name === name)?.generation,
  )

/**
 * Where the generations that are being built stand now. `swapped` where another rebuild has put them in place already.
 */
async function positions(
  { db }: ProjectionSource,
  targets: readonly Target[],
): Promise<{ targets: Target[]; swapped: boolean; missing?: string }> {
  const chosen = projectionsOf(targets)
  const known = await readGenerations(
    db,
    chosen.map(({ name }) => name),
  )
  const here = chosen.map((projection) => ({ projection, generation: filledBy(known, targets, projection) }))
  const missing = here.find(({ generation }) => generation === undefined)
  return {
    targets: here.flatMap(({ projection, generation }) =>
      generation === undefined ? [] : targetsOf(projection, generation),
    ),
    swapped: here.every(({ generation }) => generation?.state === 'live'),
    ...(missing === undefined ? {} : { missing: missing.projection.name }),
  }
}

interface SwapOptions {
  readonly batchSize: number
  readonly isEmbedded: boolean
  readonly foreign: ReadonlySet<string>
}

/**
 * Puts the new generations in place of the live ones. 'moved' where a checkpoint is not where `targets` has it, 'busy'
 * where a reader or the live runner was in the way. The new rows are never behind the old ones, so that nobody who
 * waited for a position finds it gone again; nor do they stand elsewhere than those of the other projections, so that
 * nobody sees a fact in one read model and not in the other.
 */
async function swap(
  source: ProjectionSource,
  targets: readonly Target[],
  how: SwapOptions,
): Promise<'swapped' | 'moved' | 'busy'> {
  const { db, fence } = source
  const chosen = projectionsOf(targets)
  try {
    return await db.transaction(async (sql) => {
      await sql.script(`set local lock_timeout = ${String(SWAP_LOCK_MS)}`)
      await lockLayout(sql)
      // Under this lock the live runner stands still.
      const known = await readGenerations(
        sql,
        source.projections.map(({ name }) => name),
        { lock: true },
      )
      const stands = targets.every((target) => {
        const here = filledBy(known, targets, target.projection)
        return (
          here?.state === 'building' &&
          here.checkpoints.length === target.partitions &&
          here.checkpoints[target.partition]?.position === target.position
        )
      })
      if (!stands) return 'moved'
      const lives = chosen.map(({ name }) => liveOf(known, name))
      const all = [...targets, ...liveTargets(source, known, how.foreign, chosen)]
      const ahead = mostPosition([
        ...all,
        ...lives.flatMap((live) => (live === undefined || how.foreign.has(keyOf(live)) ? [] : live.checkpoints)),
      ])
      if (ahead > leastPosition(all)) {
        // The live runner came further since the last look. Where the log can be read beside this transaction, the
        // little that is missing is applied in it: under steady appends there may be no moment at which both stand at
        // one place. The embedded engine has one session, and this is it.
        if (how.isEmbedded) return 'busy'
        const done = await applyUntil({ ...source, db: within(db, sql) }, all, ahead, {
          batchSize: how.batchSize,
          exactly: true,
        }).catch((failure: unknown) => {
          if (isLockTimeout(failure)) throw failure
          return 'failed' as const
        })
        if (done !== 'done' || all.some((target) => target.stop !== undefined || target.position < ahead))
          throw new SwapFailed()
      }
      for (const [at, projection] of chosen.entries()) {
        const live = lives[at]
        const generation = filledBy(known, targets, projection)?.generation ?? 0
        const fenced =
          live?.checkpoints.reduce((most, checkpoint) => (checkpoint.fence > most ? checkpoint.fence : most), 0n) ?? 0n
        if (fence !== undefined && fenced > fence) throw new Fenced()
        if (live !== undefined) await setState(sql, live.name, live.generation, 'retired')
        await setState(sql, projection.name, generation, 'live', fenced)
        await pointViews(sql, projection, generation, live?.tables ?? [])
      }
      return 'swapped'
    })
  } catch (error) {
    if (isLockTimeout(error)) return 'busy'
    if (error instanceof SwapFailed) return 'moved'
    throw error
  }
}

/**
 * A database whose transactions are all part of one that is open already, one after the other since it has one
 * connection.
 */
function within(db: Database, sql: Sql): Database {
  const mutex = new Mutex()
  return {
    ...db,
    query: (text, values) => sql.query(text, values),
    script: (text) => sql.script(text),
    // Who comes after a failure finds out by itself that the transaction is broken.
    transaction: (work) => mutex.runExclusive(() => work(sql)),
  }
}

/**
 * The last facts could not be applied under the lock: they are applied outside, where what is wrong shows, and then it
 * is tried again.
 */
class SwapFailed extends Error {}

/**
 * Drops the tables of generations that nobody sees any more. What is still held by an old transaction stays for the
 * next time.
 */
export async function dropRetired(
  { db }: Pick<ProjectionSource, 'db'>,
  projections: readonly Projection[],
): Promise<void> {
  const known = await readGenerations(
    db,
    projections.map(({ name }) => name),
  )
  for (const generation of known.filter(({ state }) => state === 'retired')) {
    try {
      await db.transaction(async (sql) => {
        await sql.script(`set local lock_timeout = ${String(SWAP_LOCK_MS)}`)
        await lockLayout(sql)
        await dropGeneration(sql, generation)
      })
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
  }
}

interface Progress {
  /** So many events more. */
  read(events: number): void
  at(phase: RebuildProgress['phase'], at: bigint, head: bigint): void
}

/** Tells how far it is, with the time left reckoned from the speed of this run. */
function progressOf(chosen: readonly Projection[], onProgress: RebuildOptions['onProgress']): Progress {
  const names = chosen.map(({ name }) => name)
  let started: { readonly at: bigint; readonly time: number } | undefined
  let events = 0
  return {
    read(more) {
      events += more
    },
    at(phase, at, head) {
      started ??= { at, time: performance.now() }
      const gone = Number(at - started.at)
      const left = Number(head > at ? head - at : 0n)
      const secondsLeft = gone > 0 ? ((performance.now() - started.time) / 1_000 / gone) * left : undefined
      onProgress?.({
        names,
        phase,
        done: Number(at) + 1,
        total: Number(head > at ? head : at) + 1,
        events,
        ...(secondsLeft === undefined ? {} : { secondsLeft }),
      })
    },
  }
}
