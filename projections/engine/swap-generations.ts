/** Makes the generations that a rebuild has filled live, and drops the ones that they replace. */
import { Mutex } from 'async-mutex'
import type { Database, Sql } from '../../src/ports/sql.js'
import { codeOf } from '../../src/ports/store-error.js'
import { applyUntil } from './apply.js'
import {
  fenced,
  leastPosition,
  liveOf,
  lockLayout,
  mostPosition,
  readGenerations,
  setState,
  type Generation,
} from './checkpoints.js'
import type { Projection } from './projection.js'
import { dropGeneration, pointViews } from './store.js'
import { targetsOf, type ProjectionSource, type Target } from './target.js'

// Postgres resolves deadlocks after 1 s, possibly by cancelling a reader. The swap gives up its lock well before that,
// and a reader that waits for the swap waits at most this long.
const SWAP_LOCK_MS = 250

const isLockTimeout = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '')

export const keyOf = ({ name, generation }: Pick<Generation, 'name' | 'generation'>): string =>
  `${name}/${String(generation)}`

/** Targets of the live generations to which this program applies events: not stopped, of this version and this log. */
export function liveTargets(
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

export const projectionsOf = (targets: readonly Target[]): Projection[] => [
  ...new Set(targets.map(({ projection }) => projection)),
]

/** The generation of a projection that these targets fill. */
export const filledBy = (
  known: readonly Generation[],
  targets: readonly Target[],
  { name }: Projection,
): Generation | undefined =>
  known.find(
    (each) =>
      each.name === name && each.generation === targets.find(({ projection }) => projection.name === name)?.generation,
  )

export interface SwapOptions {
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
export async function swap(
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
  until: number,
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
  fence: number | undefined,
): Promise<void> {
  const replacedFence =
    replaced?.checkpoints.reduce((most, checkpoint) => (checkpoint.fence > most ? checkpoint.fence : most), 0) ?? 0
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
