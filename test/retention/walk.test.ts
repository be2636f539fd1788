/** Retention through the library: set, refused erase, hold, run. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { createTestClock } from '../support/harness.js'
import { longTest } from '../support/length.js'

/** The test's clock begins at 2026-01-01. */
const OLD = '2025-06-30T12:00:00.000Z'
const NEW = '2025-12-31T12:00:00.000Z'
const REASON = { reason: 'policy 7' }

describe('retention of an erasable ledger', () => {
  let ledger: Ledger
  beforeEach(async () => {
    ledger = await openLedger({
      store: 'memory',
      erasable: true,
      keys: createMemoryKeyVault(),
      clock: createTestClock(),
    })
    await ledger.append('old', [{ role: 'user', content: 'an old text', created_at: OLD }], { scope: 'acme' })
    await ledger.append('new', [{ role: 'user', content: 'a new text', created_at: NEW }], { scope: 'acme' })
    await ledger.append('other', [{ role: 'user', content: 'another text', created_at: OLD }])
  })
  afterEach(async () => {
    await ledger.close()
  })

  const textOf = async (id: string) => (await ledger.context(id)).messages[0]?.content

  it('erase refuses what a rule keeps, names the rule and the date, and takes a legal basis', async () => {
    const { erasure, retention } = ledger.admin
    await retention.set({ scope: 'acme', keepAtLeast: '6 months' }, REASON)
    await expect(erasure.run({ conversationId: 'new' }, REASON)).rejects.toMatchObject({
      kind: 'TooYoung',
      details: { scope: 'acme', keepAtLeast: 'P6M', allowedFrom: '2026-06-30T12:00:00.000Z' },
      message: expect.stringContaining('--legal-basis'),
    })
    expect(await textOf('new')).toBe('a new text')
    const [planned] = await erasure.plan({ conversationId: 'new' })
    expect(planned?.notAllowed).toContain('2026-06-30T12:00:00.000Z')
    const [done] = await erasure.run({ conversationId: 'new' }, { ...REASON, legalBasis: 'GDPR 17(1)(d)' })
    expect(done?.receipt.legalBasis).toBe('GDPR 17(1)(d)')
    const requested = []
    for await (const event of ledger.log('new')) if (event.type === 'ErasureRequested') requested.push(event.data)
    expect(requested).toMatchObject([{ legalBasis: 'GDPR 17(1)(d)' }])
    // Old enough, so no legal basis is necessary.
    await erasure.run({ conversationId: 'old' }, REASON)
    expect(await textOf('new')).toBe('[erased]')
    expect(await textOf('old')).toBe('[erased]')
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it('a run erases only due conversations, and records a receipt', async () => {
    const { retention } = ledger.admin
    await retention.set({ scope: 'acme', eraseAfter: '180 days' }, REASON)
    expect(await retention.status()).toMatchObject({
      isErasable: true,
      due: [{ conversationId: 'old' }],
      scopes: [
        { conversations: 1, due: 0 },
        { scope: 'acme', conversations: 2, due: 1, nextDueAt: '2026-06-29T12:00:00.000Z' },
      ],
    })
    const run = await retention.run()
    expect(run?.receipt).toEqual({ erased: [{ conversationId: 'old', messages: 1, summaries: 0 }], kept: [] })
    expect(await Promise.all(['old', 'new', 'other'].map(textOf))).toEqual(['[erased]', 'a new text', 'another text'])
    expect(await retention.run()).toBeUndefined()
    expect(await retention.status()).toMatchObject({ due: [], lastRun: { runId: run?.runId } })
    expect((await retention.history()).map(({ type }) => type)).toEqual([
      'RetentionRulesSet',
      'RetentionRunStarted',
      'RetentionRunCompleted',
    ])
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  longTest('a hold stops runs and erase until it is released', async () => {
    const { erasure, retention } = ledger.admin
    await retention.set({ eraseAfter: '180 days' }, REASON)
    const hold = await retention.hold({ scope: 'acme' }, { reason: 'case 41' })
    const secondHold = await retention.hold({ conversationId: 'other' }, { reason: 'case 42' })
    expect(await retention.run()).toBeUndefined()
    const reasons = { ...REASON, legalBasis: 'GDPR 17(1)(d)' }
    await expect(erasure.run({ conversationId: 'old' }, reasons)).rejects.toMatchObject({ kind: 'OnHold' })
    await retention.release(hold.holdId, { reason: 'closed' })
    expect((await retention.run())?.receipt.erased).toMatchObject([{ conversationId: 'old' }])
    await expect(retention.release(hold.holdId, { reason: 'again' })).rejects.toMatchObject({ kind: 'NoSuchHold' })
    await retention.release(secondHold.holdId, { reason: 'closed' })
    expect((await retention.run())?.receipt.erased).toMatchObject([{ conversationId: 'other' }])
  })
})
