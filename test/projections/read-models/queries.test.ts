/** Queries of the live messages, the list of conversations and the clip archive. */
import { beforeEach, expect, test } from '@jest/globals'
import { createMemoryEventStore } from '../../../src/adapters/memory/event-store.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { findBatches } from '../../../projections/read-models/clip-archive/queries.js'
import { projections } from '../../../projections/index.js'
import {
  conversation,
  listConversations,
  liveMessages,
  type ListConversationsOptions,
} from '../../../projections/read-models/live-messages/queries.js'
import { createProjectionRunner } from '../../../projections/engine/runner.js'
import { appended as message, configured, decodeStored } from '../../support/builders.js'
import { everyEvent } from '../../support/conversation-story.js'
import { describeOnDatabases, record } from '../../support/projections.js'

describeOnDatabases('queries', (database) => {
  let db: Database
  let store: EventStore
  beforeEach(async () => {
    db = await database.fresh()
    store = createMemoryEventStore()
    await record(store, 'a', everyEvent)
    await record(store, 'b', [configured(), message('only', { tokens: 3 })])
    for (const name of ['c', 'd', 'e']) await record(store, name, [configured({ scope: 'tenant-2' })])
    await createProjectionRunner({ db, store, decode: decodeStored, projections }).catchUp()
  })

  test('live messages are complete and in order; pinned ones stay while they are pinned', async () => {
    const live = await liveMessages(db, 'a')
    expect(live.map(({ messageId }) => messageId)).toEqual(['m1', 'm5', 'm7', 'm8'])
    expect(live[0]).toMatchObject({
      revision: 1,
      pinned: false,
      body: { role: 'system', content: 'You keep the harbour log.\0' },
    })
    expect(live[1]).toMatchObject({ pinned: true })
    expect((await liveMessages(db, 'a', { after: 1, limit: 2 })).map(({ messageId }) => messageId)).toEqual([
      'm5',
      'm7',
    ])
    expect(await liveMessages(db, 'nobody')).toEqual([])
  })

  test('a conversation counts its messages, live and compressed', async () => {
    expect(await conversation(db, 'a')).toMatchObject({
      scope: 'tenant-1',
      revision: 20,
      compactions: 2,
      messages: 8,
      liveMessages: 4,
      messagesCompressed: 4,
      liveTokens: 24,
    })
    expect(await conversation(db, 'b')).toMatchObject({
      scope: undefined,
      messages: 1,
      liveTokens: 3,
      lastMessageAt: '2026-01-01T00:00:00.000Z',
    })
    expect(await conversation(db, 'c')).toMatchObject({ messages: 0, lastMessageAt: undefined })
    expect(await conversation(db, 'nobody')).toBeUndefined()
  })

  test('lists are sorted by the last message or in another order, with filters and a limit', async () => {
    const ids = async (asked: ListConversationsOptions = {}): Promise<string[]> =>
      (await listConversations(db, asked)).map(({ conversationId }) => conversationId)
    const whole = await listConversations(db)
    // The messages of the builders are older than their events.
    expect(await ids()).toEqual(['a', 'e', 'd', 'c', 'b'])
    expect(await ids({ limit: 2 })).toEqual(['a', 'e'])
    expect(await ids({ scope: 'tenant-2', limit: 2 })).toEqual(['e', 'd'])
    expect(await ids({ sort: 'id' })).toEqual(['a', 'b', 'c', 'd', 'e'])
    const by = (of: (each: (typeof whole)[number]) => number): string[] =>
      whole
        .toSorted((x, y) => of(y) - of(x) || (x.conversationId < y.conversationId ? -1 : 1))
        .map(({ conversationId }) => conversationId)
    expect(await ids({ sort: 'messages' })).toEqual(by(({ messages }) => messages))
    expect(await ids({ sort: 'tokens' })).toEqual(by(({ liveTokens }) => liveTokens))
    expect(await ids({ match: 'E', scope: 'tenant-2' })).toEqual(['e'])
    expect(await ids({ match: '%' })).toEqual([])
    const lastTimes = whole.map(({ lastMessageAt, startedAt }) => lastMessageAt ?? startedAt)
    for (const time of lastTimes) {
      const before = lastTimes.filter((each) => each < time).length
      expect([(await ids({ until: time })).length, (await ids({ since: time })).length]).toEqual([
        before,
        whole.length - before,
      ])
    }
  })

  test('a stopped conversation has its reason, whatever characters it contains', async () => {
    // A reason that quotes invalid JSON can be cut in the middle of a surrogate pair.
    const decode = async (stored: Parameters<typeof decodeStored>[0]): ReturnType<typeof decodeStored> => {
      if (stored.stream === 'conversation-f') throw new Error('no JSON: "a\0b \ud83d"')
      return await decodeStored(stored)
    }
    await record(store, 'f', [configured()])
    await record(store, 'g', [configured()])
    await createProjectionRunner({ db, store, decode, projections }).catchUp()
    expect((await listConversations(db)).map(({ conversationId }) => conversationId)).toContain('g')
    const [status] = await createProjectionRunner({ db, store, decode, projections }).status()
    expect(status?.stopped).toMatchObject([
      { conversationId: 'f', reason: expect.stringContaining('no JSON: "ab \ufffd"') },
    ])
  })

  test('batches are found by id, in the order of the ids, also condensed ones; missing ones are skipped', async () => {
    expect(await findBatches(db, 'a', ['b3', 'nothing', 'b2', 'b1'])).toMatchObject([
      { batchId: 'b3', depth: 1, sourceBatchIds: ['b1', 'b2'], chunkId: undefined },
      { batchId: 'b2', sections: { decisions: ['to wait'] }, messageIds: ['m2', 'm6'], chunkId: 'c2' },
      { batchId: 'b1' },
    ])
    expect(await findBatches(db, 'b', ['b1'])).toEqual([])
  })
})
