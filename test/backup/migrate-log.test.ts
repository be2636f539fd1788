/**
 * Copying a log between stores: it copies everything, resumes after any failure, rejects a target with another log, and
 * verifies the result.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { loadConversation, loadEdition } from '../../src/application/recording/load-conversation.js'
import { createMemoryProofStore } from '../../src/adapters/memory/proof-store.js'
import { copyCheckpoints, copyLog, storeSource, storeTarget } from '../../src/application/backup/migrate-log.js'
import { sha256 } from '../../src/domain/values/hash.js'
import { claimOf } from '../../src/domain/events/codec.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import type { StoredCheckpoint } from '../../src/ports/proof-store.js'
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
      const result = alter(event)
      if (result !== undefined) yield result
    }
  },
})

describe('a copy', () => {
  it('preserves streams, revisions, ids, types, data, metadata and the order of the log, and copies the bodies', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const copied = await copyLog(from.source, to.target)
    expect(copied).toMatchObject({
      head: 11,
      alreadyThere: 0,
      difference: undefined,
      totals: { streams: 4, events: 12, bodies: 2 },
    })
    expect(await eventsOf(to.store)).toEqual(await eventsOf(from.store))
    const claims = (await collect(from.store.readAll())).flatMap((event) => claimOf(event) ?? [])
    expect(claims).toHaveLength(3)
    for (const claim of claims) expect(sha256((await to.bodies.get(claim)) ?? '')).toBe(claim)
  })

  it('has the checkpoints of the events that it has, with their public keys, and keeps its own', async () => {
    const checkpoint = (size: number, key: string): StoredCheckpoint => ({
      size,
      note: `note ${String(size)} of ${key}`,
      verifierKeys: [key],
      createdAt: '2026-01-01T00:00:00.000Z',
    })
    const [from, to] = [createMemoryProofStore(), createMemoryProofStore()]
    for (const size of [2, 5, 12, 13]) await from.putCheckpoint(checkpoint(size, 'first'))
    await to.putCheckpoint(checkpoint(5, 'second'))
    expect(await copyCheckpoints(from, to, 12)).toBe(2)
    const expected = [checkpoint(2, 'first'), checkpoint(5, 'second'), checkpoint(12, 'first')]
    expect(await to.checkpoints()).toEqual(expected)
    expect(await copyCheckpoints(from, to, 12)).toBe(0)
  })

  it('copies editions like any other stream: both logs load the same state', async () => {
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

  it('has the same digest as the copy that it was copied from', async () => {
    const from = await logOf('A')
    const [first, second] = [emptyLog('B'), emptyLog('C')]
    const { totals } = await copyLog(from.source, first.target)
    expect(await copyLog(first.source, second.target)).toMatchObject({ totals })
  })

  it('of an empty log is an empty log', async () => {
    expect(await copyLog(emptyLog('A').source, emptyLog('B').target)).toMatchObject({
      head: -1,
      totals: { events: 0, streams: 0 },
      difference: undefined,
    })
  })

  it('that is repeated copies only the events appended since', async () => {
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

  it('ends at the head of its start although the source grows', async () => {
    const from = await logOf('A', [{ stream: 'conversation-a', texts: ['', 'one'] }])
    const to = emptyLog('B')
    const growing = altered(from.store, (event) => event)
    const source = storeSource({
      ...from,
      store: {
        ...growing,
        async *readAll(options) {
          for await (const event of from.store.readAll(options)) {
            if (event.position < 50)
              await appended(from.store, 'conversation-a', [eventNamed(`more ${event.position.toString()}`)])
            yield event
          }
        },
      },
    })
    expect(await copyLog(source, to.target)).toMatchObject({ head: 1, totals: { events: 2 }, difference: undefined })
  })

  it('skips the streams of the store itself', async () => {
    const from = await logOf('A', [{ stream: 'conversation-a', texts: ['', 'one'] }])
    await appended(from.store, '$settings', [eventNamed('system')])
    await write(from, [{ stream: 'conversation-a', texts: ['two'] }])
    const to = emptyLog('B')
    expect(await copyLog(from.source, to.target)).toMatchObject({
      totals: { streams: 1, events: 3 },
      difference: undefined,
    })
  })

  it('limits the size of each append', async () => {
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
  it('resumes at any append, without losing or duplicating an event', async () => {
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
            const outcome = await copyLog(from.source, stoppingAt(to, append, when)).then(() => 'complete', String)
            expect(['complete', 'Error: killed']).toContain(outcome)
          }
          const copied = await copyLog(from.source, to.target)
          expect(copied.difference).toBeUndefined()
          expect(await eventsOf(to.store)).toEqual(await eventsOf(from.store))
        },
      ),
      { numRuns: runsOf(60) },
    )
  })

  it('stops when its signal aborts', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const stop = new AbortController()
    stop.abort(new Error('stopped by the caller'))
    await expect(copyLog(from.source, to.target, { signal: stop.signal })).rejects.toThrow('stopped by the caller')
    expect(await to.store.head()).toBe(-1)
  })
})

describe('a target with another log', () => {
  it.each<[string, readonly Append[], RegExp]>([
    [
      'other content',
      [{ stream: 'conversation-a', texts: ['', 'other'] }],
      /conversation-a revision 1 differs in its id, data, metadata/u,
    ],
    [
      'another order of the streams',
      [{ stream: 'prompt-aaaa', texts: ['Summarize {messages}'] }],
      /B has prompt-aaaa revision 0, but A has conversation-a revision 0/u,
    ],
    [
      'additional events',
      [...EVERYTHING, { stream: 'conversation-z', texts: [''] }],
      /conversation-z revision 0 is in B, but A ends before it/u,
    ],
  ])('is rejected with the first different stream and revision: %s', async (_what, history, sentence) => {
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

describe('a copy fails', () => {
  it('if another program writes to the target', async () => {
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

  it('if the target does not answer', async () => {
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

describe('a body that is missing or differs', () => {
  it.each([
    ['is missing', undefined],
    ['differs from the recorded one', 'other'],
  ])('%s: its streams are copied up to it and named', async (problem, text) => {
    const from = await logOf('A')
    const withoutBodies = storeSource({ ...from, bodies: { ...from.bodies, get: () => Promise.resolve(text) } })
    const to = emptyLog('B')
    const { incomplete, difference } = await copyLog(withoutBodies, to.target)
    expect(difference).toBeUndefined()
    expect(incomplete).toContainEqual({
      stream: 'conversation-b/ü 🚢',
      detail: expect.stringMatching(new RegExp(`^conversation-b/ü 🚢 revision 1: its body.* ${problem}`, 'u')),
    })
    const isWhole = ({ stream }: { readonly stream: string }): boolean =>
      incomplete.every((each) => each.stream !== stream)
    expect((await eventsOf(to.store)).filter(isWhole)).toEqual((await eventsOf(from.store)).filter(isWhole))
  })
})

describe('verification', () => {
  it.each([
    [
      'data',
      (event: StoredEvent) => (event.position === 5 ? { ...event, data: `${event.data} ` } : event),
      'prompt-aaaa revision 0 differs in its data',
    ],
    [
      'metadata',
      (event: StoredEvent) => (event.position === 4 ? { ...event, metadata: '{}' } : event),
      'conversation-b/ü 🚢 revision 1 differs in its metadata',
    ],
    [
      'a lost event',
      (event: StoredEvent) => (event.position === 11 ? undefined : event),
      'conversation-a revision 5 is not in B',
    ],
    [
      'an id',
      (event: StoredEvent) => (event.position === 0 ? { ...event, id: '00000000-0000-8000-8000-000000000000' } : event),
      'conversation-a revision 0 differs in its id',
    ],
  ])('returns the first difference: %s', async (_what, alter, difference) => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const copied = await copyLog(from.source, storeTarget({ ...to, store: altered(to.store, alter) }))
    expect(copied.difference).toBe(difference)
  })

  it('finds an event that another program appended', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const target = {
      ...to.target,
      end: async () => {
        await appended(to.store, 'conversation-z', [eventNamed('z')])
      },
    }
    expect((await copyLog(from.source, target)).difference).toBe(
      'conversation-z revision 0 is in B, but A ends before it',
    )
  })

  it('finds a body that the target did not store', async () => {
    const from = await logOf('A')
    const to = emptyLog('B')
    const target = storeTarget({ ...to, bodies: { ...to.bodies, put: () => Promise.resolve() } })
    await expect(copyLog(from.source, target)).rejects.toMatchObject({
      kind: 'BodyLost',
      message: expect.stringContaining('is missing in B'),
    })
  })
})
