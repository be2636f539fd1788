/**
 * The process that keeps the read models. Several may run; the one that holds the claim works, and the next takes over
 * when it ends or dies.
 *
 * What makes that safe is not the claim but its fence: it is written on the checkpoints when a process begins to work,
 * and every transaction that moves one refuses a smaller fence. So a process that stood still, lost its claim and wakes
 * up again commits nothing.
 */
import type { ClaimHolder, Claims } from '../../src/ports/claims.js'
import { takeLease } from '../../src/ports/lease.js'
import { createProjectionRunner, type RunnerOptions } from './runner.js'
import { createProjectionWatch, PROJECTIONS_CLAIM, type ProjectionStatus } from './watch.js'

/** Between two transactions. A process that does nothing else need not leave its time to appends. */
const ALONE_MS = 10

export type WorkerState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'standing-by'; readonly holder: ClaimHolder }
  | { readonly kind: 'working'; readonly fence: bigint }
  /** Another process has the claim, or the database could not be asked for too long. It stands by again. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'ended' }

export interface WorkerOptions extends Omit<RunnerOptions, 'fence'> {
  readonly claims: Claims
  /** Names this process to people and to the others; unlike that of any other process. */
  readonly owner: string
  /**
   * How long the claim lasts without being extended: so long, and a sixth, after the working process died the next one
   * has taken over. Default 3 s.
   */
  readonly ttlMs?: number
  readonly onState?: (state: WorkerState) => void
}

export interface ProjectionWorker {
  readonly state: () => WorkerState
  status(): Promise<ProjectionStatus[]>
  /** Finishes the transactions that are under way, lets the next one take over, and resolves. */
  stop(): Promise<void>
}

const TTL_MS = 3_000

/** Begins to work as soon as nobody else does, until `stop`. */
export function startProjectionWorker(options: WorkerOptions): ProjectionWorker {
  const { claims, owner, ttlMs = TTL_MS, onState = ignore, onFailure = ignore } = options
  const watch = createProjectionWatch(options)
  const ending = new AbortController()
  let state: WorkerState = { kind: 'starting' }
  let status = (): Promise<ProjectionStatus[]> => watch.status()

  function become(next: WorkerState): void {
    state = next
    onState(next)
  }

  async function work(): Promise<void> {
    while (!ending.signal.aborted) {
      const lease = await takeLease({
        claims,
        key: PROJECTIONS_CLAIM,
        owner,
        ttlMs,
        pollMs: ttlMs / 6,
        signal: ending.signal,
        onFailure,
        onWaiting: (holder) => {
          become({ kind: 'standing-by', holder })
        },
      })
      if (lease === undefined) break
      const runner = createProjectionRunner({ intervalMs: ALONE_MS, ...options, fence: lease.fence })
      become({ kind: 'working', fence: lease.fence })
      runner.start()
      status = () => runner.status()
      await eitherAborts(ending.signal, lease.lost)
      status = () => watch.status()
      if (!ending.signal.aborted) become({ kind: 'lost' })
      await runner.stop()
      await lease.release().catch(onFailure)
    }
    become({ kind: 'ended' })
  }
  const done = work()

  return {
    state: () => state,
    status: () => status(),
    async stop() {
      ending.abort()
      await done
    },
  }
}

async function eitherAborts(one: AbortSignal, other: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const aborted = (): void => {
      one.removeEventListener('abort', aborted)
      other.removeEventListener('abort', aborted)
      resolve()
    }
    one.addEventListener('abort', aborted)
    other.addEventListener('abort', aborted)
    if (one.aborted || other.aborted) aborted()
  })
}

function ignore(): void {
  // Nobody asked to be told.
}
