/** Reads that wait for a position. */
import { expect, it } from '@jest/globals'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

it('a ledger that runs the projections applies the events that a read waits for, and later ones', async () => {
  const db = await openTestDatabase()
  const writer = await ledgerOn(db, { workers: 'elsewhere' })
  const reader = await ledgerOn(db)
  try {
    const { position } = await writer.append('a', [{ role: 'user', content: 'berth' }])
    await writer.append('b', [{ role: 'user', content: 'berth' }])
    const waitFor = position ?? 0
    // Without time to wait: no other process applies the events.
    const { conversations, behind } = await reader.list({ waitFor, timeout: 0 })
    expect([conversations.map(({ conversationId }) => conversationId).toSorted(), behind]).toEqual([
      ['a', 'b'],
      undefined,
    ])
    await writer.append('a', [{ role: 'user', content: 'berth again' }])
    const found = await reader.search('berth', { conversationId: 'a', waitFor, timeout: 0 })
    expect([found.hits.length, found.behind]).toEqual([2, undefined])
    await expect(reader.list({ waitFor: 1_000, timeout: 0 })).rejects.toMatchObject({ kind: 'ProjectionsBehind' })
  } finally {
    await writer.close()
    await reader.close()
    await db.close()
  }
})
