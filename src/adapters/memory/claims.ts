/** Claims in memory, for tests and for a program that compacts in one process; they expire by the clock it is given. */
import type { Claims } from '../../ports/claims.js'
import type { Clock } from '../../ports/clock.js'

/** No claims yet; `clock` says when one expires. */
export function createMemoryClaims(clock: Clock): Claims {
  const held = new Map<string, { readonly owner: string; readonly until: number; readonly fence: bigint }>()
  let fences = 0n
  return {
    async take(key, owner, ttlMs) {
      const now = clock.now().getTime()
      const other = held.get(key)
      if (other !== undefined && other.owner !== owner && other.until > now) return undefined
      const fence = (fences += 1n)
      held.set(key, { owner, until: now + ttlMs, fence })
      return {
        fence,
        // One that ran out and that nobody took is still ours: only another taking in its place means that it is lost.
        async extend() {
          if (held.get(key)?.fence !== fence) return false
          held.set(key, { owner, until: clock.now().getTime() + ttlMs, fence })
          return true
        },
        async release() {
          if (held.get(key)?.fence === fence) held.delete(key)
        },
      }
    },
    async holder(key) {
      const now = held.get(key)
      return now === undefined || now.until <= clock.now().getTime()
        ? undefined
        : { owner: now.owner, fence: now.fence }
    },
  }
}
