/**
 * Keeps the read models: from their checkpoints on over the streams of conversations, rows and checkpoint in one transaction.
 *
 * Two runners on one database share the work and never apply twice. A projection whose version is newer than its rows is rebuilt beside them
 * at the start; one whose rows are newer than this program stands still, because two programs of different age would rebuild in turns for ever.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { CONVERSATION_PREFIX } from '../src/domain/ids.js'
import { applyUntil, type ProjectionSource, type Stop, type Target } from './apply.js'
import { dropRetired, rebuild, type RebuildOptions } from './rebuild.js'
import { estimatedRows, hasCheckpoints, openGenerations, readCheckpoints, type Checkpoint } from './store.js'

export interface RunnerOptions extends ProjectionSource {
  /** Facts a transaction. */
  readonly batchSize?: number
  /** Where it follows the log: how long after one transaction the next may begin, unless `eagerEvents` wait. Default 200 ms. */
  readonly intervalMs?: number
  readonly eagerEvents?: number
  /** Told of what it goes on after by itself: a database that did not answer, a rebuild that failed. */
  readonly onFailure?: (failure: unknown) => void
}

export interface ProjectionStatus {
  readonly name: string
  /** Of the rows that readers see. */
  readonly version: number
  readonly generation: number
  readonly position: bigint
  readonly head: bigint
  /** Places of the log behind its head: events, in a store that numbers them without gaps. */
  readonly lag: bigint
  /** 'idle' where nothing keeps it at the moment, 'following' where this process does, 'rebuilding' where new rows are being filled beside. */
  readonly state: 'idle' | 'following' | 'rebuilding' | 'stopped'
  /** Why it stopped, and at which fact. */
  readonly stop?: Stop
  /** About how many, where the database has an estimate. */
  readonly rows?: number
  readonly updatedAt: string
}

/** A projection met a fact that it cannot apply. Its rows show everything before it. */
export class ProjectionStopped extends Error {
  constructor(
    readonly projection: string,
    readonly stop: Stop,
  ) {
    super(`${projection} ${stop.reason}`)
    this.name = 'ProjectionStopped'
  }
}

export interface ProjectionRunner {
  /** Applies what the log has up to `until` (default: its head now) and says how far all rows have come. Throws `ProjectionStopped` where one cannot go on; the others have. */
  catchUp(until?: bigint): Promise<bigint>
  /** Follows the log until `stop`. What stopped before is tried again. */
  start(): void
  /** Resolves to true as soon as all rows show `position`, to false after `timeoutMs` or where a projection stopped before it. Works wherever the runner runs. */
  waitFor(position: bigint, timeoutMs: number): Promise<boolean>
  status(): Promise<ProjectionStatus[]>
  rebuild(names: readonly string[] | 'all', options?: RebuildOptions): Promise<void>
  /** Ends following; resolves when no statement of this runner is under way. */
  stop(): Promise<void>
}

// 500 facts of usual size are one transaction of about 100 ms on the embedded engine, for which long an append waits.
const BATCH = 500
const RETRY_MS = 1_000
const POLL_MS = 25

/** Creates a runner; it does nothing until it is asked. */
export function createProjectionRunner(options: RunnerOptions): ProjectionRunner {
  const { db, store, projections, batchSize = BATCH, intervalMs = 200, eagerEvents = 200, onFailure = ignore } = options
  const names = projections.map(({ name }) => name)
  const stops = new Map<string, Stop>()
  const rebuilding = new Set<string>()
  let targets: Target[] = []
  let last: Promise<unknown> = Promise.resolve()
  let hasTable = false
  let following: { readonly abort: AbortController; readonly done: Promise<void> } | undefined

  /** One pass at a time: two of one process would only make each other's checkpoints move. */
  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    const before = last
    const mine = (async () => {
      await before.catch(ignore)
      return await work()
    })()
    last = mine
    return await mine
  }

  /** Reads where the rows stand; what this program cannot keep is left out, with the reason in `stops`. Gives the names whose rows are of an older version. */
  async function refresh(): Promise<string[]> {
    const live = await openGenerations(db, projections)
    const outdated: string[] = []
    targets = projections.flatMap((projection): Target[] => {
      const checkpoint = live.get(projection.name)
      if (checkpoint === undefined) return []
      if (checkpoint.version < projection.version) {
        outdated.push(projection.name)
        return []
      }
      if (checkpoint.version > projection.version) {
        const reason = `has rows of version ${String(checkpoint.version)}, which is newer than this program's version ${String(projection.version)}`
        stops.set(projection.name, { reason })
        return []
      }
      return [{ projection, generation: checkpoint.generation, position: checkpoint.position, stop: stops.get(projection.name) }]
    })
    return outdated
  }

  async function pass(until: bigint, signal?: AbortSignal): Promise<void> {
    while ((await applyUntil(options, targets, until, { batchSize, ...(signal === undefined ? {} : { signal }) })) === 'moved') await refresh()
    for (const { projection, stop } of targets) if (stop !== undefined) stops.set(projection.name, stop)
  }

  async function rebuildNamed(which: readonly string[] | 'all', rebuildOptions: RebuildOptions = {}): Promise<void> {
    const chosen = which === 'all' ? names : which
    for (const name of chosen) rebuilding.add(name)
    try {
      await rebuild(options, chosen, rebuildOptions)
      // New rows from the start are as good as never stopped; what stops them again has stopped the rebuild already.
      for (const name of chosen) stops.delete(name)
    } finally {
      for (const name of chosen) rebuilding.delete(name)
    }
    await exclusively(refresh)
  }

  /** How far all rows have come, where they are of this very version and show `wanted`: two queries, where laying out tables takes eight. */
  async function shown(wanted: bigint): Promise<bigint | undefined> {
    if (stops.size > 0) return undefined
    const live = (await checkpoints()).filter(({ state }) => state === 'live')
    const positions = projections.map(({ name, version }) => live.find((checkpoint) => checkpoint.name === name && checkpoint.version === version)?.position ?? -2n)
    const least = positions.reduce((lowest, position) => (position < lowest ? position : lowest), positions[0] ?? -2n)
    return least >= wanted && least > -2n ? least : undefined
  }

  async function catchUp(until?: bigint): Promise<bigint> {
    // Every search asks, and nearly always there is nothing to do.
    const there = await shown(until ?? (await store.head()))
    if (there !== undefined) return there
    await exclusively(async () => {
      stops.clear()
      const outdated = await refresh()
      if (outdated.length > 0) {
        await rebuild(options, outdated)
        await refresh()
      }
      await pass(until ?? (await store.head()))
    })
    for (const [name, stop] of stops) throw new ProjectionStopped(name, stop)
    return targets.reduce((least, { position }) => (position < least ? position : least), targets[0]?.position ?? -1n)
  }

  /** Follows once, from where the rows stand, until the signal or a failure of the world. */
  async function follow(signal: AbortSignal): Promise<void> {
    const from = await store.head()
    const outdated = await exclusively(refresh)
    await dropRetired(options, projections)
    // Beside, and not before: the other projections go on, and readers keep the old rows until the new ones are there.
    const beside = outdated.length === 0 ? undefined : rebuildNamed(outdated, { signal })
    beside?.catch((failure: unknown) => {
      for (const name of outdated) stops.set(name, { reason: failure instanceof Error ? failure.message : String(failure) })
      if (!signal.aborted) onFailure(failure)
    })
    try {
      await exclusively(() => pass(from, signal))
      await keepApplying(from, signal)
    } finally {
      await beside?.catch(ignore)
    }
  }

  /**
   * The subscription says that something came; the facts themselves are read from the checkpoints on, which is one way in for all that can have
   * happened between (a second runner, a swap, a retry). The first event after a pause is applied at once, further ones together.
   */
  async function keepApplying(from: bigint, signal: AbortSignal): Promise<void> {
    const alarm = createAlarm()
    const stopListening = new AbortController()
    // By hand and not with `AbortSignal.any`: Node 20 lets the joined signal be collected, and then the subscription never hears of the end.
    const ending = (): void => {
      stopListening.abort()
    }
    signal.addEventListener('abort', ending)
    if (signal.aborted) ending()
    const heard = { position: from, events: 0, ended: false }
    const listening = (async () => {
      try {
        for await (const item of store.subscribe({ after: from, prefix: CONVERSATION_PREFIX, signal: stopListening.signal })) {
          if (item.kind === 'event') heard.events += 1
          heard.position = item.kind === 'event' ? item.event.position : item.position
          if (item.kind === 'caught-up' || heard.events >= eagerEvents) alarm.ring()
          // The subscription works only while it is asked: under a stream of appends it looks once an interval, and not after each of them
          // (measured on the embedded engine: two queries an append, more than the append itself).
          if (item.kind === 'caught-up') await delay(intervalMs, undefined, { signal: stopListening.signal }).catch(ignore)
        }
      } finally {
        heard.ended = true
        alarm.ring()
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
          await alarm.sleep(isBehind ? dueInMs : undefined)
          continue
        }
        const until = heard.position
        heard.events = 0
        await exclusively(() => pass(until, signal))
        applied = until
        lastAt = performance.now()
      }
    } finally {
      signal.removeEventListener('abort', ending)
      ending()
      await listening.catch(ignore)
    }
    // A subscription that broke throws here, so that the caller begins anew.
    await listening
  }

  function start(): void {
    if (following !== undefined) return
    const abort = new AbortController()
    stops.clear()
    const done = (async () => {
      while (!abort.signal.aborted) {
        try {
          await follow(abort.signal)
        } catch (failure) {
          if (!abort.signal.aborted) onFailure(failure)
        }
        if (!abort.signal.aborted) await sleep(RETRY_MS, abort.signal)
      }
    })()
    following = { abort, done }
  }

  async function waitFor(position: bigint, timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs
    for (;;) {
      const known = (await checkpoints()).filter(({ state }) => state === 'live')
      if (known.length === projections.length && known.every((checkpoint) => checkpoint.position >= position)) return true
      if (performance.now() >= until || names.some((name) => stops.has(name))) return false
      // Whoever waits need not wait for the interval too.
      if (following !== undefined) await exclusively(() => pass(position)).catch(ignore)
      await sleep(Math.min(POLL_MS, Math.max(1, until - performance.now())))
    }
  }

  async function checkpoints(): Promise<Checkpoint[]> {
    // Once made, the table stays.
    hasTable ||= await hasCheckpoints(db)
    return hasTable ? await readCheckpoints(db, names) : []
  }

  async function status(): Promise<ProjectionStatus[]> {
    const head = await store.head()
    const known = await checkpoints()
    const all: ProjectionStatus[] = []
    for (const projection of projections) {
      const mine = known.filter(({ name }) => name === projection.name)
      const live = mine.find(({ state }) => state === 'live')
      const position = live?.position ?? -1n
      const stop = stops.get(projection.name)
      const beside = rebuilding.has(projection.name)
      const rows = live === undefined ? undefined : await estimatedRows(db, live)
      all.push({
        name: projection.name,
        version: live?.version ?? projection.version,
        generation: live?.generation ?? 0,
        position,
        head,
        lag: head > position ? head - position : 0n,
        state: beside ? 'rebuilding' : stop !== undefined ? 'stopped' : following === undefined ? 'idle' : 'following',
        ...(stop === undefined ? {} : { stop }),
        ...(rows === undefined ? {} : { rows }),
        updatedAt: live?.updatedAt ?? '',
      })
    }
    return all
  }

  return {
    catchUp,
    start,
    waitFor,
    status,
    rebuild: rebuildNamed,
    async stop() {
      const ending = following
      following = undefined
      ending?.abort.abort()
      await ending?.done
      await last.catch(ignore)
    },
  }
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
  })
}

/** One who sleeps, and those who wake it. A ring that nobody sleeps for is kept for the next sleep. */
function createAlarm(): { ring(): void; sleep(ms?: number): Promise<void> } {
  let rung = false
  let answer: () => void = ignore
  return {
    ring() {
      rung = true
      answer()
    },
    async sleep(ms) {
      if (!rung) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          answer = resolve
          if (ms !== undefined) timer = setTimeout(resolve, ms)
        })
        clearTimeout(timer)
        answer = ignore
      }
      rung = false
    },
  }
}

function ignore(): void {
  // Told elsewhere: to the caller whose work it was, or to `onFailure`.
}
