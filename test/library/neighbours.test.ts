/** The work for one conversation does not delay another one: not in the rows, and not in the event loop. */
import { expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import type { EventStore } from '../../src/ports/event-store.js'
import { say, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, createTroubledStore } from '../support/harness.js'
import { latch } from '../support/latch.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

it('a search of one conversation waits for the rows of no other', async () => {
  const loudRows = latch()
  const loudStream = conversationStream('loud')
  const storeFrom = (store: EventStore): EventStore => ({
    ...store,
    async *readAll(options) {
      for await (const event of store.readAll(options)) {
        if (event.stream === loudStream) await loudRows.opened
        yield event
      }
    },
  })
  const db = await openTestDatabase()
  const ledger = await ledgerOn(db, { storeFrom })
  const found = async (within: { conversationId?: string }): Promise<readonly string[]> =>
    (await ledger.search('berth', within)).hits.map(({ conversationId }) => conversationId)
  await ledger.append('quiet', [{ id: 'q', role: 'user', content: 'The berth is free.' }])
  expect(await found({ conversationId: 'quiet' })).toEqual(['quiet'])
  await ledger.append('loud', talk(3))
  await ledger.append('loud', [{ id: 'l', role: 'user', content: 'Another berth.' }])
  expect(await found({ conversationId: 'quiet' })).toEqual(['quiet'])
  const everywhere = found({})
  loudRows.open()
  expect([...new Set(await everywhere)].toSorted()).toEqual(['loud', 'quiet'])
  await ledger.append('quiet', [{ id: 'q2', role: 'user', content: 'Now the other berth.' }])
  expect(await found({ conversationId: 'quiet' })).toEqual(['quiet', 'quiet'])
  await ledger.close()
  await db.close()
})

/** Counts turns of the event loop while work is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isWorking = true
  const count = (): void => {
    turns += 1
    if (isWorking) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isWorking = false
  return turns
}

it('other work runs while a long append is decided, and while it is repeated', async () => {
  // A conversation with a withdrawn message asks such a store for every id.
  const store = createTroubledStore({ ...createMemoryEventStore(), recognizes: 'at-its-revision' })
  const harness = createHarness({ store })
  await harness.appended(say(0))
  const withdrawal = { type: 'WithdrawMessages', messageIds: ['m0'], why: 'rewound' } as const
  const provenance = { actor: 'test', correlationId: 'request', causationId: 'request' }
  expect(E.isRight(await harness.conversations.handle(CONVERSATION, [withdrawal], provenance))).toBe(true)
  const messages = Array.from({ length: 4_000 }, (_none, at) => say(at + 1))
  expect(await turnsDuring(() => harness.appended(messages))).toBeGreaterThan(4)
  expect(await turnsDuring(() => harness.appended(messages))).toBeGreaterThan(4)
  expect(await harness.eventsOf('MessageAppended')).toHaveLength(4_001)
})
