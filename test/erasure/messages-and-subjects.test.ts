/** Erasure of one message and of one person: summaries by lineage, editions, checkpoints, and repeated appends. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import type { Ledger } from '../../src/library/ledger.js'
import { openLedger } from '../../src/library/compose.js'
import { SMALL } from '../support/conversations.js'
import { longTest } from '../support/length.js'

jest.setTimeout(300_000)

const everything = async (ledger: Ledger): Promise<string> => {
  const parts: unknown[] = []
  for (const { conversationId } of (await ledger.list()).conversations) {
    parts.push(await ledger.context(conversationId), await ledger.messages(conversationId))
    for await (const event of ledger.log(conversationId)) parts.push(event)
  }
  return JSON.stringify(parts)
}

describe('parts of a conversation', () => {
  let ledger: Ledger
  beforeEach(async () => {
    ledger = await openLedger({
      store: 'memory',
      erasable: true,
      keys: createMemoryKeyVault(),
      policy: { ...SMALL, maxSummaryTokens: 400 },
      summarizer: (messages) => Promise.resolve(messages.map(({ content }) => JSON.stringify(content)).join(' / ')),
    })
  })
  afterEach(async () => {
    await ledger.close()
  })

  const append = (from: number, to: number, subjects: (at: number) => string[] | undefined = () => undefined) =>
    ledger.append(
      'talk',
      Array.from({ length: to - from }, (_none, index) => {
        const at = from + index
        const named = subjects(at)
        return {
          id: `m${String(at)}`,
          role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
          content: `text number ${String(at)} says pelican${String(at)} ${'and so on '.repeat(40)}`,
          ...(named === undefined ? {} : { subjects: named }),
        }
      }),
    )

  it('a message, the summaries made from it and from those, and nothing else', async () => {
    await append(0, 6)
    await ledger.compact('talk')
    await append(6, 14)
    await ledger.compact('talk')
    await append(14, 16)
    expect(await everything(ledger)).toContain('pelican3 ')
    const [plan] = await ledger.admin.erasure.plan({ conversationId: 'talk', messageId: 'm3' })
    expect(plan?.messages).toEqual(['m3'])
    expect(plan?.summaries).toBeGreaterThan(0)
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm3' }, { reason: 'r' })
    const all = await everything(ledger)
    expect(all).not.toContain('pelican3 ')
    expect(all).toContain('pelican2 ')
    expect(all).toContain('pelican15 ')
    expect((await ledger.admin.verify()).problems).toEqual([])
    // The conversation goes on, and its later texts have keys that a second erasure keeps.
    await append(16, 22)
    await ledger.compact('talk')
    expect((await ledger.admin.verify()).problems).toEqual([])
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm17' }, { reason: 'r' })
    const later = await everything(ledger)
    expect(later).not.toContain('pelican17 ')
    expect(later).not.toContain('pelican3 ')
    expect(later).toContain('pelican2 ')
    expect(later).toContain('pelican18 ')
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it('a person, in every conversation that names this person', async () => {
    await append(0, 8, (at) => (at === 2 ? ['anna'] : at === 4 ? ['anna', 'bert'] : at === 6 ? ['bert'] : undefined))
    await ledger.append('other', [
      { role: 'user', content: 'heron of anna', subjects: ['anna'] },
      { role: 'user', content: 'heron of nobody' },
    ])
    await ledger.compact('talk')
    expect((await ledger.admin.erasure.plan({ subject: 'anna' })).map(({ conversationId }) => conversationId)).toEqual([
      'other',
      'talk',
    ])
    expect(await ledger.admin.erasure.run({ subject: 'anna' }, { reason: 'r' })).toHaveLength(2)
    const all = await everything(ledger)
    for (const word of ['pelican2 ', 'pelican4 ', 'heron of anna', 'anna']) expect(all).not.toContain(word)
    for (const stays of ['pelican1 ', 'pelican6 ', 'heron of nobody']) expect(all).toContain(stays)
    expect((await ledger.admin.verify()).problems).toEqual([])
    await expect(ledger.append('third', [{ role: 'user', content: 'x', subjects: ['anna'] }])).rejects.toMatchObject({
      kind: 'SubjectErased',
    })
    await ledger.append('talk', [{ role: 'user', content: 'bert again', subjects: ['bert'] }])
    expect(await ledger.admin.erasure.plan({ subject: 'never seen' })).toEqual([])
  })

  it('a person, also in a message that is repeated after an edit and does not name the person again', async () => {
    const about = { role: 'user' as const, content: 'heron of anna' }
    await ledger.compress(
      [
        { role: 'user', content: 'one' },
        { ...about, subjects: ['anna'] },
      ],
      'list',
    )
    await ledger.compress([{ role: 'user', content: 'two' }, about], 'list')
    await ledger.admin.erasure.run({ subject: 'anna' }, { reason: 'r' })
    expect(await everything(ledger)).not.toContain('heron')
  })

  it('a repeated append of an erased message records nothing', async () => {
    await append(0, 4)
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm1' }, { reason: 'r' })
    expect((await append(0, 4)).recorded).toEqual([])
    expect(await everything(ledger)).not.toContain('pelican1 ')
  })

  longTest('an adopted edition and an undone cycle', async () => {
    await append(0, 10)
    await ledger.compact('talk')
    const edition = await ledger.editions.replay({ conversations: ['talk'], policy: { chunkSize: 3 } })
    await ledger.editions.adopt('talk', edition.editionId)
    await append(10, 14)
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm2' }, { reason: 'r' })
    expect(await everything(ledger)).not.toContain('pelican2 ')
    expect((await ledger.admin.verify()).problems).toEqual([])
    await ledger.editions.revert('talk')
    await append(14, 18)
    await ledger.compact('talk')
    expect(await everything(ledger)).not.toContain('pelican2 ')
    expect((await ledger.admin.verify()).problems).toEqual([])
  })
})

it('a ledger that is not erasable says what to do', async () => {
  const ledger = await openLedger({ store: 'memory' })
  try {
    await ledger.append('talk', [{ role: 'user', content: 'x' }])
    await expect(ledger.admin.erasure.run({ conversationId: 'talk' }, { reason: 'r' })).rejects.toMatchObject({
      kind: 'NotErasable',
      message: expect.stringContaining('migrate-log --erasable'),
    })
    await expect(ledger.append('talk', [{ role: 'user', content: 'x', subjects: ['a'] }])).rejects.toMatchObject({
      kind: 'NotErasable',
    })
  } finally {
    await ledger.close()
  }
})
