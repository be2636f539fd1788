/**
 * A log copied between stores: everything kept, gone on with after any end, refused where the target holds something
 * else, and proved.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { loadConversation, loadEdition } from '../../src/recording/load-conversation.js'
import { copyLog, storeSource, storeTarget } from '../../src/backup/migrate-log.js'
import { sha256 } from '../../src/domain/values/hash.js'
import { claimOf } from '../../src/domain/events/codec.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import { editionHistory, everyStep } from '../support/edition-history.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { CONVERSATION } from '../support/harness.js'
import {
  emptyLog,
  eventsOf,
  EVERYTHING,
  histories,
  LARGE,
  stoppingAt,
  write,
  type Append,
  type TestLog,
} from '../support/log-history.js'
import { runsOf } from '../support/length.js'

async function logOf(name: string, appends = EVERYTHING): Promise<TestLog> {
  const log = emptyLog(name)
  await write(log, appends)
  return log
}

const altered = (store: EventStore, alter: (event: StoredEvent) => StoredEvent | undefined): EventStore => ({
  ...store,
  async *readAll(options) {
    for await (const event of store.readAll(options)) {
      const given = alter(event)
      if (given !== undefined) yield given
    }
  },
})

describe('a copy', () => {
  it('keeps streams, revisions, ids, types, data, metadata and the order of the log, and brings the bodies', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const copied = await copyLog(from.source, to.target)
    expect(copied).toMatchObject({
      head: 11n,
      alreadyThere: 0,
      difference: undefined,
      totals: { streams: 4, events: 12, bodies: 2 },
    })
    expect(await eventsOf(to.store)).toEqual(await eventsOf(from.store))
    const claims = (await collect(from.store.readAll())).flatMap((event) => claimOf(event) ?? [])
    expect(claims).toHaveLength(3)
    for (const claim of claims) expect(sha256((await to.bodies.get(claim)) ?? '')).toBe(claim)
  })

  it('brings editions as any other stream: what is loaded from the copy is what was', async () => {
    const harness = await editionHistory(everyStep)
    const from = storeSource({ name: 'A', store: harness.store, bodies: harness.log.bodies })
    const to = emptyLog('B')
    expect(await copyLog(from, to.target)).toMatchObject({ difference: undefined })
    expect(await eventsOf(to.store)).toEqual(await eventsOf(harness.store))
    for (const editionId of ['e1', 'e2']) {
      const loaded = await loadEdition(to, CONVERSATION, editionId)
      expect(loaded.batches.length).toBeGreaterThan(1)
      expect(loaded).toEqual(await loadEdition(harness.log, CONVERSATION, editionId))
    }
    expect(await loadConversation(to, CONVERSATION)).toEqual(await loadConversation(harness.log, CONVERSATION))
  })

  it('comes to the same digest from wherever it is copied', async () => {
    const from = await logOf('A')
    const [first, second] = [emptyLog('B'), emptyLog('C')]
    const one = await copyLog(from.source, first.target)
    const two = await copyLog(first.source, second.target)
    expect(two.totals).toEqual(one.totals)
  })

  it('of an empty log is an empty log', async () => {
    expect(await copyLog(emptyLog('A').source, emptyLog('B').target)).toMatchObject({
      head: -1n,
      totals: { events: 0, streams: 0 },
      difference: undefined,
    })
  })

  it('made again brings what came since, and only that', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    await copyLog(from.source, to.target)
    await write(from, [
      { stream: 'conversation-b/ü 🚢', texts: ['later', LARGE] },
      { stream: 'conversation-new', texts: ['', 'x'] },
    ])
    expect(await copyLog(from.source, to.target)).toMatchObject({
      alreadyThere: 12,
      totals: { events: 16 },
      difference: undefined,
    })
    expect(await copyLog(from.source, to.target)).toMatchObject({
      alreadyThere: 16,
      totals: { events: 16 },
      difference: undefined,
    })
    expect(await eventsOf(to.store)).toEqual(await eventsOf(from.store))
  })

  it('ends at the head that it met, though the source grows under it', async () => {
    const from = await logOf('A', [{ stream: 'conversation-a', texts: ['', 'one'] }])
    const to = emptyLog('B')
    const growing = altered(from.store, (event) => event)
    const source = storeSource({
      ...from,
      store: {
        ...growing,
        async *readAll(options) {
          for await (const event of from.store.readAll(options)) {
            if (event.position < 50n)
              await appended(from.store, 'conversation-a', [eventNamed(`more ${event.position.toString()}`)])
            yield event
          }
        },
      },
    })
    expect(await copyLog(source, to.target)).toMatchObject({ head: 1n, totals: { events: 2 }, difference: undefined })
  })

  it('leaves out the streams that a store keeps for itself', async () => {
    const from = await logOf('A', [{ stream: 'conversation-a', texts: ['', 'one'] }])
    await appended(from.store, '$settings', [eventNamed('system')])
    await write(from, [{ stream: 'conversation-a', texts: ['two'] }])
    const to = emptyLog('B')
    expect(await copyLog(from.source, to.target)).toMatchObject({
      totals: { streams: 1, events: 3 },
      difference: undefined,
    })
  })

  it('puts no more into one append than a server takes', async () => {
    const from = emptyLog('A')
    await appended(
      from.store,
      'conversation-a',
      Array.from({ length: 40 }, (_, place) => eventNamed(String(place), 'x'.repeat(30_000))),
    )
    await appended(from.store, 'conversation-b', eventsNamed('b', 1_200))
    const to = emptyLog('B')
    const sizes: number[] = []
    const target = storeTarget({
      ...to,
      store: {
        ...to.store,
        append: (stream, expected, events) => {
          sizes.push(events.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0))
          expect(events.length).toBeLessThanOrEqual(500)
          return to.store.append(stream, expected, events)
        },
      },
    })
    expect(await copyLog(from.source, target)).toMatchObject({ totals: { events: 1_240 }, difference: undefined })
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200_000)
  })
})

describe('a copy that was killed', () => {
  it('goes on at any append, without losing or doubling one', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.array(fc.record({ append: fc.nat(8), when: fc.constantFrom('before' as const, 'after' as const) }), {
          maxLength: 4,
        }),
        async (history, kills) => {
          const from = await logOf('A', history)
          const to = emptyLog('B')
          for (const { append, when } of kills) {
            const ended = await copyLog(from.source, stoppingAt(to, append, when)).then(() => 'done', String)
            expect(['done', 'Error: killed']).toContain(ended)
          }
          const copied = await copyLog(from.source, to.target)
          expect(copied.difference).toBeUndefined()
          expect(await eventsOf(to.store)).toEqual(await eventsOf(from.store))
        },
      ),
      { numRuns: runsOf(60) },
    )
  })

  it('stops when it is asked to', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const asked = new AbortController()
    asked.abort(new Error('asked'))
    await expect(copyLog(from.source, to.target, { signal: asked.signal })).rejects.toThrow('asked')
    expect(await to.store.head()).toBe(-1n)
  })
})

describe('a target that holds another log', () => {
  it.each<[string, readonly Append[], RegExp]>([
    [
      'other content',
      [{ stream: 'conversation-a', texts: ['', 'other'] }],
      /conversation-a revision 1 differs in its id, data, metadata/u,
    ],
    [
      'another order of the streams',
      [{ stream: 'prompt-aaaa', texts: ['Summarize {messages}'] }],
      /B has prompt-aaaa revision 0 where A has conversation-a revision 0/u,
    ],
    [
      'something behind it',
      [...EVERYTHING, { stream: 'conversation-z', texts: [''] }],
      /conversation-z revision 0 is in B, and A ends before it/u,
    ],
  ])('is refused by the first stream and revision: %s', async (_what, history, sentence) => {
    const from = await logOf('A')
    const to = await logOf('B', history)
    const before = await eventsOf(to.store)
    await expect(copyLog(from.source, to.target)).rejects.toMatchObject({
      kind: 'TargetDiffers',
      message: expect.stringMatching(sentence),
    })
    expect(await eventsOf(to.store)).toEqual(before)
  })
})

describe('what cannot be copied', () => {
  it('is a log whose body is gone, or another', async () => {
    const from = await logOf('A')
    const gone = storeSource({ ...from, bodies: { ...from.bodies, get: () => Promise.resolve(undefined) } })
    await expect(copyLog(gone, emptyLog('B').target)).rejects.toMatchObject({
      kind: 'BodyLost',
      message: expect.stringMatching(
        /^conversation-b\/ü 🚢 revision 1: its body [\da-f]{64} is not beside the log of A/u,
      ),
    })
    const other = storeSource({ ...from, bodies: { ...from.bodies, get: () => Promise.resolve('other') } })
    await expect(copyLog(other, emptyLog('B').target)).rejects.toMatchObject({ kind: 'BodyLost' })
  })

  it('is one into a store that somebody else writes to', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const target = storeTarget({
      ...to,
      store: {
        ...to.store,
        append: (stream, expected, events) => async () => {
          if (stream === 'prompt-aaaa') await appended(to.store, 'prompt-aaaa', [eventNamed('mine')])
          return await to.store.append(stream, expected, events)()
        },
      },
    })
    await expect(copyLog(from.source, target)).rejects.toMatchObject({
      kind: 'TargetChanged',
      message: expect.stringContaining(
        'prompt-aaaa revision 0 cannot be written to B: the stream ends there at revision 0',
      ),
    })
  })

  it('is one into a store that does not answer', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const store = {
      ...to.store,
      append: () => async () => ({
        _tag: 'Left' as const,
        left: { kind: 'StoreUnavailable' as const, detail: 'no route' },
      }),
    }
    await expect(copyLog(from.source, storeTarget({ ...to, store }))).rejects.toMatchObject({
      kind: 'TargetUnavailable',
      message: expect.stringContaining('no route'),
    })
  })
})

describe('the proof', () => {
  it.each([
    [
      'data',
      (event: StoredEvent) => (event.position === 5n ? { ...event, data: `${event.data} ` } : event),
      'prompt-aaaa revision 0 differs in its data',
    ],
    [
      'metadata',
      (event: StoredEvent) => (event.position === 4n ? { ...event, metadata: '{}' } : event),
      'conversation-b/ü 🚢 revision 1 differs in its metadata',
    ],
    [
      'a lost event',
      (event: StoredEvent) => (event.position === 11n ? undefined : event),
      'conversation-a revision 5 is not in B',
    ],
    [
      'an id',
      (event: StoredEvent) =>
        event.position === 0n ? { ...event, id: '00000000-0000-8000-8000-000000000000' } : event,
      'conversation-a revision 0 differs in its id',
    ],
  ])('names the first difference: %s', async (_what, alter, difference) => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const copied = await copyLog(from.source, storeTarget({ ...to, store: altered(to.store, alter) }))
    expect(copied.difference).toBe(difference)
  })

  it('finds what somebody else appended meanwhile', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const target = {
      ...to.target,
      end: async () => {
        await appended(to.store, 'conversation-z', [eventNamed('z')])
      },
    }
    expect((await copyLog(from.source, target)).difference).toBe(
      'conversation-z revision 0 is in B, and A ends before it',
    )
  })

  it('finds a body that the target did not keep', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const target = storeTarget({ ...to, bodies: { ...to.bodies, put: () => Promise.resolve() } })
    await expect(copyLog(from.source, target)).rejects.toMatchObject({
      kind: 'BodyLost',
      message: expect.stringContaining('beside the log of B'),
    })
  })
})
