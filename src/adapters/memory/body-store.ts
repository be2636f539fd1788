/** Bodies in memory, for tests. */
import type { BodyStore } from '../../ports/body-store.js'

/** Creates an empty body store in memory. */
export function createMemoryBodyStore(): BodyStore {
  const bodies = new Map<string, string>()
  return {
    async put(sha256, body) {
      if (!bodies.has(sha256)) bodies.set(sha256, body)
    },
    async get(sha256) {
      return bodies.get(sha256)
    },
  }
}
