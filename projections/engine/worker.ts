/**
 * The process that applies events to the read models. Several can run: the one that holds the claim works, and another
 * takes over when it ends or dies.
 *
 * Safety comes from the claim's fence, not from the claim itself. A process writes its fence to the checkpoints when it
 * begins to work, and a transaction with a smaller fence cannot move a checkpoint. So a process that was suspended and
 * lost its claim commits nothing after it resumes.
 */
import type { ClaimHolder, Claims } from '../../src/ports/claims.js'
import { takeLease } from '../../src/ports/lease.js'
import { createProjectionRunner, type RunnerOptions } from './runner.js'
import { createProjectionWatch, PROJECTIONS_CLAIM, type ProjectionStatus } from './watch.js'

/** Interval between two transactions. Shorter than the default, because this process has no appends to serve. */
const WORKER_INTERVAL_MS = 10

export type WorkerState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'standing-by'; readonly holder: ClaimHolder }
  | { readonly kind: 'working'; readonly fence: number }
  /** Another process has the claim, or the database was unavailable for longer than `ttlMs`. Then it stands by. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'ended' }

export interface WorkerOptions extends Omit<RunnerOptions, 'fence'> {
  readonly claims: Claims
  /** Unique name of this process, for users and other processes. */
  readonly owner: string
  /**
   * How long the claim lasts if it is not extended. After the working process died, another one takes over within this
   * time and a sixth of it. Default 3 s.
   */
  readonly ttlMs?: number
  readonly onState?: (state: WorkerState) => void
}

export interface ProjectionWorker {
  readonly state: () => WorkerState
  status(): Promise<ProjectionStatus[]>
  /** Finishes the current transactions and releases the claim. */
  stop(): Promise<void>
}

const TTL_MS = 3_000

/** Works until `stop`, whenever no other process holds the claim. */
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
      const runner = createProjectionRunner({ intervalMs: WORKER_INTERVAL_MS, ...options, fence: lease.fence })
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
  const ended = work()

  return {
    state: () => state,
    status: () => status(),
    async stop() {
      ending.abort()
      await ended
    },
  }
}

async function eitherAborts(first: AbortSignal, second: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const aborted = (): void => {
      first.removeEventListener('abort', aborted)
      second.removeEventListener('abort', aborted)
      resolve()
    }
    first.addEventListener('abort', aborted)
    second.addEventListener('abort', aborted)
    if (first.aborted || second.aborted) aborted()
  })
}

function ignore(): void {
  // The caller passed no listener.
}
