/** The adapters in memory against the contracts of every adapter. */
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { describeBodyStore } from '../contracts/body-store.js'
import { describeClaims } from '../contracts/claims.js'
import { describeEventStore } from '../contracts/event-store.js'

describeEventStore('memory', async () => {
  const store = createMemoryEventStore()
  return { store, close: async () => store.close() }
})

describeBodyStore('memory', async () => ({ store: createMemoryBodyStore(), close: async () => undefined }))

describeClaims('memory', async () => {
  let now = 0
  const claims = createMemoryClaims({ now: () => new Date(now), newId: () => 'unused' })
  return {
    claims,
    async pass(ms) {
      now += ms
    },
    close: async () => undefined,
  }
})
