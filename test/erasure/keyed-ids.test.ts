/** Ids of chunks and merged batches of an erasable ledger say nothing about the text; those of others stay as they are. */
import { expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { chunkIdOf } from '../../src/domain/values/ids.js'
import { openLedger } from '../../src/library/compose.js'
import { SMALL, talk } from '../support/conversations.js'

const KEYS = { erasable: true, keys: createMemoryKeyVault() }

it.each([
  ['erasable', KEYS],
  ['ordinary', {}],
])('chunks of an %s ledger', async (kind, options) => {
  const ledger = await openLedger({ store: 'memory', policy: SMALL, ...options })
  const chunks = async () => {
    const found = []
    for await (const { type, data } of ledger.log('talk')) if (type === 'ChunkSummarized') found.push(data)
    return found
  }
  try {
    await ledger.append('talk', talk(30))
    await ledger.compact('talk')
    const recorded = await chunks()
    expect(recorded.length).toBeGreaterThan(1)
    for (const { chunkId, messageIds, summarizer, continues } of recorded) {
      const { requestHash } = summarizer
      const fromContent = chunkIdOf({ conversationId: 'talk' }, messageIds, { requestHash })
      expect(chunkId === fromContent).toBe(kind === 'ordinary')
      expect(summarizer.idSeed === undefined).toBe(kind === 'ordinary')
      expect([undefined, ...recorded.map((each) => each.chunkId)]).toContain(continues)
    }
    expect((await ledger.admin.verify()).problems).toEqual([])
    if (kind === 'ordinary') return
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm0' }, { reason: 'r' })
    const [first] = await chunks()
    expect([first?.erased, first?.summarizer.idSeed]).toEqual([true, undefined])
    expect((await ledger.admin.verify()).problems).toEqual([])
  } finally {
    await ledger.close()
  }
})
