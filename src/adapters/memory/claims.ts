/** Claims in memory, for tests and for a program that compacts in a single process. */
import type { Claims } from '../../ports/claims.js'
import type { Clock } from '../../ports/clock.js'

/** Creates a store without claims; they expire by `clock`. */
export function createMemoryClaims(clock: Clock): Claims {
  const claims = new Map<string, { readonly owner: string; readonly until: number; readonly fence: number }>()
  let fences = 0
  return {
    async take(key, owner, ttlMs) {
      const now = clock.now().getTime()
      const current = claims.get(key)
      if (current !== undefined && current.owner !== owner && current.until > now) return undefined
      const fence = (fences += 1)
      claims.set(key, { owner, until: now + ttlMs, fence })
      return {
        fence,
        // Extends an expired claim too: it is lost only when it has been taken again.
        async extend() {
          if (claims.get(key)?.fence !== fence) return false
          claims.set(key, { owner, until: clock.now().getTime() + ttlMs, fence })
          return true
        },
        async release() {
          if (claims.get(key)?.fence === fence) claims.delete(key)
        },
      }
    },
    async holder(key) {
      const current = claims.get(key)
      return current === undefined || current.until <= clock.now().getTime()
        ? undefined
        : { owner: current.owner, fence: current.fence }
    },
  }
}
