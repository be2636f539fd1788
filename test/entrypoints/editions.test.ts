/** Editions through the library, in memory: how they are named, listed and shown. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openLedger({ store: 'memory', policy: SMALL })
  for (const id of ['a-x', 'x']) await ledger.append(id, talk(30))
  await ledger.settled()
})
afterEach(async () => { await ledger.close() })

describe('an edition', () => {
  it('is named by its id or the beginning of it, and never by what reaches into another conversation', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: ['a-x'] })
    // edition-<id>-a-x is the stream of "a-x" alone, though its name ends as one of "x" would.
    await expect(ledger.editions.adopt('x', `${editionId}-a`)).rejects.toMatchObject({ failure: { kind: 'NoSuchEdition', nearest: editionId } })
    await expect(ledger.editions.adopt('x', editionId)).rejects.toMatchObject({ failure: { kind: 'NoSuchEdition', conversationId: 'x' } })
    expect(await ledger.editions.compare(['a-x'], editionId.slice(0, 5))).toMatchObject({ conversations: [{ conversationId: 'a-x' }] })
    expect(await ledger.editions.adopt('a-x', editionId.slice(0, 5))).toMatchObject({ editionId, changed: true })
    await expect(ledger.editions.show('')).rejects.toMatchObject({ failure: { kind: 'NoSuchEdition' } })
  })

  it('is listed and shown with what made it, how far it is and what became of it', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: 'all' })
    await ledger.editions.adopt('x', editionId)
    await ledger.editions.revert('x')
    await ledger.editions.drop('a-x', editionId)
    const [listed] = await ledger.editions.list()
    expect(listed).toMatchObject({ editionId, summarizer: { strategy: 'extractive' }, prompt: { name: 'extractive' }, failures: 0, states: { 'in-the-making': 0, 'in-force': 0, 'was-in-force': 1, dropped: 1 } })
    const { conversations, ...edition } = await ledger.editions.show(editionId)
    expect(edition).toEqual(listed)
    expect(conversations).toMatchObject([{ conversationId: 'a-x', state: 'dropped' }, { conversationId: 'x', state: 'was-in-force' }])
    expect(conversations.reduce((all, { cycles }) => all + cycles, 0)).toBe(listed?.cycles)
    // A fact that came since is seen by the next replay.
    await ledger.append('x', talk(1, 500))
    const x = (await ledger.editions.show(editionId)).conversations[1]
    expect(x?.seenRevision).toBeLessThan(x?.conversationHead ?? -1n)
  })
})
