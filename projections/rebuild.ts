/**
 * Rows again from the start of the log, beside the ones that readers see.
 *
 * The next generation of tables is filled by the same loop that the runner uses, its further indexes are built at the end (on a server), and then one
 * transaction points the views at it. Readers and the live runner go on all the while; nobody sees a hole or a mixture, and no model is called.
 * A rebuild that was killed is resumed by the next one of the same version, from its own checkpoint; one of another version is dropped.
 *
 * One limit: a reader in a REPEATABLE READ transaction that began before the rows were written finds the new tables without them.
 */
import { applyUntil, type ProjectionSource, type Target } from './apply.js'
import type { Projection } from './projection.js'
import {
  addCheckpoint, createCheckpoints, createTables, dropGeneration, gatherStatistics, indexStatements, lockLayout, pointViews, readCheckpoints, runsInProcess, setState, type Checkpoint,
} from './store.js'

export interface RebuildProgress {
  readonly names: readonly string[]
  readonly phase: 'rows' | 'indexes' | 'swap' | 'done'
  /** Places of the log: events, in a store that numbers them without gaps. */
  readonly done: number
  readonly total: number
  /** Undefined until there is something to reckon from. */
  readonly secondsLeft?: number
}

export interface RebuildOptions {
  readonly onProgress?: (progress: RebuildProgress) => void
  readonly signal?: AbortSignal
  /** Facts a transaction; default 8,000 on a server, 1,000 on the embedded engine. More of them leave less to write, since what came and went within a batch is never written. */
  readonly batchSize?: number
  /** Begin anew where an earlier rebuild of the same version was cut off, instead of going on from there. */
  readonly fresh?: boolean
}

/** A rebuild that could not be finished. What it has done stays for the next one; readers see the old rows. */
export class RebuildFailed extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RebuildFailed'
  }
}

const SERVER_BATCH = 8_000
// On the embedded engine everybody waits for the transaction: 1,000 facts take it 150 to 190 ms.
const EMBEDDED_BATCH = 1_000
// Postgres looks for deadlocks after a second. The swap gives up its turn long before, so that it is never a reader who is thrown out,
// and a reader that waits behind it waits no longer than this.
const SWAP_LOCK_MS = 250
const SWAP_PATIENCE_MS = 60_000

const pause = async (ms: number): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

const isLockTimeout = (error: unknown): boolean => error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')

/** Rebuilds the named projections, or all of them, in one pass over the log. Resolves when readers see the new rows and the old tables are gone. */
export async function rebuild(source: ProjectionSource, names: readonly string[] | 'all', options: RebuildOptions = {}): Promise<void> {
  const { db, store } = source
  const { signal } = options
  const unknown = names === 'all' ? undefined : names.find((name) => !source.projections.some((projection) => projection.name === name))
  if (unknown !== undefined) throw new RebuildFailed(`there is no projection ${unknown}; there are ${source.projections.map(({ name }) => name).join(', ')}`)
  const chosen = source.projections.filter((projection) => names === 'all' || names.includes(projection.name))
  if (chosen.length === 0) return

  const isEmbedded = await runsInProcess(db)
  const batchSize = options.batchSize ?? (isEmbedded ? EMBEDDED_BATCH : SERVER_BATCH)
  let targets = await open(source, chosen, { fresh: options.fresh === true, indexesFirst: isEmbedded })
  const progress = progressOf(chosen, options.onProgress)
  const stopped = (): void => {
    if (signal?.aborted === true) throw new RebuildFailed('the rebuild was stopped; the next one goes on from here')
    const stop = targets.find((target) => target.stop !== undefined)?.stop
    if (stop !== undefined) throw new RebuildFailed(stop.reason)
  }
  const refreshed = async (): Promise<'again' | 'swapped'> => {
    const known = await positions(source, targets)
    targets = known.targets
    if (known.swapped) return 'swapped'
    if (known.missing !== undefined) throw new RebuildFailed(`somebody else began to rebuild ${known.missing}, and dropped what was built here`)
    return 'again'
  }
  /** Applies what the log has until its end; two rebuilds at once share the work, each seeing the other's steps as moved checkpoints. */
  const drained = async (phase: RebuildProgress['phase']): Promise<'drained' | 'swapped'> => {
    for (;;) {
      const head = await store.head()
      progress(phase, least(targets), head)
      const result = await applyUntil(source, targets, head, {
        batchSize,
        ...(signal === undefined ? {} : { signal }),
        onBatch: () => {
          progress(phase, least(targets), head)
        },
      })
      stopped()
      if (result === 'done') return 'drained'
      if ((await refreshed()) === 'swapped') return 'swapped'
    }
  }

  if ((await drained('rows')) === 'drained') {
    progress('indexes', least(targets), least(targets))
    for (const { projection, generation } of targets) {
      for (const statement of indexStatements(projection, generation)) {
        await db.transaction(async (sql) => {
          await lockLayout(sql)
          await sql.script(statement)
        })
        stopped()
      }
      await gatherStatistics(db, projection, generation)
    }
    await swapped()
  }
  await dropRetired(source, chosen)
  progress('done', least(targets), least(targets))

  async function swapped(): Promise<void> {
    const patience = Date.now() + SWAP_PATIENCE_MS
    for (;;) {
      if ((await drained('swap')) === 'swapped') return
      const outcome = await swap(source, targets)
      if (outcome === 'swapped') return
      if (outcome === 'moved' && (await refreshed()) === 'swapped') return
      stopped()
      if (Date.now() > patience) throw new RebuildFailed('readers hold the old tables for a minute now, so the new ones cannot take their place; try again')
      await pause(20)
    }
  }
}

const least = (targets: readonly Target[]): bigint => targets.reduce((lowest, { position }) => (position < lowest ? position : lowest), targets[0]?.position ?? -1n)

/** The generations to fill: what an earlier rebuild of this version left, or new ones. */
async function open({ db }: ProjectionSource, chosen: readonly Projection[], how: { readonly fresh: boolean; readonly indexesFirst: boolean }): Promise<Target[]> {
  return await db.transaction(async (sql) => {
    await lockLayout(sql)
    await createCheckpoints(sql)
    const known = await readCheckpoints(sql, chosen.map(({ name }) => name))
    const targets: Target[] = []
    for (const projection of chosen) {
      const generations = known.filter(({ name }) => name === projection.name)
      const left = generations.filter(({ state }) => state === 'building')
      const resumed = how.fresh ? undefined : left.find(({ version }) => version === projection.version)
      for (const leftover of left) if (leftover !== resumed) await dropGeneration(sql, leftover)
      const generation = resumed?.generation ?? 1 + generations.reduce((most, checkpoint) => Math.max(most, checkpoint.generation), 0)
      if (resumed === undefined) {
        await createTables(sql, projection, generation)
        // Built at the end, the text index of 40,000 messages is one statement of 1.5 s, for which the whole process stands still with the
        // embedded engine. Kept from the start it costs the same in all (6.4 s against 6.8 s), in statements of some 30 ms, 0.2 s where the index tidies up.
        if (how.indexesFirst) for (const statement of indexStatements(projection, generation)) await sql.script(statement)
        await addCheckpoint(sql, projection, generation, 'building')
      }
      targets.push({ projection, generation, position: resumed?.position ?? -1n })
    }
    return targets
  })
}

/** Where the generations that are being built stand now. `swapped` where another rebuild has put them in place already. */
async function positions({ db }: ProjectionSource, targets: readonly Target[]): Promise<{ targets: Target[]; swapped: boolean; missing?: string }> {
  const known = await readCheckpoints(db, targets.map(({ projection }) => projection.name))
  const of = (target: Target): Checkpoint | undefined =>
    known.find(({ name, generation }) => name === target.projection.name && generation === target.generation)
  const missing = targets.find((target) => of(target) === undefined)
  return {
    targets: targets.map((target) => ({ ...target, position: of(target)?.position ?? target.position })),
    swapped: targets.every((target) => of(target)?.state === 'live'),
    ...(missing === undefined ? {} : { missing: missing.projection.name }),
  }
}

/**
 * Puts the new generations in place of the live ones. 'moved' where a checkpoint is not where `targets` has it, 'busy' where a reader or
 * the live runner was in the way. The new rows are never behind the old ones, so that nobody who waited for a position finds it gone again.
 */
async function swap({ db }: ProjectionSource, targets: readonly Target[]): Promise<'swapped' | 'moved' | 'busy'> {
  try {
    return await db.transaction(async (sql) => {
      await sql.script(`set local lock_timeout = ${String(SWAP_LOCK_MS)}`)
      await lockLayout(sql)
      // Under this lock the live runner stands still. The log itself cannot be read here: the embedded engine has one session, and this transaction is it.
      const known = await readCheckpoints(sql, targets.map(({ projection }) => projection.name), { lock: true })
      const lives: (Checkpoint | undefined)[] = []
      for (const target of targets) {
        const here = known.find(({ name, generation }) => name === target.projection.name && generation === target.generation)
        const live = known.find(({ name, state }) => name === target.projection.name && state === 'live')
        if (here?.state !== 'building' || here.position !== target.position) return 'moved'
        if (live !== undefined && live.position > target.position) return 'busy'
        lives.push(live)
      }
      for (const [at, { projection, generation }] of targets.entries()) {
        const live = lives[at]
        if (live !== undefined) await setState(sql, live.name, live.generation, 'retired')
        await setState(sql, projection.name, generation, 'live')
        await pointViews(sql, projection, generation, live?.tables ?? [])
      }
      return 'swapped'
    })
  } catch (error) {
    if (isLockTimeout(error)) return 'busy'
    throw error
  }
}

/** Drops the tables of generations that nobody sees any more. What is still held by an old transaction stays for the next time. */
export async function dropRetired({ db }: Pick<ProjectionSource, 'db'>, projections: readonly Projection[]): Promise<void> {
  const known = await readCheckpoints(db, projections.map(({ name }) => name))
  for (const checkpoint of known.filter(({ state }) => state === 'retired')) {
    try {
      await db.transaction(async (sql) => {
        await sql.script(`set local lock_timeout = ${String(SWAP_LOCK_MS)}`)
        await lockLayout(sql)
        await dropGeneration(sql, checkpoint)
      })
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
  }
}

/** Tells how far it is, with the time left reckoned from the speed of this run. */
function progressOf(chosen: readonly Projection[], onProgress: RebuildOptions['onProgress']): (phase: RebuildProgress['phase'], at: bigint, head: bigint) => void {
  const names = chosen.map(({ name }) => name)
  let started: { readonly at: bigint; readonly time: number } | undefined
  return (phase, at, head) => {
    started ??= { at, time: performance.now() }
    const gone = Number(at - started.at)
    const left = Number(head > at ? head - at : 0n)
    const secondsLeft = gone > 0 ? ((performance.now() - started.time) / 1_000 / gone) * left : undefined
    onProgress?.({ names, phase, done: Number(at) + 1, total: Number(head > at ? head : at) + 1, ...(secondsLeft === undefined ? {} : { secondsLeft }) })
  }
}
