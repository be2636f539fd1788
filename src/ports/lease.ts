/** Holding what expires: it is extended for as long as the work under it goes on, and lost where that does not work. */
import type { ClaimHolder, Claims } from './claims.js'
import { sleep } from './clock.js'

export interface Extending {
  /** Aborts when what was held is another's, or could not be extended for as long as it lasts. */
  readonly lost: AbortSignal
  /** Extends no further; resolves when no extension is under way. */
  end(): Promise<void>
}

/**
 * Extends something again and again until `end`.
 * @param extend false where another has it
 * @param ttlMs how long each extension lasts
 */
export function keepExtending(
  extend: () => Promise<boolean>,
  ttlMs: number,
  onFailure: (failure: unknown) => void = ignore,
): Extending {
  const lost = new AbortController()
  const ending = new AbortController()
  const done = (async () => {
    let lastAt = performance.now()
    for (;;) {
      await sleep(ttlMs / 3, ending.signal)
      if (ending.signal.aborted) return
      const askedAt = performance.now()
      try {
        if (!(await extend())) break
        lastAt = askedAt
      } catch (failure) {
        onFailure(failure)
        // The database may be there for others.
        if (performance.now() - lastAt >= ttlMs) break
      }
    }
    if (!ending.signal.aborted) lost.abort()
  })()
  return {
    lost: lost.signal,
    async end() {
      ending.abort()
      await done
    },
  }
}

/** A claim that is extended until it is released. */
export interface Lease {
  readonly fence: bigint
  /** Aborts when the claim is another's, or could not be extended for as long as it lasts. */
  readonly lost: AbortSignal
  /** Lets others take it at once. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly claims: Claims
  readonly key: string
  /** Who holds it, for people and other processes; unlike that of any other process. */
  readonly owner: string
  readonly ttlMs: number
  /** How often a claim that another has is asked for. */
  readonly pollMs: number
  /** For how long it is asked for. Default: until `signal` aborts. */
  readonly patienceMs?: number
  /** Ends the waiting, and not the lease. */
  readonly signal?: AbortSignal | undefined
  /** Default: by the machine's clock. */
  readonly wait?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
  /** Told once for each holder that is waited for. */
  readonly onWaiting?: (holder: ClaimHolder) => void
  /** Told of what fails, and then it is tried again. Without it, a failure to take the claim is thrown. */
  readonly onFailure?: (failure: unknown) => void
}

/** Takes the claim, now or when whoever has it lets go; undefined where that took too long. */
export async function takeLease(options: LeaseOptions): Promise<Lease | undefined> {
  const { claims, key, owner, ttlMs, pollMs, patienceMs = Infinity, wait = sleep, onWaiting, onFailure } = options
  const signal = options.signal ?? new AbortController().signal
  let told: string | undefined
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    try {
      const claim = await claims.take(key, owner, ttlMs)
      if (claim !== undefined) {
        const extending = keepExtending(() => claim.extend(), ttlMs, onFailure)
        return {
          fence: claim.fence,
          lost: extending.lost,
          async release() {
            await extending.end()
            await claim.release()
          },
        }
      }
      if (onWaiting !== undefined) {
        const holder = await claims.holder(key)
        if (holder !== undefined && holder.owner !== told) onWaiting(holder)
        told = holder?.owner
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
  // It is tried again.
}
