/** A run that is interrupted between its plan and its end is continued, and what has changed meanwhile counts. */
import { expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { createHandClock } from '../support/hand-clock.js'
import { latch } from '../support/latch.js'
import { longTest } from '../support/length.js'

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

/** Conversations with an old message, and a vault that waits before the destruction of a key. */
async function openWaiting(ids: readonly string[]) {
  const vault = createMemoryKeyVault()
  const clock = createHandClock()
  const [reached, go] = [latch(), latch()]
  const destroyed: string[] = []
  let isFirst = true
  const keys = {
    ...vault,
    destroy: async (keyName: string) => {
      destroyed.push(keyName)
      if (isFirst) {
        isFirst = false
        reached.open()
        await go.opened
      }
      await vault.destroy(keyName)
    },
  }
  const ledger = await openLedger({ store: 'memory', erasable: true, keys, clock })
  for (const id of ids)
    await ledger.append(id, [{ role: 'user', content: `text of ${id}`, created_at: '2025-01-01T00:00:00.000Z' }])
  await ledger.admin.retention.set({ eraseAfter: '6 months' }, REASON)
  return { ledger, clock, reached, go, destroyed }
}

longTest('a worker that lost its lease stops before its next step, and each conversation has one receipt', async () => {
  const ids = ['a', 'b', 'c']
  const { ledger, clock, reached, go, destroyed } = await openWaiting(ids)
  try {
    const { retention } = ledger.admin
    const suspended = retention.run()
    await reached.opened
    await expect(retention.run()).rejects.toMatchObject({ kind: 'RetentionBusy' })
    // The lease of the suspended worker expires.
    clock.pass(60_000)
    const second = await retention.run()
    expect(second).toMatchObject({ isResumed: true, receipt: { erased: [{}, {}, {}], kept: [] } })
    const before = destroyed.length
    go.open()
    await expect(suspended).rejects.toMatchObject({ kind: 'RetentionBusy' })
    expect(destroyed).toHaveLength(before)
    for (const id of ids) expect(await typesOf(ledger, id)).toEqual(['ErasureRequested', 'ErasureCompleted'])
    expect((await retention.history()).map(({ type }) => type)).toEqual([
      'RetentionRulesSet',
      'RetentionRunStarted',
      'RetentionRunCompleted',
    ])
    expect(await ledger.admin.erasure.resume()).toEqual([])
  } finally {
    await ledger.close()
  }
})

longTest('`erase --resume` during a step of a run: one request and one receipt, which the run reports', async () => {
  const { ledger, reached, go } = await openWaiting(['a'])
  try {
    const { retention, erasure } = ledger.admin
    const run = retention.run()
    await reached.opened
    expect(await erasure.resume()).toHaveLength(1)
    go.open()
    expect((await run)?.receipt).toEqual({ erased: [{ conversationId: 'a', messages: 1, summaries: 0 }], kept: [] })
    expect(await typesOf(ledger, 'a')).toEqual(['ErasureRequested', 'ErasureCompleted'])
  } finally {
    await ledger.close()
  }
})

/** Types of the events of erasures of a conversation. */
async function typesOf(ledger: Ledger, conversationId: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of ledger.log(conversationId)) if (type.startsWith('Erasure')) types.push(type)
  return types
}
