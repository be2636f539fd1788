/**
 * Applies events to the read models, from their checkpoints on: rows and checkpoint in one transaction.
 *
 * Two runners on one database share the work and never apply an event twice. If a projection's version is newer than its
 * rows, the runner rebuilds them when it starts, while readers use the old rows. If the rows are newer than this
 * program, the projection stops, because programs of two versions would rebuild in turns for ever. `worker.ts` runs one
 * of several runners at a time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Mutex } from 'async-mutex'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import type { Claims } from '../../src/ports/claims.js'
import { applyUntil, type ApplyOptions } from './apply.js'
import { retryStopped } from './retry-stopped.js'
import { targetsOf, type ProjectionSource, type Target } from './target.js'
import {
  clearStops,
  hasCheckpoints,
  leastPosition,
  liveOf,
  lockLayout,
  mostPosition,
  raiseFence,
  recordStop,
  repartition,
  type Generation,
  type Stop,
} from './checkpoints.js'
import { followLog } from './follow-log.js'
import { foreignLog } from './log-identity.js'
import { rebuild, type RebuildOptions } from './rebuild.js'
import { ReportedStops } from './reported-stops.js'
import { dropRetired } from './swap-generations.js'
import { openGenerations, runsInProcess } from './store.js'
import {
  createProjectionWatch,
  type RowsLag,
  type ProjectionStatus,
  type ProjectionWatch,
  type StoppedConversation,
  type WaitOptions,
} from './watch.js'

export { projectionStopped } from './watch.js'

export interface RunnerOptions extends ProjectionSource {
  /** Maximum events in a transaction. Default 500 on the embedded engine, 4,000 on a server. */
  readonly batchSize?: number
  /**
   * Minimum time between two transactions while following the log, unless `eagerEvents` wait. Default 200 ms on the
   * embedded engine, 20 ms on a server.
   */
  readonly intervalMs?: number
  /** Number of waiting events that are applied without waiting for the interval. Default 200. */
  readonly eagerEvents?: number
  /** Number of partitions. Default: the number that the rows have. */
  readonly partitions?: number
  /** If given, the status names the process that holds the claim. */
  readonly claims?: Claims
  /** Called with failures after which the runner continues: an unavailable database, a failed rebuild. */
  readonly onFailure?: (failure: unknown) => void
  /** Called after events were applied. */
  readonly onApplied?: (projection: string, partition: number, events: number) => void
  /** Called once for each projection that stops, and for each conversation that a projection skips. */
  readonly onStop?: (projection: string, stop: Stop) => void
}

export interface ProjectionRunner {
  /**
   * Applies the log up to `until` (default: the current head) and returns the position that all rows have reached,
   * except those of stopped conversations. Throws `ProjectionStopped` if a projection stopped; the others were applied.
   */
  catchUp(until?: number): Promise<number>
  /** Follows the log until `stop`. Retries conversations that stopped before. */
  start(): void
  /**
   * Resolves to true when all rows have reached `position`, except those of stopped conversations, and to false after
   * `timeoutMs`. Throws `ProjectionStopped` if a projection or the given conversation stopped before `position`. Also
   * works if another process applies the events.
   */
  waitFor(position: number, timeoutMs: number, options?: WaitOptions): Promise<boolean>
  status(): Promise<ProjectionStatus[]>
  /** Stopped conversations (or only the given one), with the reason. */
  stopped(conversationId?: string): Promise<StoppedConversation[]>
  /** How far the rows lag the log; undefined if they do not. */
  behind(options?: WaitOptions): Promise<RowsLag | undefined>
  rebuild(names: readonly string[] | 'all', options?: RebuildOptions): Promise<void>
  /** Stops following; resolves when this runner executes no more statements. */
  stop(): Promise<void>
}

interface Pace {
  readonly batchSize: number
  readonly intervalMs: number
  readonly isQuick: boolean
}

// On the embedded engine an append waits for the transaction: 500 events of usual size take about 100 ms. On a server an
// append does not wait.
const EMBEDDED: Pace = { batchSize: 500, intervalMs: 200, isQuick: false }
const SERVER: Pace = { batchSize: 4_000, intervalMs: 20, isQuick: true }
const RETRY_MS = 1_000

class FollowingRunner implements ProjectionRunner {
  private readonly watch: ProjectionWatch
  private readonly stops: ReportedStops
  private readonly rebuilding = new Set<string>()
  private defaultPace: Pace | undefined
  private targets: Target[] = []
  /** One pass at a time: two in one process would only move each other's checkpoints. */
  private readonly passing = new Mutex()
  /** Whether the generations were compared with the log since it was last opened. */
  private hasCheckedLog = false
  /** Whether this runner has retried the conversations that stopped before it was created. */
  private hasRetried = false
  private following: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined

  constructor(private readonly options: RunnerOptions) {
    this.watch = createProjectionWatch(options)
    this.stops = new ReportedStops(options.onStop)
  }

  async catchUp(until?: number): Promise<number> {
    const { store } = this.options
    // Every search calls this, and usually there is nothing to apply.
    const reached = await this.reachedPosition(until ?? (await store.head()))
    if (reached !== undefined) return reached
    await this.passing.runExclusive(async () => {
      const outdated = await this.refreshAndRetry()
      if (outdated.length > 0) {
        await rebuild(this.options, namesOf(outdated))
        await this.refresh()
      }
      await this.pass(until ?? (await store.head()))
    })
    this.stops.throwFirst(this.targets)
    return leastPosition(this.targets)
  }

  start(): void {
    if (this.following !== undefined) return
    const abort = new AbortController()
    this.following = { abort, ended: this.followUntil(abort.signal) }
  }

  async stop(): Promise<void> {
    const { following } = this
    this.following = undefined
    following?.abort.abort()
    await following?.ended
    await this.passing.waitForUnlock()
  }

  async waitFor(position: number, timeoutMs: number, waitOptions: WaitOptions = {}): Promise<boolean> {
    return await this.watch.waitFor(position, timeoutMs, waitOptions, async () => {
      this.stops.throwFirst()
      // Applies the events without waiting for the interval.
      if (this.following !== undefined) await this.passing.runExclusive(() => this.pass(position)).catch(ignore)
    })
  }

  async stopped(conversationId?: string): Promise<StoppedConversation[]> {
    return await this.watch.stopped(conversationId)
  }

  async behind(waitOptions?: WaitOptions): Promise<RowsLag | undefined> {
    return await this.watch.behind(waitOptions)
  }

  async status(): Promise<ProjectionStatus[]> {
    return await this.watch.status({
      isFollowing: this.following !== undefined,
      rebuilding: this.rebuilding,
      stops: this.stops.refusals,
    })
  }

  async rebuild(which: readonly string[] | 'all', rebuildOptions: RebuildOptions = {}): Promise<void> {
    const chosen = which === 'all' ? namesOf(this.options.projections) : which
    for (const name of chosen) this.rebuilding.add(name)
    try {
      await rebuild(this.options, chosen, rebuildOptions)
      // The new generation was applied from the start, so earlier refusals no longer apply.
      for (const name of chosen) this.stops.refusals.delete(name)
    } finally {
      for (const name of chosen) this.rebuilding.delete(name)
    }
    await this.passing.runExclusive(() => this.refresh())
  }

  private async pace(): Promise<Pace> {
    const { db, batchSize, intervalMs } = this.options
    this.defaultPace ??= (await runsInProcess(db)) ? EMBEDDED : SERVER
    const { defaultPace } = this
    return {
      ...defaultPace,
      batchSize: batchSize ?? defaultPace.batchSize,
      intervalMs: intervalMs ?? defaultPace.intervalMs,
    }
  }

  /**
   * Reads the live generations and sets the targets. A generation to which this program cannot apply events is refused.
   * Returns the generations of an older version.
   */
  private async refresh(): Promise<Generation[]> {
    const { db, projections, partitions, fence } = this.options
    let live = await openGenerations(db, projections, partitions)
    if (fence !== undefined) await raiseFence(db, namesOf(this.options.projections), fence)
    if (!this.hasCheckedLog) await this.checkLog(live)
    if (await this.repartitionAll(live)) live = await this.watch.live()
    const outdated: Generation[] = []
    this.targets = projections.flatMap((projection): Target[] => {
      const generation = liveOf(live, projection.name)
      if (generation === undefined || this.stops.refusals.has(projection.name)) return []
      if (generation.version < projection.version) {
        outdated.push(generation)
        return []
      }
      if (generation.version > projection.version) {
        this.stops.refuse(projection.name, generation.generation, {
          reason: `has rows of version ${String(generation.version)}, which is newer than this program's version ${String(projection.version)}`,
        })
        return []
      }
      return targetsOf(projection, generation)
    })
    return outdated
  }

  /** Like `refresh`, but first clears the reasons why projections stopped, and retries stopped conversations once. */
  private async refreshAndRetry(): Promise<Generation[]> {
    const { db } = this.options
    this.stops.refusals.clear()
    this.hasCheckedLog = false
    // A database without checkpoints has no recorded stops.
    if (await hasCheckpoints(db)) await clearStops(db, namesOf(this.options.projections))
    const outdated = await this.refresh()
    if (!this.hasRetried) await retryStopped(this.options, this.targets)
    this.hasRetried = true
    return outdated
  }

  /**
   * Whether another process has rebuilt or moved a projection that stopped here, so that it can be applied again. A
   * stopped target would not notice, because it moves no checkpoint. Costs one query, and only if something stopped.
   */
  private async isRepaired(): Promise<boolean> {
    const stopped = this.targets.filter(({ stop }) => stop !== undefined)
    if (this.stops.refusals.size === 0 && stopped.length === 0) return false
    const live = await this.watch.live()
    const replaced = [...this.stops.refusals].filter(
      ([name, { generation }]) => liveOf(live, name)?.generation !== generation,
    )
    for (const [name] of replaced) this.stops.refusals.delete(name)
    if (replaced.length > 0) this.hasCheckedLog = false
    return (
      replaced.length > 0 ||
      stopped.some(({ projection, generation, partition, position }) => {
        const current = liveOf(live, projection.name)
        return current?.generation !== generation || current.checkpoints[partition]?.position !== position
      })
    )
  }

  /** Stops projections whose rows were made from another log: applying this log to them would mix the two. */
  private async checkLog(live: readonly Generation[]): Promise<void> {
    const { db, store } = this.options
    for (const generation of live.filter(({ name }) => !this.stops.refusals.has(name))) {
      const stop = await foreignLog(store, generation)
      if (stop === undefined) continue
      this.stops.refuse(generation.name, generation.generation, stop)
      const { name, checkpoints } = generation
      for (const { partition, position } of checkpoints)
        await recordStop(
          db,
          { name, generation: generation.generation, partition, partitions: checkpoints.length, position },
          stop,
        )
    }
    this.hasCheckedLog = true
  }

  /** Gives every generation the configured number of partitions. Returns true if the checkpoints must be read again. */
  private async repartitionAll(live: readonly Generation[]): Promise<boolean> {
    const { projections, partitions } = this.options
    if (partitions === undefined) return false
    const current = projections.flatMap((projection) => {
      const generation = liveOf(live, projection.name)
      return generation?.version !== projection.version || this.stops.refusals.has(projection.name)
        ? []
        : [{ projection, generation }]
    })
    const changing = current.filter(({ generation }) => generation.checkpoints.length !== partitions)
    if (changing.length === 0) return false
    // A checkpoint holds for all conversations of its partition, so all checkpoints must first be at one position. All
    // projections move there together, also those that keep their partitions: a reader must not see an event in one
    // projection and not in another.
    const targets = current.flatMap(({ projection, generation }) => targetsOf(projection, generation))
    const { batchSize } = await this.pace()
    const options = { batchSize, exactly: true }
    if ((await applyUntil(this.options, targets, mostPosition(targets), options)) === 'moved') return true
    for (const { generation } of changing) await this.repartitionOne(generation, partitions)
    return true
  }

  private async repartitionOne({ name, generation, checkpoints }: Generation, partitions: number): Promise<void> {
    const isRepartitioned = await this.options.db.transaction(async (sql) => {
      await lockLayout(sql)
      return await repartition(sql, name, generation, partitions)
    })
    if (isRepartitioned) return
    this.options.onFailure?.(
      new Error(
        `cannot change ${name} from ${String(checkpoints.length)} to ${String(partitions)} partitions while one of them is stopped`,
      ),
    )
  }

  /**
   * The position that all rows have reached, if it is at least `wanted` and all rows have the version of this program.
   * Costs two queries; opening the generations costs eight.
   */
  private async reachedPosition(wanted: number): Promise<number | undefined> {
    const live = await this.watch.live()
    if (!this.hasCheckedLog) await this.checkLog(live)
    if (!this.hasRetried && live.some(({ stopped }) => stopped.length > 0)) return undefined
    const isCurrent = this.options.projections.every(({ name, version }) => liveOf(live, name)?.version === version)
    if (this.stops.refusals.size > 0 || !isCurrent) return undefined
    const checkpoints = live.flatMap((generation) => generation.checkpoints)
    const least = leastPosition(checkpoints)
    return least >= wanted && checkpoints.every(({ stop }) => stop === undefined) ? least : undefined
  }

  /** Applies the log up to `until` to all targets. `isLive`: readers wait for these rows. */
  private async pass(until: number, signal?: AbortSignal, isLive = false): Promise<void> {
    const { batchSize, isQuick } = await this.pace()
    if (await this.isRepaired()) await this.refresh()
    const applyOptions: ApplyOptions = {
      batchSize,
      isQuick: isLive && isQuick,
      ...(signal === undefined ? {} : { signal }),
      onBatch: (applied) => {
        for (const { target, events } of applied)
          if (events > 0) this.options.onApplied?.(target.projection.name, target.partition, events)
      },
    }
    while ((await applyUntil(this.options, this.targets, until, applyOptions)) === 'moved') await this.refresh()
    this.stops.reportConversations(this.targets)
  }

  /** Follows the log until the signal aborts; after a failure it begins again. */
  private async followUntil(signal: AbortSignal): Promise<void> {
    for (let isFirst = true; !signal.aborted;) {
      try {
        await this.followOnce(signal, isFirst)
        isFirst = false
      } catch (failure) {
        if (!signal.aborted) this.options.onFailure?.(failure)
      }
      if (!signal.aborted) await delay(RETRY_MS, undefined, { signal, ref: false }).catch(ignore)
    }
  }

  /** Follows the log from the checkpoints, until the signal aborts or the database or the store fails. */
  private async followOnce(signal: AbortSignal, isFirst: boolean): Promise<void> {
    const { store, projections, eagerEvents = 200 } = this.options
    const from = await store.head()
    // After a lost connection the log may be another one.
    this.hasCheckedLog = false
    const outdated = await this.passing.runExclusive(() => (isFirst ? this.refreshAndRetry() : this.refresh()))
    await dropRetired(this.options, projections)
    // Runs concurrently: the other projections continue, and readers use the old rows until the new ones are complete.
    const rebuilt = this.rebuildOutdated(outdated, signal)
    try {
      await this.passing.runExclusive(() => this.pass(from, signal))
      const { intervalMs } = await this.pace()
      await followLog({
        store,
        from,
        signal,
        intervalMs,
        eagerEvents,
        apply: (until) => this.passing.runExclusive(() => this.pass(until, signal, true)),
      })
    } finally {
      await rebuilt
    }
  }

  /** Rebuilds generations of an older version. If that fails, their projections are refused. Never rejects. */
  private async rebuildOutdated(outdated: readonly Generation[], signal: AbortSignal): Promise<void> {
    if (outdated.length === 0) return
    try {
      await this.rebuild(namesOf(outdated), { signal })
    } catch (failure) {
      if (signal.aborted) return
      for (const { name, generation } of outdated)
        this.stops.refuse(name, generation, { reason: thrownSentence(failure) })
      this.options.onFailure?.(failure)
    }
  }
}

const namesOf = (named: readonly { readonly name: string }[]): string[] => named.map(({ name }) => name)

/** Creates a runner. It does nothing before its first call. */
export function createProjectionRunner(options: RunnerOptions): ProjectionRunner {
  return new FollowingRunner(options)
}

function ignore(): void {
  // The failure is reported to the caller that started the work, or to `onFailure`.
}
