/**
 * Rebuilds rows from the start of the log while readers use the existing ones.
 *
 * The loop of the runner fills the next generation of tables. On a server, its further indexes are built at the end.
 * Then one transaction points the views at the new tables. Readers and the live runner continue meanwhile, readers never
 * see incomplete or mixed rows, and no model is called. The new generation has as many partitions as the live one.
 *
 * If a rebuild was killed, the next one of the same version resumes it from its checkpoint. An unfinished rebuild of
 * another version is dropped, and so is one in which a conversation stopped, since a rebuild retries all conversations.
 *
 * Limitation: a REPEATABLE READ transaction that began before the rows were written sees the new tables as empty.
 */
import { codeOf } from '../../src/ports/store-error.js'
import { Mutex } from 'async-mutex'
import { LedgerError } from '../../src/lib/ledger-error.js'
import { sleep } from '../../src/ports/clock.js'
import type { Database, Sql } from '../../src/ports/sql.js'
import { applyUntil, targetsOf, type ProjectionSource, type Target } from './apply.js'
import {
  addGeneration,
  createCheckpoints,
  fenced,
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
  createTables,
  dropGeneration,
  gatherStatistics,
  indexStatements,
  nextGeneration,
  pointViews,
  runsInProcess,
} from './store.js'

/** How far a rebuild is. */
export interface RebuildProgress {
  /** The read models that are rebuilt. */
  readonly names: readonly string[]
  /** The current phase. */
  readonly phase: 'rows' | 'indexes' | 'swap' | 'done'
  /** Position in the log. In some stores this is a byte offset, not a number of events. */
  readonly done: number
  /** The position at which `done` ends. */
  readonly total: number
  /** Number of events that this rebuild has read so far. */
  readonly events: number
  /** Estimated from the speed of this rebuild; undefined until there is enough data. */
  readonly secondsLeft?: number
}

/** Options of a rebuild. */
export interface RebuildOptions {
  /** Called with the progress. */
  readonly onProgress?: (progress: RebuildProgress) => void
  /** Stops the rebuild after the current step. A later rebuild resumes it. */
  readonly signal?: AbortSignal
  /**
   * Events in a transaction. Default 8,000 on a server, 1,000 on the embedded engine. Larger batches write less, since a
   * row that is added and removed within one batch is never written.
   */
  readonly batchSize?: number
  /** Start from the beginning instead of resuming an unfinished rebuild. */
  readonly fresh?: boolean
}

/** A rebuild did not finish. The next one resumes it; readers use the old rows. */
const rebuildFailed = (message: string): LedgerError => new LedgerError('RebuildFailed', message)

/** A rebuild reached an event that cannot be applied. Readers use the old rows. */
const rebuildStopped = (stop: Stop): LedgerError =>
  new LedgerError('RebuildStopped', stop.reason, { details: { stop } })

const SERVER_BATCH = 8_000
// On the embedded engine everything else waits for the transaction: 1,000 events take 150 to 190 ms.
const EMBEDDED_BATCH = 1_000
// Postgres resolves deadlocks after 1 s, possibly by cancelling a reader. The swap gives up its lock well before that,
// and a reader that waits for the swap waits at most this long.
const SWAP_LOCK_MS = 250
const SWAP_TIMEOUT_MS = 60_000

const isLockTimeout = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '')

/**
 * Rebuilds the named projections, or all of them, in one pass over the log. Resolves when readers use the new rows and
 * the old tables are dropped.
 */
export async function rebuild(
  source: ProjectionSource,
  names: readonly string[] | 'all',
  options: RebuildOptions = {},
): Promise<void> {
  const chosen = chosenOf(source.projections, names)
  if (chosen.length === 0) return
  const isEmbedded = await runsInProcess(source.db)
  const foreign = await foreignAmong(source)
  const targets = await openBuilding(source, chosen, {
    fresh: options.fresh === true,
    indexesFirst: isEmbedded,
    foreign,
  })
  await new Rebuild(source, chosen, targets, {
    ...options,
    batchSize: options.batchSize ?? (isEmbedded ? EMBEDDED_BATCH : SERVER_BATCH),
    isEmbedded,
    foreign,
  }).run()
}

function chosenOf(projections: readonly Projection[], names: readonly string[] | 'all'): readonly Projection[] {
  if (names === 'all') return projections
  const unknown = names.find((name) => !projections.some((projection) => projection.name === name))
  if (unknown !== undefined)
    throw rebuildFailed(
      `there is no projection ${unknown}; there are ${projections.map(({ name }) => name).join(', ')}`,
    )
  return projections.filter(({ name }) => names.includes(name))
}

class Rebuild {
  private readonly progress: ProgressReporter

  constructor(
    private readonly source: ProjectionSource,
    private readonly chosen: readonly Projection[],
    private targets: readonly Target[],
    private readonly options: RebuildOptions & SwapOptions,
  ) {
    this.progress = new ProgressReporter(
      chosen.map(({ name }) => name),
      options.onProgress,
    )
  }

  async run(): Promise<void> {
    if ((await this.applyLog('rows')) === 'applied') {
      this.reportAt('indexes')
      await this.buildIndexes()
      await this.swapGenerations()
    }
    await dropRetired(this.source, this.chosen)
    this.reportAt('done')
  }

  private reportAt(phase: RebuildProgress['phase']): void {
    this.progress.report(phase, leastPosition(this.targets), leastPosition(this.targets))
  }

  private throwIfStopped(): void {
    if (this.options.signal?.aborted === true)
      throw rebuildFailed('the rebuild was stopped; the next rebuild resumes it')
    const stop = this.targets.find((target) => target.stop !== undefined)?.stop
    if (stop !== undefined) throw rebuildStopped(stop)
  }

  /** Reads the targets again after a checkpoint has moved. Returns true if another rebuild has already swapped them. */
  private async isSwappedByOther(): Promise<boolean> {
    const { targets, swapped, missing } = await refreshTargets(this.source, this.targets)
    this.targets = targets
    if (!swapped && missing !== undefined)
      throw rebuildFailed(`another process started a rebuild of ${missing} and dropped the tables of this one`)
    return swapped
  }

  private async readKnown(): Promise<Generation[]> {
    const { db, projections } = this.source
    return await readGenerations(
      db,
      projections.map(({ name }) => name),
    )
  }

  /**
   * The position that the new rows must reach: the head of the log, or the position of the other read models if these
   * are not rebuilt, since an event that changes several read models must appear in all of them at the same time.
   */
  private async goal(): Promise<bigint> {
    const { foreign } = this.options
    const known = await this.readKnown()
    if (liveTargets(this.source, known, foreign, this.chosen).length === 0) return await this.source.store.head()
    return mostPosition(
      this.source.projections.flatMap(({ name }) => {
        const live = liveOf(known, name)
        return live === undefined || foreign.has(keyOf(live)) ? [] : live.checkpoints
      }),
    )
  }

  /**
   * Applies the log up to the goal. Two concurrent rebuilds share the work: each sees the other's commits as moved
   * checkpoints.
   */
  private async applyLog(phase: RebuildProgress['phase']): Promise<'applied' | 'swapped'> {
    const { batchSize, signal } = this.options
    for (;;) {
      const goal = await this.goal()
      this.progress.report(phase, leastPosition(this.targets), goal)
      const result = await applyUntil(this.source, this.targets, goal, {
        batchSize,
        exactly: true,
        ...(signal === undefined ? {} : { signal }),
        onBatch: (_applied, events) => {
          this.progress.countEvents(events)
          this.progress.report(phase, leastPosition(this.targets), goal)
        },
      })
      this.throwIfStopped()
      if (result === 'done') return 'applied'
      if (await this.isSwappedByOther()) return 'swapped'
    }
  }

  private async buildIndexes(): Promise<void> {
    const { db } = this.source
    for (const { projection, generation } of this.targets.filter(({ partition }) => partition === 0)) {
      for (const statement of indexStatements(projection, generation)) {
        await db.transaction(
          async (sql) => {
            // Not `lockLayout`: a process that opens the ledger would wait for the index.
            await lockIndexes(sql)
            await sql.script(statement)
          },
          { isPatient: true },
        )
        this.throwIfStopped()
      }
      await gatherStatistics(db, projection, generation)
    }
  }

  private async swapGenerations(): Promise<void> {
    const deadline = Date.now() + SWAP_TIMEOUT_MS
    for (;;) {
      if ((await this.applyLog('swap')) === 'swapped') return
      await this.alignOthers()
      const outcome = await swap(this.source, this.targets, this.options)
      if (outcome === 'swapped') return
      if (outcome === 'moved' && (await this.isSwappedByOther())) return
      this.throwIfStopped()
      if (Date.now() > deadline) throw rebuildFailed('readers have locked the old tables for a minute; try again later')
      await sleep(20)
    }
  }

  /** Applies events to the read models that are not rebuilt, so that all are at the position of the new rows. */
  private async alignOthers(): Promise<void> {
    if (this.chosen.length === this.source.projections.length) return
    const { batchSize, foreign } = this.options
    const live = liveTargets(this.source, await this.readKnown(), foreign)
    await applyUntil(this.source, live, mostPosition([...live, ...this.targets]), { batchSize, exactly: true })
  }
}

const keyOf = ({ name, generation }: Pick<Generation, 'name' | 'generation'>): string => `${name}/${String(generation)}`

/** Generations whose rows were made from another log, so that their positions have no meaning in this one. */
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

/** Targets of the live generations to which this program applies events: not stopped, of this version and this log. */
function liveTargets(
  { projections }: ProjectionSource,
  known: readonly Generation[],
  foreign: ReadonlySet<string>,
  except: readonly Projection[] = [],
): Target[] {
  return projections.flatMap((projection) => {
    const live = liveOf(known, projection.name)
    if (
      live?.version !== projection.version ||
      except.includes(projection) ||
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

/** Returns the generations to fill: an unfinished one of this version if there is one, otherwise new ones. */
async function openBuilding(
  { db }: ProjectionSource,
  chosen: readonly Projection[],
  { fresh, indexesFirst, foreign }: OpenOptions,
): Promise<Target[]> {
  return await db.transaction(async (sql) => {
    await lockLayout(sql)
    const names = chosen.map(({ name }) => name)
    const known = await readGenerations(sql, names)
    const filled = new Map<string, number>()
    for (const projection of chosen) {
      const unfinished = known.filter(({ name, state }) => name === projection.name && state === 'building')
      const resumed = fresh
        ? undefined
        : unfinished.find(
            (each) => each.version === projection.version && each.stopped.length === 0 && !foreign.has(keyOf(each)),
          )
      for (const each of unfinished) if (each !== resumed) await dropGeneration(sql, each)
      const generation = resumed?.generation ?? (await nextGeneration(sql, known, projection))
      if (resumed === undefined) {
        await createTables(sql, projection, generation)
        // Built at the end, the text index of 40,000 messages is one statement of 1.5 s, which blocks the process on the
        // embedded engine. Built from the start it costs the same in total (6.4 s compared with 6.8 s), in statements of
        // about 30 ms (0.2 s when the index merges its pending list).
        if (indexesFirst) for (const statement of indexStatements(projection, generation)) await sql.script(statement)
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
        .flatMap((each) => targetsOf(projection, each)),
    )
  })
}

const projectionsOf = (targets: readonly Target[]): Projection[] => [
  ...new Set(targets.map(({ projection }) => projection)),
]

/** The generation of a projection that these targets fill. */
const filledBy = (
  known: readonly Generation[],
  targets: readonly Target[],
  { name }: Projection,
): Generation | undefined =>
  known.find(
    (each) =>
      each.name === name && each.generation === targets.find(({ projection }) => projection.name === name)?.generation,
  )

/**
 * Reads the targets again. `swapped`: another rebuild has already made them live. `missing`: a projection whose new
 * generation was dropped.
 */
async function refreshTargets(
  { db }: ProjectionSource,
  targets: readonly Target[],
): Promise<{ targets: Target[]; swapped: boolean; missing?: string }> {
  const chosen = projectionsOf(targets)
  const known = await readGenerations(
    db,
    chosen.map(({ name }) => name),
  )
  const current = chosen.map((projection) => ({ projection, generation: filledBy(known, targets, projection) }))
  const missing = current.find(({ generation }) => generation === undefined)
  return {
    targets: current.flatMap(({ projection, generation }) =>
      generation === undefined ? [] : targetsOf(projection, generation),
    ),
    swapped: current.every(({ generation }) => generation?.state === 'live'),
    ...(missing === undefined ? {} : { missing: missing.projection.name }),
  }
}

interface SwapOptions {
  readonly batchSize: number
  readonly isEmbedded: boolean
  readonly foreign: ReadonlySet<string>
}

/**
 * Makes the new generations live. Returns 'moved' if a checkpoint is not at the position that `targets` has, and 'busy'
 * if a reader or the live runner holds a lock. The new rows never lag the old ones, so that a reader which waited
 * for a position still finds it. They are at the same position as the other projections, so that no reader sees an event
 * in one read model and not in another.
 */
async function swap(
  source: ProjectionSource,
  targets: readonly Target[],
  options: SwapOptions,
): Promise<'swapped' | 'moved' | 'busy'> {
  const chosen = projectionsOf(targets)
  try {
    return await source.db.transaction(async (sql) => {
      await sql.script(`set local lock_timeout = ${String(SWAP_LOCK_MS)}`)
      await lockLayout(sql)
      // With this lock the live runner cannot commit.
      const known = await readGenerations(
        sql,
        source.projections.map(({ name }) => name),
        { lock: true },
      )
      if (!areAtPositions(known, targets)) return 'moved'
      const replaced = chosen.flatMap(({ name }) => liveOf(known, name) ?? [])
      const all = [...targets, ...liveTargets(source, known, options.foreign, chosen)]
      const ahead = mostPosition([
        ...all,
        ...replaced.flatMap((live) => (options.foreign.has(keyOf(live)) ? [] : live.checkpoints)),
      ])
      if (ahead > leastPosition(all)) {
        // The live runner has moved since the last pass. If the log can be read during this transaction, the missing
        // events are applied in it: under steady appends both might never be at one position. The embedded engine has
        // one session, which this transaction uses.
        if (options.isEmbedded) return 'busy'
        await applyWithin(source, sql, all, ahead, options.batchSize)
      }
      for (const projection of chosen) {
        const generation = filledBy(known, targets, projection)?.generation ?? 0
        await makeLive(sql, projection, generation, liveOf(known, projection.name), source.fence)
      }
      return 'swapped'
    })
  } catch (error) {
    if (isLockTimeout(error)) return 'busy'
    if (error instanceof SwapFailed) return 'moved'
    throw error
  }
}

/** Whether the generations of these targets are still being built, with their checkpoints at the known positions. */
const areAtPositions = (known: readonly Generation[], targets: readonly Target[]): boolean =>
  targets.every((target) => {
    const generation = filledBy(known, targets, target.projection)
    return (
      generation?.state === 'building' &&
      generation.checkpoints.length === target.partitions &&
      generation.checkpoints[target.partition]?.position === target.position
    )
  })

/** Applies the last events inside the transaction of a swap. Throws `SwapFailed` if a target does not reach `until`. */
async function applyWithin(
  source: ProjectionSource,
  sql: Sql,
  targets: readonly Target[],
  until: bigint,
  batchSize: number,
): Promise<void> {
  const result = await applyUntil({ ...source, db: within(source.db, sql) }, targets, until, {
    batchSize,
    exactly: true,
  }).catch((failure: unknown) => {
    if (isLockTimeout(failure)) throw failure
    return 'failed' as const
  })
  if (result !== 'done' || targets.some((target) => target.stop !== undefined || target.position < until))
    throw new SwapFailed()
}

async function makeLive(
  sql: Sql,
  projection: Projection,
  generation: number,
  replaced: Generation | undefined,
  fence: bigint | undefined,
): Promise<void> {
  const replacedFence =
    replaced?.checkpoints.reduce((most, checkpoint) => (checkpoint.fence > most ? checkpoint.fence : most), 0n) ?? 0n
  if (fence !== undefined && replacedFence > fence) throw fenced()
  if (replaced !== undefined) await setState(sql, replaced.name, replaced.generation, 'retired')
  await setState(sql, projection.name, generation, 'live', replacedFence)
  await pointViews(sql, projection, generation, replaced?.tables ?? [])
}

/** Runs transactions inside an open one, one after the other because that has one connection. */
function within(db: Database, sql: Sql): Database {
  const mutex = new Mutex()
  return {
    ...db,
    query: (text, values) => sql.query(text, values),
    script: (text) => sql.script(text),
    // After a failure the transaction is aborted, so the next call fails too.
    transaction: (work) => mutex.runExclusive(() => work(sql)),
  }
}

/**
 * The last events could not be applied during the swap. Thrown, so that its transaction is rolled back. They are applied
 * outside of it, which reports the reason, and the swap is tried again.
 */
class SwapFailed extends Error {}

/** Drops the tables of retired generations. Skips a table that an old transaction still locks, until the next call. */
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

/** Reports progress, with the remaining time estimated from the speed of this run. */
class ProgressReporter {
  private started: { readonly at: bigint; readonly time: number } | undefined
  private events = 0

  constructor(
    private readonly names: readonly string[],
    private readonly onProgress: RebuildOptions['onProgress'],
  ) {}

  countEvents(events: number): void {
    this.events += events
  }

  report(phase: RebuildProgress['phase'], at: bigint, head: bigint): void {
    this.started ??= { at, time: performance.now() }
    const applied = Number(at - this.started.at)
    const remaining = Number(head > at ? head - at : 0n)
    const elapsedSeconds = (performance.now() - this.started.time) / 1_000
    const secondsLeft = applied > 0 ? (elapsedSeconds / applied) * remaining : undefined
    this.onProgress?.({
      names: this.names,
      phase,
      done: Number(at) + 1,
      total: Number(head > at ? head : at) + 1,
      events: this.events,
      ...(secondsLeft === undefined ? {} : { secondsLeft }),
    })
  }
}
