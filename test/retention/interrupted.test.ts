/** A run that is interrupted between its plan and its end is continued, and what has changed meanwhile counts. */
import { expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import { createHandClock } from '../support/hand-clock.js'

const REASON = { reason: 'policy 7' }

it('the next run continues the plan, except what a hold or a new message keeps', async () => {
  const vault = createMemoryKeyVault()
  let remaining = 1
  const keys = {
    ...vault,
    destroy: async (keyName: string) => {
      if (remaining === 0) throw new Error('the process ends here')
      remaining -= 1
      await vault.destroy(keyName)
    },
  }
  const ledger = await openLedger({ store: 'memory', erasable: true, keys, clock: createHandClock() })
  try {
    const append = (id: string, created_at: string) =>
      ledger.append(id, [{ role: 'user', content: `text of ${id}`, created_at }])
    for (const id of ['a', 'b', 'c', 'd']) await append(id, '2025-01-01T00:00:00.000Z')
    const { retention } = ledger.admin
    await retention.set({ eraseAfter: '6 months' }, REASON)
    await expect(retention.run()).rejects.toThrow('the process ends here')
    const { lastRun } = await retention.status()
    expect(lastRun?.receipt).toBeUndefined()
    expect(lastRun?.due.map(({ conversationId }) => conversationId)).toEqual(['a', 'b', 'c', 'd'])
    // The request of `b` is recorded, so its erasure continues; `c` and `d` are not begun.
    expect((await retention.hold({ conversationId: 'b' }, REASON)).erasuresBegun).toEqual(['b'])
    await retention.hold({ conversationId: 'c' }, REASON)
    await append('d', '2025-12-31T00:00:00.000Z')
    remaining = 100
    const run = await retention.run()
    expect(run).toMatchObject({
      runId: lastRun?.runId,
      isResumed: true,
      receipt: {
        erased: [{ conversationId: 'a' }, { conversationId: 'b' }],
        kept: [
          { conversationId: 'c', reason: 'hold' },
          { conversationId: 'd', reason: 'not-due' },
        ],
      },
    })
    const textOf = async (id: string) => (await ledger.context(id)).messages[0]?.content
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(textOf))).toEqual([
      '[erased]',
      '[erased]',
      'text of c',
      'text of d',
    ])
    expect(await retention.run()).toBeUndefined()
    expect((await ledger.admin.verify()).problems).toEqual([])
  } finally {
    await ledger.close()
  }
})
