/** Erasures of one conversation that run at the same time. */
import { expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import type { KeyVault } from '../../src/ports/key-vault.js'

const readable = async (ledger: Ledger) => (await ledger.context('talk')).messages.map(({ content }) => content)

it('a message that is recorded between two plans stays readable, whichever erasure removes its keys first', async () => {
  const memory = createMemoryKeyVault()
  let blocked: (() => Promise<void>) | undefined
  const vault: KeyVault = {
    ...memory,
    async wrap(...args) {
      const before = blocked
      blocked = undefined
      await before?.()
      return await memory.wrap(...args)
    },
  }
  const ledger = await openLedger({ store: 'memory', erasable: true, keys: vault })
  try {
    const append = async (...ids: string[]) =>
      await ledger.append(
        'talk',
        ids.map((id) => ({ id, role: 'user' as const, content: `text of ${id}` })),
      )
    await append('m1', 'm2', 'm3')
    // The plan of the first erasure is recorded, and it is about to store the remaining keys.
    blocked = async () => {
      await append('m4')
      await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm2' }, { reason: 'second' })
      await append('m5')
    }
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm1' }, { reason: 'first' })
    expect(await readable(ledger)).toEqual(['[erased]', '[erased]', 'text of m3', 'text of m4', 'text of m5'])
    const { problems, observations } = await ledger.admin.verify()
    expect([problems, observations]).toEqual([[], []])
  } finally {
    await ledger.close()
  }
})
