/** Leases: a claim is extended while its work runs, and lost if that fails. */
import type { ClaimHolder, Claims } from './claims.js'
import { sleep } from './clock.js'

export interface Extending {
  /** Aborts when another owner has it, or when no extension succeeded within `ttlMs`. */
  readonly lost: AbortSignal
  /** Stops extending; resolves when no extension is running. */
  end(): Promise<void>
}

/**
 * Extends something repeatedly until `end`.
 * @param extend returns false if another owner has it
 * @param ttlMs duration of each extension
 */
export function keepExtending(
  extend: () => Promise<boolean>,
  ttlMs: number,
  onFailure: (failure: unknown) => void = ignore,
): Extending {
  const lost = new AbortController()
  const ending = new AbortController()
  const ended = (async () => {
    let lastAt = performance.now()
    for (;;) {
      await sleep(ttlMs / 3, ending.signal)
      if (ending.signal.aborted) return
      const startedAt = performance.now()
      try {
        if (!(await extend())) break
        lastAt = startedAt
      } catch (failure) {
        onFailure(failure)
        // Other processes may still reach the database and claim it after `ttlMs`.
        if (performance.now() - lastAt >= ttlMs) break
      }
    }
    if (!ending.signal.aborted) lost.abort()
  })()
  return {
    lost: lost.signal,
    async end() {
      ending.abort()
      await ended
    },
  }
}

/** A claim that is extended until it is released. */
export interface Lease {
  readonly fence: number
  /** Aborts when another owner has the claim, or when no extension succeeded within `ttlMs`. */
  readonly lost: AbortSignal
  /**
   * Extends the claim now; false if it is lost. A process that was suspended learns it from this before it learns it
   * from `lost`.
   */
  confirm(): Promise<boolean>
  /** Releases the claim immediately. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly claims: Claims
  readonly key: string
  /** Unique name of this process, for users and other processes. */
  readonly owner: string
  readonly ttlMs: number
  /** Interval of attempts while another owner has the claim. */
  readonly pollMs: number
  /** Maximum time to wait. Default: until `signal` aborts. */
  readonly patienceMs?: number
  /** Ends waiting; does not end the lease. */
  readonly signal?: AbortSignal | undefined
  /** Default: the machine's clock. */
  readonly wait?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
  /** Called once for each other owner of the claim. */
  readonly onWaiting?: (holder: ClaimHolder) => void
  /** Called with failures, which are then retried. Without it, a failure to take the claim is thrown. */
  readonly onFailure?: (failure: unknown) => void
}

/** Takes the claim, and waits until its owner releases it. Returns undefined after `patienceMs`. */
export async function takeLease(options: LeaseOptions): Promise<Lease | undefined> {
  const { claims, key, owner, ttlMs, pollMs, patienceMs = Infinity, wait = sleep, onWaiting, onFailure } = options
  const signal = options.signal ?? new AbortController().signal
  let reportedOwner: string | undefined
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    try {
      const claim = await claims.take(key, owner, ttlMs)
      if (claim !== undefined) {
        const extending = keepExtending(() => claim.extend(), ttlMs, onFailure)
        return {
          fence: claim.fence,
          lost: extending.lost,
          confirm: async () => !extending.lost.aborted && (await claim.extend()),
          async release() {
            await extending.end()
            await claim.release()
          },
        }
      }
      if (onWaiting !== undefined) {
        const holder = await claims.holder(key)
        if (holder !== undefined && holder.owner !== reportedOwner) onWaiting(holder)
        reportedOwner = holder?.owner
      }
    } catch (failure) {
      if (onFailure === undefined) throw failure
      onFailure(failure)
    }
    if (waitedMs >= patienceMs || signal.aborted) return undefined
    await wait(pollMs, signal)
    if (signal.aborted) return undefined
  }
}

function ignore(): void {
  // The extension is retried.
}
