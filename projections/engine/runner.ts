/**
 * Keeps the read models: from their checkpoints on over the streams of conversations and editions, rows and checkpoint
 * in one transaction.
 *
 * Two runners on one database share the work and never apply twice. A projection whose version is newer than its rows
 * is rebuilt beside them at the start; one whose rows are newer than this program stands still, because two programs of
 * different age would rebuild in turns for ever. Where a process of its own keeps the read models, `worker.ts` lets one
 * runner of several work at a time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Mutex } from 'async-mutex'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import type { Claims } from '../../src/ports/claims.js'
import { createSignal } from '../../src/ports/signal.js'
import { applyUntil, retryStopped, targetsOf, type ProjectionSource, type Target } from './apply.js'
import {
  clearStops,
  divide,
  hasCheckpoints,
  leastPosition,
  liveOf,
  lockLayout,
  mostPosition,
  raiseFence,
  recordStop,
  type Generation,
  type Stop,
} from './checkpoints.js'
import { foreignLog } from './log-identity.js'
import type { Projection } from './projection.js'
import { dropRetired, rebuild, type RebuildOptions } from './rebuild.js'
import { openGenerations, runsInProcess } from './store.js'
import { PROJECTED_PREFIXES } from './streams.js'
import {
  createProjectionWatch,
  ProjectionStopped,
  type Behind,
  type ProjectionStatus,
  type Refusal,
  type StoppedConversation,
  type WaitOptions,
} from './watch.js'

export { ProjectionStopped } from './watch.js'

export interface RunnerOptions extends ProjectionSource {
  /** Most facts a transaction. Default 500 on the embedded engine, 4,000 on a server. */
  readonly batchSize?: number
  /**
   * Where it follows the log: how long after one transaction the next may begin, unless `eagerEvents` wait. Default 200
   * ms on the embedded engine, 20 ms on a server.
   */
  readonly intervalMs?: number
  readonly eagerEvents?: number
  /** Over how many partitions the conversations are spread. Default: over as many as the rows were last kept by. */
  readonly partitions?: number
  /** For the status: who holds the claim. */
  readonly claims?: Claims
  /** Told of what it goes on after by itself: a database that did not answer, a rebuild that failed. */
  readonly onFailure?: (failure: unknown) => void
  /** Told of facts that were applied. */
  readonly onApplied?: (projection: string, partition: number, events: number) => void
  /** Told once of each projection that does not go on at all, and of each conversation that it goes on without. */
  readonly onStop?: (projection: string, stop: Stop) => void
}

export interface ProjectionRunner {
  /**
   * Applies what the log has up to `until` (default: its head now) and says how far all rows have come, those of
   * stopped conversations excepted. Throws `ProjectionStopped` where a projection cannot go on at all; the others have.
   */
  catchUp(until?: bigint): Promise<bigint>
  /** Follows the log until `stop`. What stopped before is tried again. */
  start(): void
  /**
   * Resolves to true as soon as all rows show `position`, those of stopped conversations excepted, to false after
   * `timeoutMs`; throws `ProjectionStopped` where a projection, or the conversation that is waited for, stopped before
   * it. Works wherever the runner runs, and without one.
   */
  waitFor(position: bigint, timeoutMs: number, options?: WaitOptions): Promise<boolean>
  status(): Promise<ProjectionStatus[]>
  /** Where rows of a conversation, or of any, do not go on, and why. */
  stopped(conversationId?: string): Promise<StoppedConversation[]>
  /** How far the rows are behind the log, whoever keeps them; undefined where they are not. */
  behind(options?: WaitOptions): Promise<Behind | undefined>
  rebuild(names: readonly string[] | 'all', options?: RebuildOptions): Promise<void>
  /** Ends following; resolves when no statement of this runner is under way. */
  stop(): Promise<void>
}

// 500 facts of usual size are one transaction of about 100 ms on the embedded engine, for which long an append waits.
// On a server nobody waits.
const EMBEDDED = { batchSize: 500, intervalMs: 200, isQuick: false }
const SERVER = { batchSize: 4_000, intervalMs: 20, isQuick: true }
const RETRY_MS = 1_000

/** Creates a runner; it does nothing until it is asked. */
export function createProjectionRunner(options: RunnerOptions): ProjectionRunner {
  const {
    db,
    store,
    projections,
    fence,
    partitions,
    eagerEvents = 200,
    onFailure = ignore,
    onApplied = ignore,
    onStop = ignore,
  } = options
  const names = projections.map(({ name }) => name)
  const watch = createProjectionWatch(options)
  /**
   * Why this program cannot keep a projection, as it is at the moment, at all. What stops at a fact is noted with its
   * checkpoint.
   */
  const refused = new Map<string, Refusal>()
  const rebuilding = new Set<string>()
  let pace: typeof EMBEDDED | undefined
  let targets: Target[] = []
  /** One pass at a time: two of one process would only make each other's checkpoints move. */
  const passing = new Mutex()
  let hasLookedAtLog = false
  /** Whether this runner has tried the conversations again that stopped before its time. */
  let hasRetried = false
  const told = new Set<string>()
  let following: { readonly abort: AbortController; readonly done: Promise<void> } | undefined

  async function paceOf(): Promise<typeof EMBEDDED> {
    pace ??= (await runsInProcess(db)) ? EMBEDDED : SERVER
    return {
      ...pace,
      batchSize: options.batchSize ?? pace.batchSize,
      intervalMs: options.intervalMs ?? pace.intervalMs,
    }
  }

  /**
   * Reads where the rows stand; what this program cannot keep is left out, with the reason in `refused`. Gives those
   * whose rows are of an older version.
   */
  async function refresh(): Promise<Generation[]> {
    let live = await openGenerations(db, projections, partitions)
    if (fence !== undefined) await raiseFence(db, names, fence)
    if (!hasLookedAtLog) await lookAtLog(live)
    if (await divideAll(live)) live = await watch.live()
    const outdated: Generation[] = []
    targets = projections.flatMap((projection): Target[] => {
      const generation = liveOf(live, projection.name)
      if (generation === undefined || refused.has(projection.name)) return []
      if (generation.version < projection.version) {
        outdated.push(generation)
        return []
      }
      if (generation.version > projection.version) {
        refuse(projection.name, generation.generation, {
          reason: `has rows of version ${String(generation.version)}, which is newer than this program's version ${String(projection.version)}`,
        })
        return []
      }
      return targetsOf(projection, generation)
    })
    return outdated
  }

  function refuse(name: string, generation: number, stop: Stop): void {
    refused.set(name, { stop, generation })
    onStop(name, stop)
  }

  /**
   * Whether somebody else has rebuilt, or brought on, what does not go on here: then it is taken up again. What stands
   * still would not notice by itself, because it moves no checkpoint. One query, and only where something has stopped.
   */
  async function isMended(): Promise<boolean> {
    const stopped = targets.filter(({ stop }) => stop !== undefined)
    if (refused.size === 0 && stopped.length === 0) return false
    const live = await watch.live()
    const replaced = [...refused].filter(([name, { generation }]) => liveOf(live, name)?.generation !== generation)
    for (const [name] of replaced) refused.delete(name)
    if (replaced.length > 0) hasLookedAtLog = false
    return (
      replaced.length > 0 ||
      stopped.some(({ projection, generation, partition, position }) => {
        const now = liveOf(live, projection.name)
        return now?.generation !== generation || now.checkpoints[partition]?.position !== position
      })
    )
  }

  /** Forgets why projections stopped, so that they are tried again, on this log. */
  async function tryAgain(): Promise<Generation[]> {
    refused.clear()
    hasLookedAtLog = false
    // Where nothing was ever projected there is nothing to forget.
    if (await hasCheckpoints(db)) await clearStops(db, names)
    const outdated = await refresh()
    if (!hasRetried) await retryStopped(options, targets)
    hasRetried = true
    return outdated
  }

  /** Rows that were made from another log stop their projection: going on would mix two logs without a word. */
  async function lookAtLog(live: readonly Generation[]): Promise<void> {
    for (const generation of live.filter(({ name }) => !refused.has(name))) {
      const stop = await foreignLog(store, generation)
      if (stop === undefined) continue
      refuse(generation.name, generation.generation, stop)
      const { name, checkpoints } = generation
      for (const { partition, position } of checkpoints)
        await recordStop(
          db,
          { name, generation: generation.generation, partition, partitions: checkpoints.length, position },
          stop,
        )
    }
    hasLookedAtLog = true
  }

  /** Brings every generation to the number of partitions that this runner was told; true where one was changed. */
  async function divideAll(live: readonly Generation[]): Promise<boolean> {
    const kept = projections.flatMap((projection) => {
      const generation = liveOf(live, projection.name)
      return generation?.version !== projection.version || refused.has(projection.name)
        ? []
        : [{ projection, generation }]
    })
    const others = kept.filter(
      ({ generation }) => partitions !== undefined && generation.checkpoints.length !== partitions,
    )
    if (partitions === undefined || others.length === 0) return false
    // A checkpoint says of all conversations of its partition how far they are, so there must be one place that is true
    // of all. All projections go there together, also those that stay as they are: a reader must not see a fact in one
    // of them and not in the other.
    const old = kept.flatMap(({ projection, generation }) => targetsOf(projection, generation))
    const { batchSize } = await paceOf()
    if ((await applyUntil(options, old, mostPosition(old), { batchSize, exactly: true })) === 'moved') return true
    for (const { projection, generation } of others) await divideOne(projection, generation, partitions)
    return true
  }

  async function divideOne({ name }: Projection, { generation, checkpoints }: Generation, into: number): Promise<void> {
    const isDone = await db.transaction(async (sql) => {
      await lockLayout(sql)
      return await divide(sql, name, generation, into)
    })
    if (!isDone)
      onFailure(
        new Error(
          `${name} stays in ${String(checkpoints.length)} partitions, and does not come to ${String(into)}, for as long as one of them is stopped`,
        ),
      )
  }

  async function pass(until: bigint, signal?: AbortSignal, isLive = false): Promise<void> {
    const { batchSize, isQuick } = await paceOf()
    if (await isMended()) await refresh()
    const applying = {
      batchSize,
      isQuick: isLive && isQuick,
      ...(signal === undefined ? {} : { signal }),
      onBatch: (applied: readonly { readonly target: Target; readonly events: number }[]) => {
        for (const { target, events } of applied)
          if (events > 0) onApplied(target.projection.name, target.partition, events)
      },
    }
    while ((await applyUntil(options, targets, until, applying)) === 'moved') await refresh()
    tellStopped()
  }

  /** Tells of the conversations that projections go on without, each once. */
  function tellStopped(): void {
    for (const { projection, generation, stopped } of targets) {
      for (const stop of stopped.values()) {
        const key = JSON.stringify([projection.name, generation, stop.conversationId])
        if (told.has(key)) continue
        told.add(key)
        onStop(projection.name, stop)
      }
    }
  }

  async function rebuildNamed(which: readonly string[] | 'all', rebuildOptions: RebuildOptions = {}): Promise<void> {
    const chosen = which === 'all' ? names : which
    for (const name of chosen) rebuilding.add(name)
    try {
      await rebuild(options, chosen, rebuildOptions)
      // New rows from the start are as good as never stopped; what stops them again has stopped the rebuild already.
      for (const name of chosen) refused.delete(name)
    } finally {
      for (const name of chosen) rebuilding.delete(name)
    }
    await passing.runExclusive(refresh)
  }

  /**
   * How far all rows have come, where they are of this very version and show `wanted`: two queries, where laying out
   * tables takes eight.
   */
  async function shown(wanted: bigint): Promise<bigint | undefined> {
    const live = await watch.live()
    if (!hasLookedAtLog) await lookAtLog(live)
    if (!hasRetried && live.some(({ stopped }) => stopped.length > 0)) return undefined
    if (refused.size > 0 || !projections.every(({ name, version }) => liveOf(live, name)?.version === version))
      return undefined
    const checkpoints = live.flatMap((generation) => generation.checkpoints)
    const least = leastPosition(checkpoints)
    return least >= wanted && checkpoints.every(({ stop }) => stop === undefined) ? least : undefined
  }

  async function catchUp(until?: bigint): Promise<bigint> {
    // Every search asks, and nearly always there is nothing to do.
    const there = await shown(until ?? (await store.head()))
    if (there !== undefined) return there
    await passing.runExclusive(async () => {
      const outdated = await tryAgain()
      if (outdated.length > 0) {
        await rebuild(
          options,
          outdated.map(({ name }) => name),
        )
        await refresh()
      }
      await pass(until ?? (await store.head()))
    })
    for (const [name, { stop }] of refused) throw new ProjectionStopped(name, stop)
    for (const { projection, stop } of targets)
      if (stop !== undefined) throw new ProjectionStopped(projection.name, stop)
    return leastPosition(targets)
  }

  /** Follows once, from where the rows stand, until the signal or a failure of the world. */
  async function follow(signal: AbortSignal, isFirst: boolean): Promise<void> {
    const from = await store.head()
    // A connection that broke may have been to another log, so each time it is looked at anew.
    hasLookedAtLog = false
    const outdated = await passing.runExclusive(isFirst ? tryAgain : refresh)
    await dropRetired(options, projections)
    // Beside, and not before: the other projections go on, and readers keep the old rows until the new ones are there.
    const beside =
      outdated.length === 0
        ? undefined
        : rebuildNamed(
            outdated.map(({ name }) => name),
            { signal },
          )
    beside?.catch((failure: unknown) => {
      if (signal.aborted) return
      for (const { name, generation } of outdated) refuse(name, generation, { reason: thrownSentence(failure) })
      onFailure(failure)
    })
    try {
      await passing.runExclusive(() => pass(from, signal))
      await keepApplying(from, signal)
    } finally {
      await beside?.catch(ignore)
    }
  }

  /**
   * The subscription says that something came; the facts themselves are read from the checkpoints on, which is one way
   * in for all that can have happened between (a second runner, a swap, a retry). The first event after a pause is
   * applied at once, further ones together.
   */
  async function keepApplying(from: bigint, signal: AbortSignal): Promise<void> {
    const { intervalMs } = await paceOf()
    const news = createSignal()
    const stopListening = new AbortController()
    // By hand and not with `AbortSignal.any`: Node 20 lets the joined signal be collected, and then the subscription
    // never hears of the end.
    const ending = (): void => {
      stopListening.abort()
    }
    signal.addEventListener('abort', ending)
    if (signal.aborted) ending()
    const heard = { position: from, events: 0, ended: false }
    let late: NodeJS.Timeout | undefined
    const listening = (async () => {
      try {
        for await (const item of store.subscribe({
          after: from,
          prefix: PROJECTED_PREFIXES,
          signal: stopListening.signal,
        })) {
          if (item.kind === 'event') heard.events += 1
          // Some stores say that all was given only from time to time.
          if (heard.events === 1) {
            clearTimeout(late)
            late = setTimeout(() => {
              news.notify()
            }, intervalMs).unref()
          }
          heard.position = item.kind === 'event' ? item.event.position : item.position
          if (item.kind === 'caught-up' || heard.events >= eagerEvents) news.notify()
          // The subscription works only while it is asked: under a stream of appends it looks once an interval, and not
          // after each of them (measured on the embedded engine: two queries an append, more than the append itself).
          if (item.kind === 'caught-up')
            await delay(intervalMs, undefined, { signal: stopListening.signal, ref: false }).catch(ignore)
        }
      } finally {
        heard.ended = true
        news.notify()
      }
    })()
    listening.catch(ignore)

    let applied = from
    let lastAt = -intervalMs
    try {
      while (!heard.ended && !signal.aborted) {
        const isBehind = heard.position > applied
        const dueInMs = heard.events >= eagerEvents ? 0 : lastAt + intervalMs - performance.now()
        if (!isBehind || dueInMs > 0) {
          await news.wait(isBehind ? dueInMs : undefined)
          continue
        }
        const until = heard.position
        heard.events = 0
        await passing.runExclusive(() => pass(until, signal, true))
        applied = until
        lastAt = performance.now()
      }
    } finally {
      signal.removeEventListener('abort', ending)
      ending()
      clearTimeout(late)
      await listening.catch(ignore)
    }
    // A subscription that broke throws here, so that the caller begins anew.
    await listening
  }

  function start(): void {
    if (following !== undefined) return
    const abort = new AbortController()
    const done = (async () => {
      for (let isFirst = true; !abort.signal.aborted;) {
        try {
          await follow(abort.signal, isFirst)
          isFirst = false
        } catch (failure) {
          if (!abort.signal.aborted) onFailure(failure)
        }
        if (!abort.signal.aborted) await delay(RETRY_MS, undefined, { signal: abort.signal, ref: false }).catch(ignore)
      }
    })()
    following = { abort, done }
  }

  async function waitFor(position: bigint, timeoutMs: number, waitOptions: WaitOptions = {}): Promise<boolean> {
    return await watch.waitFor(position, timeoutMs, waitOptions, async () => {
      for (const [name, { stop }] of refused) throw new ProjectionStopped(name, stop)
      // Whoever waits need not wait for the interval too.
      if (following !== undefined) await passing.runExclusive(() => pass(position)).catch(ignore)
    })
  }

  return {
    catchUp,
    start,
    waitFor,
    stopped: (conversationId) => watch.stopped(conversationId),
    behind: (waitOptions) => watch.behind(waitOptions),
    status: () => watch.status({ isFollowing: following !== undefined, rebuilding, stops: refused }),
    rebuild: rebuildNamed,
    async stop() {
      const ending = following
      following = undefined
      ending?.abort.abort()
      await ending?.done
      await passing.waitForUnlock()
    },
  }
}

function ignore(): void {
  // Told elsewhere: to the caller whose work it was, or to `onFailure`.
}
