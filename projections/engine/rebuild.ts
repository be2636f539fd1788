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
import { LedgerError } from '../../src/lib/ledger-error.js'
import { sleep } from '../../src/ports/clock.js'
import { applyUntil } from './apply.js'
import {
  addGeneration,
  createCheckpoints,
  leastPosition,
  liveOf,
  lockIndexes,
  lockLayout,
  mostPosition,
  readGenerations,
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
  runsInProcess,
} from './store.js'
import { dropRetired, filledBy, keyOf, liveTargets, projectionsOf, swap, type SwapOptions } from './swap-generations.js'
import { targetsOf, type ProjectionSource, type Target } from './target.js'

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
const SWAP_TIMEOUT_MS = 60_000

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
  private async goal(): Promise<number> {
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

/** Reports progress, with the remaining time estimated from the speed of this run. */
class ProgressReporter {
  private started: { readonly at: number; readonly time: number } | undefined
  private events = 0

  constructor(
    private readonly names: readonly string[],
    private readonly onProgress: RebuildOptions['onProgress'],
  ) {}

  countEvents(events: number): void {
    this.events += events
  }

  report(phase: RebuildProgress['phase'], at: number, head: number): void {
    this.started ??= { at, time: performance.now() }
    const applied = at - this.started.at
    const remaining = head > at ? head - at : 0
    const elapsedSeconds = (performance.now() - this.started.time) / 1_000
    const secondsLeft = applied > 0 ? (elapsedSeconds / applied) * remaining : undefined
    this.onProgress?.({
      names: this.names,
      phase,
      done: at + 1,
      total: (head > at ? head : at) + 1,
      events: this.events,
      ...(secondsLeft === undefined ? {} : { secondsLeft }),
    })
  }
}
