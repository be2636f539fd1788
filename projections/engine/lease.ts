/**
 * Being the one of several processes that works: a claim that is extended for as long as this process lives, and that
 * runs out when it does not.
 */
import type { ClaimHolder, Claims } from '../../src/ports/claims.js'
import { sleep } from '../../src/ports/clock.js'

export interface LeaseOptions {
  readonly claims: Claims
  readonly key: string
  /** Who holds it, for people and other processes; unlike that of any other process. */
  readonly owner: string
  readonly ttlMs: number
  readonly signal: AbortSignal
  /** Told once for each holder that is waited for. */
  readonly onWaiting: (holder: ClaimHolder) => void
  readonly onFailure: (failure: unknown) => void
}

export interface Lease {
  readonly fence: bigint
  /** Aborts when the claim is another's, or could not be extended for as long as it lasts. */
  readonly lost: AbortSignal
  /** Lets others take it at once. */
  release(): Promise<void>
}

/** Waits until the claim is ours; undefined where `signal` aborted before. */
export async function takeLease(options: LeaseOptions): Promise<Lease | undefined> {
  const { claims, key, owner, ttlMs, signal, onWaiting, onFailure } = options
  let told: string | undefined
  while (!signal.aborted) {
    try {
      const claim = await claims.take(key, owner, ttlMs)
      if (claim !== undefined) return keep(claim, options)
      const holder = await claims.holder(key)
      if (holder !== undefined && holder.owner !== told) onWaiting(holder)
      told = holder?.owner
    } catch (failure) {
      onFailure(failure)
    }
    await sleep(ttlMs / 6, signal)
  }
  return undefined
}

function keep(claim: NonNullable<Awaited<ReturnType<Claims['take']>>>, { ttlMs, onFailure }: LeaseOptions): Lease {
  const lost = new AbortController()
  const done = new AbortController()
  const extending = (async () => {
    let lastAt = performance.now()
    while (!done.signal.aborted) {
      await sleep(ttlMs / 3, done.signal)
      if (done.signal.aborted) return
      const askedAt = performance.now()
      try {
        if (!(await claim.extend())) break
        lastAt = askedAt
      } catch (failure) {
        onFailure(failure)
        // The database may be there for others.
        if (performance.now() - lastAt >= ttlMs) break
      }
    }
    if (!done.signal.aborted) lost.abort()
  })()
  return {
    fence: claim.fence,
    lost: lost.signal,
    async release() {
      done.abort()
      await extending
      await claim.release()
    },
  }
}
