/** Claims in memory, for tests and for a program that compacts in one process; they expire by the clock it is given. */
import type { Claims } from '../../ports/claims.js'
import type { Clock } from '../../ports/clock.js'

/** No claims yet; `clock` says when one expires. */
export function createMemoryClaims(clock: Clock): Claims {
  const held = new Map<string, { readonly owner: string; readonly until: number }>()
  return {
    async take(key, owner, ttlMs) {
      const now = clock.now().getTime()
      const other = held.get(key)
      if (other !== undefined && other.owner !== owner && other.until > now) return undefined
      held.set(key, { owner, until: now + ttlMs })
      return {
        // One that ran out and that nobody took is still ours: only another owner's name in its place means that it is lost.
        async extend() {
          if (held.get(key)?.owner !== owner) return false
          held.set(key, { owner, until: clock.now().getTime() + ttlMs })
          return true
        },
        async release() {
          if (held.get(key)?.owner === owner) held.delete(key)
        },
      }
    },
  }
}
