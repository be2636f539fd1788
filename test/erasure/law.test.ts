/** The law of erasures, for any history: nothing comes back, everything else stays, and the ledger is valid. */
import { expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { ErasingWorld, erasingHistories } from '../support/erasing-world.js'
import { isLong } from '../support/length.js'

jest.setTimeout(300_000)

it('an erasure removes its texts and what was made from them, and nothing else', async () => {
  let erasures = 0
  await fc.assert(
    fc.asyncProperty(erasingHistories(isLong ? 2 : 1), fc.boolean(), async (history, isFunction) => {
      const world = await ErasingWorld.open({ store: 'memory', isFunction })
      try {
        for (const step of history) await world.step(step)
        erasures += world.erasures
      } finally {
        await world.close()
      }
    }),
    // A shorter history would take as long to find as all the others together.
    { numRuns: isLong ? 20 : 1, endOnFailure: true, timeout: 120_000 },
  )
  expect(erasures).toBeGreaterThan(0)
})
