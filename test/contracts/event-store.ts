/**
 * The contract of an event store, tested for every adapter. `open` returns an empty store, or one without a stream that
 * begins with `prefix`. `close` closes it permanently. `release` ends a test without closing if closing takes seconds.
 * `reopen` opens the same events again, if the store outlives its process.
 */
import { isLong, longTest, repeated } from '../support/length.js'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import { getEventListeners } from 'node:events'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { readAhead } from '../../src/application/recording/read-ahead.js'
import { uuidOf } from '../../src/domain/values/hash.js'
import type {
  EventStore,
  EventToAppend,
  ReadAllOptions,
  StoredEvent,
  SubscriptionItem,
} from '../../src/ports/event-store.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { changes } from '../support/latch.js'

export interface OpenedStore {
  readonly store: EventStore
  close(): Promise<void>
  release?(): Promise<void>
  reopen?(): Promise<EventStore>
  /**
   * Prefix of every stream name in the test, if other programs use the same store and may append at any time. Default:
   * none, and the store is empty.
   */
  readonly prefix?: string
  /** Restarts the server of the store; it keeps every acknowledged event. */
  restart?(): Promise<void>
  /** Lets the server of the store accept calls but answer none, until `resume`. */
  readonly hanging?: { hang(): Promise<void>; resume(): Promise<void>; readonly deadlineMs: number }
}

/** Thousands of events in one read: more than a page; in the long tests, many pages. */
const PARTS = isLong ? 10 : 2

/** Differences between the stores. The defaults are the strongest guarantees. */
export interface StoreTraits {
  readonly recognizes?: EventStore['recognizes']
  /** `dense`: positions start at 0 and grow by one. `gapped`: they grow, and the store adds events of its own. */
  readonly positions?: 'dense' | 'gapped'
}

export function describeEventStore(
  name: string,
  open: () => Promise<OpenedStore>,
  { recognizes = 'always', positions = 'dense' }: StoreTraits = {},
): void {
  describe(`event store: ${name}`, () => {
    let opened: OpenedStore
    let store: EventStore
    /** Head of the log when the test began. */
    let origin: number
    let A: string
    let B: string
    beforeEach(async () => {
      opened = await open()
      store = opened.store
      origin = await store.head()
      A = named('conversation-a')
      B = named('conversation-b')
    })
    afterEach(async () => {
      await (opened.release === undefined ? opened.close() : opened.release())
    })

    const append = (stream: string, events: readonly EventToAppend[], expected: number | 'any' | 'no_stream' = 'any') =>
      appended(store, stream, events, expected)
    const named = (stream: string): string => `${opened.prefix ?? ''}${stream}`
    /** Selects the streams of this test: all streams if no other program uses the store. */
    const ownStreams = (prefix?: ReadAllOptions['prefix']): Pick<ReadAllOptions, 'prefix'> => {
      if (prefix === undefined && opened.prefix === undefined) return {}
      if (prefix === undefined || typeof prefix === 'string') return { prefix: named(prefix ?? '') }
      const [first, ...rest] = prefix
      return { prefix: [named(first), ...rest.map(named)] }
    }
    const readAll = ({ prefix, ...options }: ReadAllOptions = {}): Promise<StoredEvent[]> =>
      collect(
        store.readAll({ ...(opened.prefix === undefined ? {} : { after: origin }), ...options, ...ownStreams(prefix) }),
      )
    const subscribed = ({ prefix, ...options }: SubscribeOptions = {}) =>
      subscribedTo(store, { after: origin, ...options, ...ownStreams(prefix) })
    /** Positions grow; by one if they are dense. */
    const expectInOrder = (actual: readonly number[]): void => {
      const [first = 0] = actual
      expect(actual).toEqual(
        positions === 'dense'
          ? actual.map((_, index) => first + index)
          : [...new Set(actual)].toSorted((a, b) => (a < b ? -1 : 1)),
      )
    }
    /** The log ends at this position, or later if other programs append too. */
    const expectHead = async (position: number | undefined): Promise<void> => {
      const head = await store.head()
      if (opened.prefix === undefined) expect(head).toBe(position)
      else expect(head).toBeGreaterThanOrEqual(position ?? 0)
    }
    const idsIn = async (stream: string): Promise<string[]> =>
      (await collect(store.readStream(stream))).map((event) => event.id)

    describe('appending', () => {
      test('an empty store has no head, no stream and nothing to read', async () => {
        expect(store.recognizes).toBe(recognizes)
        expect(origin).toBe(positions === 'dense' ? -1 : await store.head())
        expect(await store.streamRevision(A)).toBe(-1)
        expect(await collect(store.readStream(A))).toEqual([])
        expect(await collect(store.readStream(A, { direction: 'backwards' }))).toEqual([])
        expect(await readAll()).toEqual([])
        expect(await store.readRevisions(A, [0])).toEqual([])
        expect(await store.findByIds(A, [uuidOf('x')])).toEqual([])
      })

      test('revisions count from 0 in each stream, positions grow over all of them', async () => {
        const first = await append(A, eventsNamed('a', 2))
        const second = await append(B, eventsNamed('b', 1))
        const third = await append(A, [eventNamed('a again')])
        expect([first.revision, second.revision, third.revision]).toEqual([1, 0, 2])
        expectInOrder([first.position, second.position, third.position])
        await expectHead(third.position)
        expect(await store.streamRevision(A)).toBe(2)
      })

      test('an event comes back whole, its texts byte for byte', async () => {
        const texts = [
          '{"b":1,  "a":2}',
          '{"text":"😀 𠮷 \u{10ffff} \u00e9 e\u0301"}',
          String.raw`{"nul":"\u0000","half":"\ud83d"}`,
          'no JSON at all {,"\\',
          '',
          ' \n\t\r\u0001',
          '\'\'""{}[]NULL',
        ]
        const events = texts.map((text, index) => ({
          id: uuidOf('text', text),
          type: `Type ${String(index)} "{,}`,
          data: text,
          metadata: texts[texts.length - 1 - index] ?? '',
        }))
        const { position } = await append(A, events)
        const stored = await collect(store.readStream(A))
        expectInOrder(stored.map((event) => event.position))
        expect(stored.at(-1)?.position).toBe(position)
        expect(stored).toEqual(
          events.map((event, index): StoredEvent => ({
            ...event,
            stream: A,
            revision: index,
            position: stored[index]?.position ?? -1,
          })),
        )
        expect(await readAll()).toEqual(stored)
      })

      test('an event of 5 MB', async () => {
        const large = eventNamed('large', 'ä💡 '.repeat(700_000))
        await append(A, [eventNamed('small'), large, eventNamed('small too')])
        const [, stored] = await collect(store.readStream(A))
        expect(Buffer.byteLength(large.data)).toBeGreaterThan(4_900_000)
        expect(stored?.data === large.data).toBe(true)
      })

      test.each([
        'conversation-/x y/../%_\\',
        'conversation-\'"{},NULL',
        'conversation-会话 😀',
        `conversation-${'n'.repeat(1_900)}`,
        'conversation-a\tb\u0001',
      ])('a stream can be named %j', async (odd) => {
        const stream = named(odd)
        await append(stream, [eventNamed('odd')], 'no_stream')
        expect(await store.streamRevision(stream)).toBe(0)
        expect((await readAll()).map((event) => event.stream)).toEqual([stream])
        expect((await store.findByIds(stream, [uuidOf('odd')])).map((event) => event.stream)).toEqual([stream])
      })

      test('names that differ in case or in how an accent is written are different streams', async () => {
        const names = ['conversation-\u00e9', 'conversation-e\u0301', 'conversation-\u00c9', 'conversation-e'].map(
          named,
        )
        for (const stream of names) await append(stream, [eventNamed(`in ${stream}`)], 'no_stream')
        expect((await readAll()).map((event) => event.stream)).toEqual(names)
      })

      test.each([
        ['no event at all', 'a', [], 'no event'],
        ['an empty name of a stream', '', [eventNamed('x')], 'empty'],
        ['a NUL in a name', 'a\0b', [eventNamed('x')], 'NUL'],
        ['a name too long for an index', 'n'.repeat(3_000), [eventNamed('x')], 'longer'],
        ['an id that is no UUID', 'a', [{ ...eventNamed('x'), id: 'x' }], 'UUID'],
        ['an id in upper case', 'a', [{ ...eventNamed('x'), id: uuidOf('x').toUpperCase() }], 'UUID'],
        ['the same id twice', 'a', [eventNamed('x'), eventNamed('x')], 'twice'],
        ['an empty type', 'a', [{ ...eventNamed('x'), type: '' }], 'type'],
        ['a raw NUL in data', 'a', [{ ...eventNamed('x'), data: 'a\0' }], 'NUL'],
        ['a lone surrogate in metadata', 'a', [{ ...eventNamed('x'), metadata: '\ud83d' }], 'surrogate'],
      ])('rejects %s, and writes nothing', async (_name, stream, events, word) => {
        const refused = await store.append(stream === 'a' ? A : stream, 'any', events)()
        expect(refused).toMatchObject({ left: { kind: 'AppendRefused', detail: expect.stringContaining(word) } })
        expect(await readAll()).toEqual([])
        expect(positions === 'dense' ? await store.head() : -1).toBe(-1)
      })
    })

    describe('expecting a revision', () => {
      test('a new stream accepts no_stream, -1n and any, but no revision', async () => {
        expect(await store.append(A, 0, [eventNamed('x')])()).toEqual(
          E.left({ kind: 'RevisionConflict', stream: A, expected: 0, actual: -1 }),
        )
        expect(await store.streamRevision(A)).toBe(-1)
        await append(A, [eventNamed('x')], 'no_stream')
        await append(B, [eventNamed('y')], -1)
        await append(named('conversation-c'), [eventNamed('z')], 'any')
      })

      test('an existing stream accepts its last revision and any, and nothing else', async () => {
        await append(A, eventsNamed('first', 3))
        for (const expected of ['no_stream', -1, 0, 1, 3, Number.MAX_SAFE_INTEGER] as const) {
          expect(await store.append(A, expected, [eventNamed('late')])()).toEqual(
            E.left({ kind: 'RevisionConflict', stream: A, expected, actual: 2 }),
          )
        }
        expect((await append(A, [eventNamed('next')], 2)).revision).toBe(3)
        expect((await append(A, [eventNamed('and one')], 'any')).revision).toBe(4)
        await expectHead((await readAll()).at(-1)?.position)
      })

      test.each(['no_stream', 0] as const)(
        'of 16 appends that race at %s one wins, and the others return the actual revision',
        async (expected) => {
          if (expected === 0) await append(A, [eventNamed('first')])
          const results = await Promise.all(
            Array.from({ length: 16 }, (_, racer) =>
              store.append(A, expected, [eventNamed(`racer ${String(racer)}`)])(),
            ),
          )
          const won = results.filter(E.isRight)
          expect(won).toHaveLength(1)
          const actual = expected === 0 ? 1 : 0
          expect(won[0]?.right.revision).toBe(actual)
          expect(results.filter(E.isLeft)).toEqual(
            Array.from({ length: 15 }, () => E.left({ kind: 'RevisionConflict', stream: A, expected, actual })),
          )
          expect(await idsIn(A)).toHaveLength(actual + 1)
        },
      )
    })

    describe('appending again', () => {
      const everywhere = ['any', 'no_stream', 0, 7, -1] as const
      test.each(recognizes === 'always' ? everywhere : (['any', 0] as const))(
        'the same events return their first result at %s, however late',
        async (expected) => {
          await append(A, [eventNamed('before')])
          const events = eventsNamed('mine', 3)
          const first = await append(A, events, 0)
          await append(A, eventsNamed('others', 5))
          await append(B, eventsNamed('elsewhere', 2))
          const head = await store.head()
          expect(await append(A, events, expected)).toEqual({ ...first, repeated: true })
          expect(first.repeated).toBe(false)
          expect(await store.head()).toBe(head)
        },
      )

      test.each(everywhere)(
        'the same events are never written a second time at %s, if the stream has another revision',
        async (expected) => {
          await append(A, [eventNamed('before')])
          const events = eventsNamed('mine', 3)
          const first = await append(A, events, 0)
          const result = await store.append(A, expected, events)()
          expect([
            E.right({ ...first, repeated: true }),
            E.left({ kind: 'RevisionConflict', stream: A, expected, actual: 3 }),
          ]).toContainEqual(result)
          expect(await idsIn(A)).toEqual([uuidOf('before'), ...events.map((event) => event.id)])
        },
      )

      test('the first, the last and the middle of several are repeated at their revision', async () => {
        const events = eventsNamed('x', 5)
        const { position } = await append(A, events, 'no_stream')
        await append(A, [eventNamed('behind')])
        expect(await append(A, events.slice(0, 2), 'no_stream')).toMatchObject({ revision: 1, repeated: true })
        expect(await append(A, events.slice(3), 2)).toEqual({ revision: 4, position, repeated: true })
        expect(await append(A, events.slice(1, 4), 0)).toMatchObject({ revision: 3, repeated: true })
        expect(await store.streamRevision(A)).toBe(5)
      })

      test.each(['any', 'no_stream'] as const)(
        'other metadata at %s is the same event, and the first one stays',
        async (expected) => {
          const event = eventNamed('x')
          await append(A, [event])
          expect((await append(A, [{ ...event, metadata: '{"recordedAt":"later"}' }], expected)).repeated).toBe(true)
          expect((await collect(store.readStream(A))).map((stored) => stored.metadata)).toEqual([event.metadata])
        },
      )

      test('one event of several is repeated too, and the whole run of two appends', async () => {
        const events = eventsNamed('x', 4)
        await append(A, events.slice(0, 2))
        const { revision, position } = await append(A, events.slice(2))
        expect(await append(A, events.slice(1, 2))).toMatchObject({ revision: 1, repeated: true })
        expect(await append(A, events)).toEqual({ revision, position, repeated: true })
      })

      test.each<[string, (stored: EventToAppend[]) => EventToAppend[], number[]]>([
        ['other data', ([a, b]) => [{ ...eventNamed('stored 0'), data: '{}' }, ...(a && b ? [b] : [])], [0, 1]],
        ['another type', ([a]) => (a ? [{ ...a, type: 'Other' }] : []), [0]],
        ['some of them new', ([, b]) => [eventNamed('new'), ...(b ? [b] : [])], [1]],
        ['a new one at the end', (stored) => [...stored, eventNamed('new')], [0, 1, 2]],
        ['another order', ([a, b]) => (a && b ? [b, a] : []), [1, 0]],
        ['a gap between them', ([a, , c]) => (a && c ? [a, c] : []), [0, 2]],
      ])('rejects %s and names the recorded ids', async (_name, change, indexes) => {
        const stored = eventsNamed('stored', 3)
        await append(A, stored)
        const ids = indexes.map((index) => stored[index]?.id)
        for (const expected of recognizes === 'always'
          ? (['any', 2, 'no_stream'] as const)
          : (['any', 'no_stream'] as const)) {
          expect(await store.append(A, expected, change(stored))()).toEqual(
            E.left({ kind: 'IdsRecorded', stream: A, ids }),
          )
        }
        expect(await idsIn(A)).toEqual(stored.map((event) => event.id))
      })

      test('an id is unique only within its stream', async () => {
        await append(A, [eventNamed('x')])
        expect((await append(B, [eventNamed('x')], 'no_stream')).repeated).toBe(false)
      })

      test('of 16 concurrent appends of the same events one writes them, and all return its result', async () => {
        const events = eventsNamed('same', 3)
        const results = await Promise.all(Array.from({ length: 16 }, () => append(A, events, 'no_stream')))
        expect(results.filter((result) => !result.repeated)).toHaveLength(1)
        expect(new Set(results.map((result) => `${String(result.revision)} ${String(result.position)}`)).size).toBe(1)
        expect(await store.streamRevision(A)).toBe(2)
      })
    })

    describe('reading', () => {
      test('streams are named by prefix, each once, in the order of their bytes', async () => {
        for (const suffix of ['b', 'é', 'B', '!', '\u{ff5e}', '\u{1f6a2}', 'a%', 'a_', 'a']) {
          await append(`${A}-${suffix}`, eventsNamed(suffix, 2))
        }
        await append(B, eventsNamed('first', 1))
        const names = async (prefix: string): Promise<string[]> => await collect(store.streams(prefix))
        expect(await names(`${A}-`)).toEqual(
          ['!', 'B', 'a', 'a%', 'a_', 'b', 'é', '\u{ff5e}', '\u{1f6a2}'].map((suffix) => `${A}-${suffix}`),
        )
        expect(await names(`${A}-a_`)).toEqual([`${A}-a_`])
        expect(await names(B)).toEqual([B])
        expect(await names(`${A}-z`)).toEqual([])
        // Each recorded revision matches the events.
        for (const prefix of [named(''), A, B])
          for await (const { stream } of store.miscountedStreams?.(prefix) ?? [])
            throw new Error(`${stream} was reported, but its recorded revision is right`)
      })

      test('reading all streams of a prefix at once equals reading them one by one, whatever streams sort next to them', async () => {
        const log = { store, bodies: createMemoryBodyStore() }
        for (const suffix of ['b', '\u{ff5e}', '\u{1f6a2}', 'a%', 'a'])
          await append(`${A}-${suffix}`, eventsNamed(suffix, 70))
        for (const stream of [A, B, `${A}.`]) await append(stream, eventsNamed('neighbour', 3))
        for (const prefix of [`${A}-`, `${A}-a`, A, B, `${A}-z`, named('')]) {
          const oneByOne: StoredEvent[] = []
          for await (const stream of store.streams(prefix)) oneByOne.push(...(await collect(store.readStream(stream))))
          const atOnce: StoredEvent[] = []
          for await (const { stream, events } of readAhead(log, prefix)) {
            const ofStream = await collect(events)
            expect(ofStream.map((event) => event.stream)).toEqual(ofStream.map(() => stream))
            atOnce.push(...ofStream)
          }
          expect(atOnce).toEqual(oneByOne)
        }
      })

      test('a stream both ways, from a revision, with a limit', async () => {
        await append(A, eventsNamed('a', 10))
        await append(B, eventsNamed('b', 3))
        const revisions = async (options: Parameters<EventStore['readStream']>[1]): Promise<number[]> =>
          (await collect(store.readStream(A, options))).map((event) => event.revision)
        expect(await revisions({})).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        expect(await revisions({ direction: 'backwards' })).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
        expect(await revisions({ from: 7 })).toEqual([7, 8, 9])
        expect(await revisions({ from: 2, direction: 'backwards' })).toEqual([2, 1, 0])
        expect(await revisions({ from: 3, limit: 2 })).toEqual([3, 4])
        expect(await revisions({ from: 3, direction: 'backwards', limit: 2 })).toEqual([3, 2])
        expect(await revisions({ limit: 0 })).toEqual([])
        expect(await revisions({ from: 10 })).toEqual([])
        expect(await revisions({ from: 99, direction: 'backwards', limit: 1 })).toEqual([9])
        expect(await revisions({ from: -5, limit: 1 })).toEqual([0])
        expect(await revisions({ from: -1, direction: 'backwards' })).toEqual([])
      })

      test('single revisions and ids, in order, without missing ones', async () => {
        const events = eventsNamed('a', 6)
        await append(A, events)
        await append(B, eventsNamed('b', 6))
        expect(
          (await store.readRevisions(A, [4, 0, 99, 4, -1])).map((event) => [event.stream, event.revision]),
        ).toEqual([
          [A, 0],
          [A, 4],
        ])
        const ids = [events[5]?.id ?? '', uuidOf('b 0'), events[1]?.id ?? '', events[5]?.id ?? '']
        expect((await store.findByIds(A, ids)).map((event) => event.revision)).toEqual([1, 5])
        expect(await store.readRevisions(A, [])).toEqual([])
        expect(await store.findByIds(A, [])).toEqual([])
      })

      test('all streams by position, after a position, with a limit', async () => {
        await append(A, eventsNamed('a', 3))
        await append(B, eventsNamed('b', 2))
        await append(A, eventsNamed('a again', 2))
        const all = await readAll()
        expect(all.map((event) => event.stream)).toEqual([A, A, A, B, B, A, A])
        expectInOrder(all.map((event) => event.position))
        expect(await readAll({ after: all[2]?.position ?? 0 })).toEqual(all.slice(3))
        expect(await readAll({ after: all[2]?.position ?? 0, limit: 2 })).toEqual(all.slice(3, 5))
        expect(await readAll({ limit: 0 })).toEqual([])
        expect(await readAll({ after: await store.head() })).toEqual([])
        expect(await readAll({ after: 10 ** 15 })).toEqual([])
      })

      test('places of events equal the events of a read: after a position, by prefixes, with a limit', async () => {
        for (const [index, stream] of [A, B, named('edition-1')].entries())
          await append(stream, eventsNamed(stream, 3 + index))
        await append(A, [{ ...eventNamed('silent'), metadata: '{}' }])
        const reads: ReadAllOptions[] = [
          {},
          { prefix: 'conversation-' },
          { prefix: ['edition-', 'conversation-a'] },
          { limit: 4 },
          { limit: 0 },
          { after: await store.head() },
        ]
        const [first] = await readAll()
        for (const { prefix, ...options } of [...reads, { after: first?.position ?? 0 }]) {
          const events = await readAll({ ...options, ...(prefix === undefined ? {} : { prefix }) })
          const expected = events.map(({ id, type, stream, revision, position, metadata }) => ({
            id,
            type,
            stream,
            revision,
            position,
            ...(metadata === '{}' ? {} : { recordedAt: '2026-01-01T00:00:00.000Z' }),
          }))
          expect(
            await collect(
              store.readPositions({
                ...(opened.prefix === undefined ? {} : { after: origin }),
                ...options,
                ...ownStreams(prefix),
              }),
            ),
          ).toEqual(expected)
        }
      })

      test('the hashes of events are those of their metadata', async () => {
        const hash = 'ab'.repeat(32)
        const quoted = ',"hash":"no"'
        const metadata = JSON.stringify({
          actor: quoted,
          previousHash: '0'.repeat(64),
          hash,
          redacted: { [quoted]: 1 },
        })
        await append(A, [
          { ...eventNamed('with hash', `{"text":${JSON.stringify(quoted)}}`), metadata },
          eventNamed('without'),
        ])
        const [first, second] = await readAll()
        const isolated = ownStreams(undefined)
        expect(await collect(store.readHashes({ after: origin, ...isolated }))).toEqual([
          { position: first?.position, hash },
          { position: second?.position },
        ])
        expect(await collect(store.readHashes({ after: first?.position ?? 0, ...isolated }))).toEqual([
          { position: second?.position },
        ])
        expect(await collect(store.readHashes({ after: await store.head(), ...isolated }))).toEqual([])
      })

      test('the event at a position of the log, and none at any other', async () => {
        await append(A, eventsNamed('a', 3))
        await append(B, [eventNamed('b')])
        const all = await readAll()
        for (const event of all) expect(await store.eventAt(event.position)).toEqual(event)
        const head = await store.head()
        await expectHead(all.at(-1)?.position)
        expect((await store.eventAt(head))?.position).toBe(head)
        // The last position is between two events if positions have gaps.
        for (const position of [
          -1,
          head + 1,
          head * 2 + 10 ** 6,
          Number.MAX_SAFE_INTEGER,
          positions === 'gapped' ? head - 1 : -2,
        ])
          expect(await store.eventAt(position)).toBeUndefined()
      })

      test.each(['conversation-', 'conv%', 'conv_rsation-', 'a\\', 'a\\%', '会', ''])(
        'by the literal prefix %j, not as a pattern',
        async (prefix) => {
          const streams = [
            'conversation-1',
            'conv%-2',
            'conv_rsation-3',
            'a\\b',
            'a\\%',
            'a%',
            '会话',
            'Conversation-4',
            'x-conversation-5',
          ]
          for (const stream of streams) await append(named(stream), [eventNamed(`in ${stream}`)])
          const found = await readAll({ prefix, after: origin })
          expect(found.map((event) => event.stream)).toEqual(
            streams.filter((stream) => stream.startsWith(prefix)).map(named),
          )
          const limited = await readAll({ prefix, limit: 1 })
          expect(limited).toEqual(found.slice(0, 1))
        },
      )

      test('by several prefixes, each event once and in order, even if more than one prefix matches', async () => {
        const streams = [
          'conversation-1',
          'edition-%-1',
          'conversation-2',
          'prompt-1',
          'edition',
          'Edition-2',
          'edition-a-2',
          'conversations',
        ]
        for (const [at, stream] of streams.entries())
          await append(named(stream), eventsNamed(`in ${stream}`, 1 + (at % 2)))
        const all = await readAll({ prefix: '' })
        const expected = all.filter((event) =>
          ['conversation-', 'edition-'].some((prefix) => event.stream.startsWith(named(prefix))),
        )
        expect(expected.map((event) => event.stream)).toEqual(
          ['conversation-1', 'edition-%-1', 'edition-%-1', 'conversation-2', 'edition-a-2'].map(named),
        )
        expect(await readAll({ prefix: ['conversation-', 'edition-'] })).toEqual(expected)
        expect(
          await readAll({ prefix: ['edition-%', 'conversation-1', 'conversation-', 'edition-', 'nothing'] }),
        ).toEqual(expected)
        expect(await readAll({ prefix: ['edition-', 'conversation-'], limit: 2 })).toEqual(expected.slice(0, 2))
        expect(await readAll({ prefix: ['conversation-', 'edition-'], after: expected[1]?.position ?? -1 })).toEqual(
          expected.slice(2),
        )
        expect(await readAll({ prefix: ['prompt-'] })).toEqual(
          all.filter((event) => event.stream === named('prompt-1')),
        )
        expect(await readAll({ prefix: ['edition-', ''] })).toEqual(all)
      })

      longTest('events of many pages in one read, both ways and by position', async () => {
        for (let part = 0; part < PARTS; part++)
          await append(A, eventsNamed(`part ${String(part)}`, 1_000), part * 1_000 - 1)
        const forwards = await collect(store.readStream(A))
        expect(forwards.map((event) => event.revision)).toEqual(
          Array.from({ length: PARTS * 1_000 }, (_, index) => index),
        )
        expect((await collect(store.readStream(A, { direction: 'backwards' }))).toReversed()).toEqual(forwards)
        expect(await readAll({ prefix: 'conversation-' })).toEqual(forwards)
        expect(await readAll({ prefix: 'nothing' })).toEqual([])
        expect(
          await store.readRevisions(
            A,
            forwards.map((event) => event.revision),
          ),
        ).toEqual(forwards)
      })

      test('several large events in one read', async () => {
        const count = repeated(12, 4)
        for (let index = 0; index < count; index++)
          await append(A, [eventNamed(String(index), 'x'.repeat(index % 3 === 0 ? 10 : 3_000_000))], index - 1)
        expect((await collect(store.readStream(A))).map((event) => event.revision)).toHaveLength(count)
        expect(await readAll()).toHaveLength(count)
      })

      test('large events among small ones, wherever a page ends', async () => {
        const large = 'x'.repeat(700_000)
        for (let part = 0; part < 6; part++)
          await append(part % 3 === 0 ? A : B, [
            ...eventsNamed(`small ${String(part)}`, 40),
            eventNamed(`large ${String(part)}`, large),
          ])
        await append(
          A,
          Array.from({ length: 9 }, (_, index) => eventNamed(`last ${String(index)}`, index % 4 === 0 ? large : 'x')),
        )
        const all = await readAll()
        expect(all.map(({ id }) => id)).toEqual([...new Set(all.map(({ id }) => id))])
        expect(all).toHaveLength(6 * 41 + 9)
        for (const stream of [A, B]) {
          const expected = all.filter((event) => event.stream === stream)
          expect(await collect(store.readStream(stream))).toEqual(expected)
          expect(await collect(store.readStream(stream, { direction: 'backwards' }))).toEqual(expected.toReversed())
          expect(await collect(store.readStream(stream, { from: 3, limit: 100 }))).toEqual(expected.slice(3, 103))
          expect(await collect(store.readStreams?.(stream) ?? store.readStream(stream))).toEqual(expected)
          const head = { stream, revision: expected.length - 1 }
          expect(store.streamHeads === undefined ? [head] : await collect(store.streamHeads(stream))).toEqual([head])
        }
      })
    })

    describe('subscribing', () => {
      test('an empty store is caught up at once', async () => {
        const reader = subscribed()
        await reader.until((items) => items.length > 0)
        const [first] = reader.items
        expect(reader.items).toEqual([
          { kind: 'caught-up', position: positions === 'dense' || first?.kind !== 'caught-up' ? -1 : first.position },
        ])
        reader.stop.abort()
        await reader.ended
      })

      test('delivers the missed events, then reports that it is caught up, then delivers live events', async () => {
        await append(A, eventsNamed('before', 3))
        const checkpoint = await store.head()
        await append(A, eventsNamed('away', 2))
        await append(B, eventsNamed('away too', 1))
        const away = await store.head()
        const reader = subscribed({ after: checkpoint })
        await reader.until(caughtUpAt(away))
        const live = await append(A, eventsNamed('live', 2))
        await reader.until(caughtUpAt(live.position))
        reader.stop.abort()
        await reader.ended
        expect(reader.items.flatMap((item) => (item.kind === 'event' ? [item.event] : []))).toEqual(
          await readAll({ after: checkpoint }),
        )
        expect(reader.items.findIndex((item) => item.kind === 'caught-up')).toBe(3)
      })

      test('a live event arrives by itself, usually within a second even on a busy machine', async () => {
        const reader = subscribed()
        await reader.until(caughtUpAt(-1))
        const delays: number[] = []
        for (let round = 0; round < 20; round++) {
          const from = performance.now()
          const { position } = await append(A, [eventNamed(`live ${String(round)}`)])
          await reader.until((items) => items.some((item) => item.kind === 'event' && item.event.position === position))
          delays.push(performance.now() - from)
        }
        reader.stop.abort()
        await reader.ended
        expect(delays.toSorted((a, b) => a - b)[10]).toBeLessThan(1_000)
      })

      test('with a prefix it also reports its progress past events that do not match', async () => {
        const reader = subscribed({ prefix: 'prompt-' })
        await reader.until(caughtUpAt(-1))
        const { position } = await append(A, eventsNamed('of no interest', 3))
        await reader.until(caughtUpAt(position))
        const matching = await append(named('prompt-x'), [eventNamed('matching')])
        await reader.until(caughtUpAt(matching.position))
        reader.stop.abort()
        await reader.ended
        expect(reader.ids()).toEqual([uuidOf('matching')])
      })

      test('a subscriber can resume from any delivered position without losing or repeating an event', async () => {
        const unrelated = named('prompt-of-no-interest')
        for (let round = 0; round < 10; round++) {
          await append(A, eventsNamed(`round ${String(round)}`, 1 + (round % 3)))
          await append(unrelated, eventsNamed(`others ${String(round)}`, 7))
        }
        const reader = subscribed({ prefix: 'conversation-' })
        await reader.until(caughtUpAt(await store.head()))
        await append(A, eventsNamed('live', 2))
        await append(unrelated, eventsNamed('others live', 7))
        await reader.until(caughtUpAt(await store.head()))
        reader.stop.abort()
        await reader.ended
        const all = await readAll({ prefix: 'conversation-' })
        expect(reader.ids()).toEqual(all.map((event) => event.id))
        for (const item of reader.items) {
          const after = item.kind === 'event' ? item.event.position : item.position
          const rest = all.filter((event) => event.position > after).map((event) => event.id)
          expect((await readAll({ after, prefix: 'conversation-' })).map((event) => event.id)).toEqual(rest)
          const resumed = subscribed({ after, prefix: 'conversation-' })
          await resumed.until((items) => items.some((received) => received.kind === 'caught-up'))
          resumed.stop.abort()
          await resumed.ended
          expect(resumed.ids()).toEqual(rest)
        }
      })

      test('by several prefixes it delivers stored and live events, and reports its progress', async () => {
        const E1 = named('edition-1-a')
        await append(A, eventsNamed('a', 2))
        await append(named('prompt-x'), eventsNamed('of no interest', 3))
        await append(E1, eventsNamed('e', 2))
        const reader = subscribed({ prefix: ['conversation-', 'edition-'] })
        await reader.until(caughtUpAt(await store.head()))
        await append(E1, eventsNamed('e live', 2), 1)
        await append(named('prompt-x'), eventsNamed('of no interest live', 40))
        const { position } = await append(A, eventsNamed('a live', 1), 1)
        await reader.until(caughtUpAt(position))
        const last = await append(named('prompt-x'), eventsNamed('of no interest at the end', 1))
        await reader.until(caughtUpAt(last.position))
        reader.stop.abort()
        await reader.ended
        expect(reader.ids()).toEqual(
          [
            ...eventsNamed('a', 2),
            ...eventsNamed('e', 2),
            ...eventsNamed('e live', 2),
            ...eventsNamed('a live', 1),
          ].map((event) => event.id),
        )
      })

      test('ends after its limit', async () => {
        await append(A, eventsNamed('x', 5))
        const reader = subscribed({ limit: 3 })
        await reader.ended
        expect(reader.ids()).toEqual(eventsNamed('x', 3).map((event) => event.id))
      })

      test('an abort ends it without an error, before, while it reads and while it waits, and leaves no listener', async () => {
        await append(A, eventsNamed('x', 300))
        const before = new AbortController()
        before.abort()
        expect(await collect(store.subscribe({ after: origin, signal: before.signal }))).toEqual([])

        const during = new AbortController()
        const received: SubscriptionItem[] = []
        for await (const item of store.subscribe({ after: origin, signal: during.signal })) {
          received.push(item)
          if (received.length === 100) during.abort()
        }
        expect(received).toHaveLength(100)

        const waiting = subscribed()
        await waiting.until(caughtUpAt(await store.head()))
        waiting.stop.abort()
        await waiting.ended
        for (const { signal } of [before, during, waiting.stop]) expect(getEventListeners(signal, 'abort')).toEqual([])
      })

      test('a consumer that stops in the middle leaves no listener', async () => {
        await append(A, eventsNamed('x', 300))
        const { signal } = new AbortController()
        for await (const item of store.subscribe({ after: origin, signal })) {
          expect(item.kind).toBe('event')
          break
        }
        expect(getEventListeners(signal, 'abort')).toEqual([])
        await append(A, [eventNamed('after')])
      })

      test('several subscriptions are independent', async () => {
        const readers = [
          subscribed(),
          subscribed({ prefix: 'conversation-a' }),
          subscribed({ prefix: 'conversation-b' }),
        ]
        await append(A, eventsNamed('a', 20))
        const { position } = await append(B, eventsNamed('b', 20))
        for (const reader of readers) {
          await reader.until(caughtUpAt(position))
          reader.stop.abort()
          await reader.ended
        }
        expect(readers.map((reader) => reader.ids().length)).toEqual([40, 20, 20])
      })

      longTest(
        'while 16 writers append, a reader receives each event exactly once, in order, and no position is missing',
        async () => {
          const reader = subscribed()
          // If positions have gaps, an append returns only the position of its last event.
          const acknowledged = new Map<string, number | undefined>()
          await Promise.all(
            Array.from({ length: 16 }, async (_, writer) => {
              for (let round = 0; round < 20; round++) {
                const events = eventsNamed(
                  `writer ${String(writer)} round ${String(round)}`,
                  1 + ((writer + round) % 3),
                )
                // Some share a stream, some collide at a revision and lose: a loser must not leave a gap.
                const lost = await store.append(named(`conversation-${String(writer % 5)}`), 'no_stream', [
                  eventNamed(`lost ${String(writer)} ${String(round)}`),
                ])()
                if (E.isRight(lost))
                  acknowledged.set(uuidOf(`lost ${String(writer)} ${String(round)}`), lost.right.position)
                const { position } = await append(named(`conversation-${String(writer % 5)}`), events)
                events.forEach((event, index) => {
                  const before = events.length - 1 - index
                  acknowledged.set(event.id, positions === 'dense' || before === 0 ? position - before : undefined)
                })
              }
            }),
          )
          await reader.until(caughtUpAt(await store.head()))
          reader.stop.abort()
          await reader.ended
          const received = reader.items.flatMap((item) => (item.kind === 'event' ? [item.event] : []))
          expectInOrder(received.map((event) => event.position))
          expect(received).toHaveLength(acknowledged.size)
          for (const { id, position } of received)
            expect(acknowledged.has(id) && (acknowledged.get(id) ?? position) === position).toBe(true)
          expect(received).toEqual(await readAll())
          for (let stream = 0; stream < 5; stream++) {
            const events = await collect(store.readStream(named(`conversation-${String(stream)}`)))
            expect(events.map((event) => event.revision)).toEqual(events.map((_, index) => index))
            expect(events.map((event) => event.position)).toEqual(
              events.map((event) => event.position).toSorted((a, b) => a - b),
            )
          }
        },
      )
    })

    describe('closing', () => {
      test('a closed store fails with StoreUnavailable, and pending calls end', async () => {
        await append(A, [eventNamed('x')])
        const stop = new AbortController()
        const items = store.subscribe({ after: origin, ...ownStreams(), signal: stop.signal })[Symbol.asyncIterator]()
        await items.next()
        const waiting = (async () => {
          while ((await items.next()).done !== true);
          return 'ended'
        })().catch((error: unknown) => error)
        await opened.close()
        expect(await waiting).toMatchObject({ kind: 'StoreUnavailable' })
        expect(await store.append(A, 'any', [eventNamed('y')])()).toMatchObject({
          left: { kind: 'StoreUnavailable', detail: expect.stringContaining('closed') },
        })
        await expect(store.head()).rejects.toMatchObject({ kind: 'StoreUnavailable' })
        await expect(collect(store.readStream(A))).rejects.toMatchObject({ kind: 'StoreUnavailable' })
        await expect(readAll()).rejects.toMatchObject({ kind: 'StoreUnavailable' })
        await expect(collect(store.subscribe({ signal: stop.signal }))).rejects.toMatchObject({
          kind: 'StoreUnavailable',
        })
        await opened.close()
      })

      test('closing during many appends loses no acknowledged event', async () => {
        const results = Array.from({ length: 40 }, (_, index) => store.append(A, 'any', [eventNamed(String(index))])())
        await results[5]
        await opened.close()
        const settled = await Promise.all(results)
        expect(settled.filter(E.isLeft).every((result) => result.left.kind === 'StoreUnavailable')).toBe(true)
        if (opened.reopen === undefined) return
        store = await opened.reopen()
        const stored = await idsIn(A)
        const acknowledged = settled.flatMap((result, index) => (E.isRight(result) ? [uuidOf(String(index))] : []))
        expect(acknowledged.length).toBeGreaterThan(5)
        expect(acknowledged.filter((id) => !stored.includes(id))).toEqual([])
      })

      test('after reopening, every event has its position, and appends continue', async () => {
        if (opened.reopen === undefined) return
        const events = eventsNamed('x', 5)
        const first = await append(A, events)
        const before = await readAll()
        await opened.close()
        store = await opened.reopen()
        expect(await readAll()).toEqual(before)
        expect(await append(A, events)).toEqual({ ...first, repeated: true })
        expect(await append(A, events, 'no_stream')).toEqual({ ...first, repeated: true })
        const next = await append(A, [eventNamed('next')], 4)
        expect(next).toMatchObject({ revision: 5, repeated: false })
        expectInOrder([first.position, next.position])
      })
    })

    describe('a server that fails', () => {
      test('restarts during a subscription: no event is lost or repeated', async () => {
        if (opened.restart === undefined) return
        const reader = subscribed()
        for (let round = 0; round < 3; round++) {
          const before = await append(A, eventsNamed(`before ${String(round)}`, 3))
          await reader.until(caughtUpAt(before.position))
          await opened.restart()
          const after = await append(A, eventsNamed(`after ${String(round)}`, 3))
          await reader.until(caughtUpAt(after.position))
        }
        reader.stop.abort()
        await reader.ended
        expect(reader.ids()).toEqual(await idsIn(A))
        expect(reader.ids()).toHaveLength(18)
      })

      test('restarts during appends: each event is stored once, acknowledged or retried', async () => {
        if (opened.restart === undefined) return
        const streams = Array.from({ length: 8 }, (_, index) => named(`conversation-${String(index)}`))
        const writing = Promise.all(
          streams.map(async (stream) => {
            for (let index = 0; index < 20; index++) {
              const event = [eventNamed(`${stream} ${String(index)}`)]
              let result = await store.append(stream, index === 0 ? 'no_stream' : index - 1, event)()
              while (E.isLeft(result) && result.left.kind === 'StoreUnavailable')
                result = await store.append(stream, index === 0 ? 'no_stream' : index - 1, event)()
              expect(result).toMatchObject({ right: { revision: index } })
            }
          }),
        )
        await opened.restart()
        await opened.restart()
        await writing
        for (const stream of streams)
          expect(await idsIn(stream)).toEqual(
            Array.from({ length: 20 }, (_, index) => uuidOf(`${stream} ${String(index)}`)),
          )
      })

      longTest('hangs: every call ends with an error, and afterwards all calls work', async () => {
        if (opened.hanging === undefined) return
        const { hanging } = opened
        const before = await append(A, eventsNamed('before', 3))
        const reader = subscribed()
        await reader.until(caughtUpAt(before.position))
        await hanging.hang()
        const from = performance.now()
        const late = store.append(A, 2, [eventNamed('late')])
        const calls = [
          store.head(),
          store.streamRevision(A),
          store.readRevisions(A, [1]),
          store.findByIds(A, [uuidOf('x')]),
          store.eventAt(before.position),
          collect(store.readStream(A)),
          collect(store.readStream(A, { direction: 'backwards' })),
          readAll(),
        ]
        const settled = await Promise.allSettled(calls)
        expect(settled.map((call) => (call.status === 'rejected' ? call.reason : call.value))).toEqual(
          calls.map(() => expect.objectContaining({ kind: 'StoreUnavailable' })),
        )
        expect(await late()).toMatchObject({ left: { kind: 'StoreUnavailable' } })
        // The concurrent calls and then the append each have their deadline, plus some time for a busy machine.
        expect(performance.now() - from).toBeLessThan(2 * hanging.deadlineMs + 3_000)
        await hanging.resume()
        expect(await append(A, [eventNamed('late')], 2)).toMatchObject({ revision: 3 })
        const last = await append(A, [eventNamed('after')], 3)
        await reader.until(caughtUpAt(last.position))
        reader.stop.abort()
        await reader.ended
        expect(reader.ids()).toEqual(await idsIn(A))
        expect(await store.streamRevision(A)).toBe(4)
      })
    })
  })
}

type SubscribeOptions = Omit<Parameters<EventStore['subscribe']>[0], 'signal'>

/** Runs a subscription in the background; `until` resolves when its items fulfil a condition. */
function subscribedTo(store: EventStore, options: SubscribeOptions = {}) {
  const stop = new AbortController()
  const items: SubscriptionItem[] = []
  const change = changes()
  const ended = (async () => {
    for await (const item of store.subscribe({ ...options, signal: stop.signal })) {
      items.push(item)
      change.happened()
    }
  })()
  return {
    items,
    stop,
    ended,
    ids: (): string[] => items.flatMap((item) => (item.kind === 'event' ? [item.event.id] : [])),
    async until(fulfilled: (received: readonly SubscriptionItem[]) => boolean): Promise<void> {
      // A subscription that fails or ends too early fails the test here.
      while (!fulfilled(items))
        await Promise.race([change.next(), ended.then(() => expect(fulfilled(items)).toBe(true))])
    },
  }
}

const caughtUpAt = (position: number) => (items: readonly SubscriptionItem[]) =>
  items.some((item) => item.kind === 'caught-up' && item.position >= position)
