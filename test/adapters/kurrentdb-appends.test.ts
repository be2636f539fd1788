/**
 * How the KurrentDB adapter appends: at which revision, how often, under which ids, what it makes of errors, and what
 * it leaves beside the log.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import { meaningOf, wordsOf } from '../../src/adapters/kurrentdb/client-errors.js'
import {
  openKurrentDbEventStore,
  type KurrentDbEventStore,
  type KurrentDbOptions,
} from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { createConversations } from '../../src/recording/handle-command.js'
import { systemClock } from '../../src/ports/clock.js'
import { sha256, uuidOf } from '../../src/domain/values/hash.js'
import type { BodyStore } from '../../src/ports/body-store.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { indexUpTo, noIndex } from '../support/event-ids.js'
import { createEventLog, type EventLog } from '../support/kurrentdb/log.js'
import { startWireServer, type WireServer } from '../support/kurrentdb/server.js'
import { longTest } from '../support/length.js'

const A = 'conversation-a'

let server: WireServer
let bodies: BodyStore & { readonly puts: string[] }
let store: KurrentDbEventStore
let opened: KurrentDbEventStore[]
/** Every append that reached the log, with the place that it asked for. */
let reached: { readonly stream: string; readonly expected: unknown; readonly ids: readonly string[] }[]

function watched(log: EventLog): EventLog {
  const append = log.append.bind(log)
  return Object.assign(log, {
    append: (...[stream, expected, events]: Parameters<EventLog['append']>) => {
      if (!stream.startsWith('$')) reached.push({ stream, expected, ids: events.map(({ id }) => id) })
      return append(stream, expected, events)
    },
  })
}

async function open(options: Partial<KurrentDbOptions> = {}): Promise<KurrentDbEventStore> {
  const another = await openKurrentDbEventStore(server.connectionString, {
    bodies,
    eventIds: noIndex,
    deadlineMs: 4_000,
    ...options,
  })
  opened.push(another)
  return another
}

beforeEach(async () => {
  reached = []
  opened = []
  server = await startWireServer({ log: watched(createEventLog()) })
  const kept = createMemoryBodyStore()
  const puts: string[] = []
  bodies = { puts, get: (hash) => kept.get(hash), put: (hash, body) => (puts.push(hash), kept.put(hash, body)) }
  store = await open()
})

afterEach(async () => {
  for (const each of opened) await each.close()
  await server.close()
})

const stored = (stream = A) => server.log.all.filter((record) => record.stream === stream)
const idsIn = async (stream = A): Promise<string[]> =>
  (await collect(store.readStream(stream))).map((event) => event.id)

describe('where', () => {
  test('every append asks for an exact revision or for no stream, whatever was expected', async () => {
    await appended(store, A, [eventNamed('a')], 'any')
    await appended(store, A, [eventNamed('b')], 'any')
    await appended(store, A, [eventNamed('c')], 1n)
    await appended(store, 'conversation-b', [eventNamed('d')], -1n)
    expect(reached.map(({ expected }) => expected)).toEqual(['no_stream', 0n, 1n, 'no_stream'])
  })

  test('appends of one stream go one after the other, in the order in which they were asked for', async () => {
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, place) => appended(store, A, [eventNamed(String(place))], BigInt(place - 1))),
    )
    expect(results.map(({ revision }) => revision)).toEqual(Array.from({ length: 30 }, (_, place) => BigInt(place)))
    expect(reached).toHaveLength(30)
  })

  test('16 that race at any from two processes are all written, each once', async () => {
    const other = await open()
    await Promise.all(
      Array.from({ length: 16 }, (_, place) =>
        appended(place % 2 === 0 ? store : other, A, [eventNamed(String(place))]),
      ),
    )
    expect((await idsIn()).toSorted()).toEqual(
      Array.from({ length: 16 }, (_, place) => uuidOf(String(place))).toSorted(),
    )
  })

  test("names of the server's own streams are refused", async () => {
    expect(await store.append('$settings', 'any', [eventNamed('x')])()).toMatchObject({
      left: { kind: 'AppendRefused', detail: expect.stringContaining('$') },
    })
    expect(reached).toEqual([])
  })
})

describe('the id on the wire', () => {
  test('comes from the whole event and its stream, so that other content is never taken for a repetition', async () => {
    const event = eventNamed('x')
    const variants = [event, { ...event, data: '{}' }, { ...event, metadata: '{}' }, { ...event, type: 'Other' }]
    for (const [place, variant] of variants.entries())
      await appended(store, `conversation-${String(place)}`, [variant], 'no_stream')
    await appended(store, 'conversation-other', [event], 'no_stream')
    expect(new Set(reached.flatMap(({ ids }) => ids)).size).toBe(5)
    expect(reached.flatMap(({ ids }) => ids)).not.toContain(event.id)
    expect(await idsIn('conversation-2')).toEqual([event.id])
  })

  test('an event that is there with other data is named, and one with other metadata is a repetition', async () => {
    const event = eventNamed('x')
    const first = await appended(store, A, [event], 'no_stream')
    expect(await store.append(A, 'no_stream', [{ ...event, data: '{"text":"changed"}' }])()).toEqual(
      E.left({ kind: 'IdsRecorded', stream: A, ids: [event.id] }),
    )
    expect(await store.append(A, 'no_stream', [{ ...event, metadata: '{}' }])()).toEqual(
      E.right({ ...first, repeated: true }),
    )
    expect(stored()).toHaveLength(1)
  })
})

describe('an id that comes back late', () => {
  test('is found by the index where it is old, and by reading where the index has not come to', async () => {
    await appended(store, A, eventsNamed('old', 3), 'no_stream')
    const upTo = await store.head()
    await appended(store, A, eventsNamed('recent', 3), 2n)
    const behind = await open({ eventIds: indexUpTo(upTo, 1n) })
    expect((await behind.findByIds(A, [uuidOf('old 1'), uuidOf('recent 2')])).map((event) => event.revision)).toEqual([
      1n,
      5n,
    ])
    expect(await behind.append(A, 'any', [eventNamed('old 1')])()).toMatchObject({
      right: { revision: 1n, repeated: true },
    })
    expect(stored()).toHaveLength(6)
  })

  test('an index that is wrong shows no false event, and one that is ahead none twice', async () => {
    await appended(store, A, eventsNamed('x', 4), 'no_stream')
    const wrong = await open({ eventIds: indexUpTo(-1n, 0n, 3n, 99n) })
    expect((await wrong.findByIds(A, [uuidOf('x 2')])).map((event) => event.revision)).toEqual([2n])
    const whole = await open({ eventIds: indexUpTo(await store.head(), 2n) })
    expect((await whole.findByIds(A, [uuidOf('x 2')])).map((event) => event.revision)).toEqual([2n])
  })

  test('an index that has come further than the log is of another one, and hides nothing', async () => {
    await appended(store, A, eventsNamed('x', 4), 'no_stream')
    const foreign = await open({ eventIds: indexUpTo(10n ** 15n) })
    expect(await foreign.append(A, 'any', [eventNamed('x 1')])()).toMatchObject({
      right: { revision: 1n, repeated: true },
    })
    expect(stored()).toHaveLength(4)
  })

  test('an index that cannot be asked makes the append fail as one that may be tried again', async () => {
    const broken = await open({
      eventIds: {
        find: async () => {
          throw new Error('no connection')
        },
      },
    })
    expect(await broken.append(A, 'any', [eventNamed('x')])()).toEqual(
      E.left({ kind: 'StoreUnavailable', detail: 'no connection' }),
    )
  })
})

describe('an outcome that is not known', () => {
  test.each(['deadline', 'unavailable'] as const)(
    '(%s) is asked again at the same revision with the same ids, and is there once',
    async (answer) => {
      await appended(store, A, [eventNamed('before')], 'no_stream')
      server.hideOutcome(answer, 2)
      const events = eventsNamed('x', 3)
      expect(await appended(store, A, events, 0n)).toMatchObject({ revision: 3n, repeated: false })
      expect(await idsIn()).toEqual([uuidOf('before'), ...events.map((event) => event.id)])
      const [, ...sent] = reached
      expect(sent.length).toBeGreaterThan(1)
      expect(new Set(sent.map((append) => JSON.stringify([String(append.expected), append.ids]))).size).toBe(1)
    },
  )

  test('a server that dies under appends and comes back: stored or lost, each is there once', async () => {
    const died = server.dieDuringAppends({ stored: 2, lost: 1 })
    const streams = ['conversation-1', 'conversation-2', 'conversation-3']
    const writing = Promise.all(streams.map((stream) => appended(store, stream, [eventNamed(stream)], 'no_stream')))
    await died
    await server.start()
    expect((await writing).map(({ revision }) => revision)).toEqual([0n, 0n, 0n])
    for (const stream of streams) expect(await idsIn(stream)).toEqual([uuidOf(stream)])
  })

  test('a server that is not ready for a moment is waited for', async () => {
    server.beNotReady()
    const writing = appended(store, A, [eventNamed('x')], 'no_stream')
    await server.refused()
    expect(stored()).toEqual([])
    // It asks again by itself.
    await server.refused()
    server.beReady()
    expect(await writing).toMatchObject({ revision: 0n })
  })

  test('after a server that stays away, the same append later is recognized', async () => {
    const hasty = await open({ deadlineMs: 500 })
    server.hang()
    expect(await hasty.append(A, 'no_stream', [eventNamed('x')])()).toMatchObject({
      left: { kind: 'StoreUnavailable', detail: expect.stringContaining('500 ms') },
    })
    server.resume()
    expect(await appended(hasty, A, [eventNamed('x')], 'no_stream')).toMatchObject({ revision: 0n })
    expect(stored()).toHaveLength(1)
  })

  test.each([
    ['hangs', () => Promise.resolve(server.hang())],
    ['is gone', () => server.stop()],
  ])('a message for a server that %s is told of after the time that the sentence names', async (_what, leave) => {
    const hasty = await open({ deadlineMs: 1_200 })
    const conversations = createConversations({ log: { store: hasty, bodies }, clock: systemClock })
    const say = (text: string): ReturnType<typeof conversations.handle> =>
      conversations.handle(
        'c',
        [
          { type: 'Configure', settings: undefined, scope: undefined, summarizerWindowTokens: 8_000 },
          { type: 'AppendMessages', messages: [{ role: 'user', content: text }], now: '2026-01-01T00:00:00.000Z' },
        ],
        { actor: 'test', correlationId: 'c', causationId: 'c' },
      )
    expect(await say('one')).toMatchObject({ _tag: 'Right' })
    await leave()
    const from = performance.now()
    expect(await say('two')).toMatchObject({
      left: { kind: 'StoreUnavailable', detail: expect.stringContaining('1200 ms') },
    })
    expect(performance.now() - from).toBeLessThan(2_400)
    // Those that are asked for together do not wait for each other, each for the whole time.
    const togetherFrom = performance.now()
    const together = await Promise.allSettled(Array.from({ length: 20 }, (_none, at) => say(`at once ${String(at)}`)))
    expect(performance.now() - togetherFrom).toBeLessThan(4_800)
    expect(
      together.map((each) => (each.status === 'rejected' ? each.reason : E.isLeft(each.value) && each.value.left)),
    ).toEqual(together.map(() => expect.objectContaining({ kind: 'StoreUnavailable' })))
  })

  test('those that wait for their turn end in time too, and are not sent', async () => {
    const hasty = await open({ deadlineMs: 500 })
    server.hang()
    const from = performance.now()
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, place) => hasty.append(A, 'no_stream', [eventNamed(String(place))])()),
    )
    expect(results.every((result) => E.isLeft(result) && result.left.kind === 'StoreUnavailable')).toBe(true)
    expect(performance.now() - from).toBeLessThan(3_000)
    server.resume()
    await appended(store, 'conversation-b', [eventNamed('x')])
    expect(new Set(reached.filter(({ stream }) => stream === A).flatMap(({ ids }) => ids)).size).toBeLessThan(2)
  })
})

test.each([
  ['a node that knows of no leader', '2 UNKNOWN: No leader info available in response', 'unknown'],
  ['a node that cannot ask who is asking', '2 UNKNOWN: Received HTTP status code 500', 'unknown'],
  ['a handler that threw', '2 UNKNOWN: Exception was thrown by handler.', 'refused'],
])('%s, which all come as code 2', (_name, message, kind) => {
  expect(meaningOf(Object.assign(new Error(message), { type: 'unknown', code: 2 })).kind).toBe(kind)
})

test.each([
  [
    '14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ',
    'connect ECONNREFUSED 127.0.0.1:1',
  ],
  [
    '14 UNAVAILABLE: No connection established. Last error: null. Resolution note: Name resolution failed for target dns:x:1',
    'Name resolution failed for target dns:x:1',
  ],
  ['14 UNAVAILABLE: Server Is Not Ready', 'Server Is Not Ready'],
  [
    '4 DEADLINE_EXCEEDED: Deadline exceeded after 5.001s,name resolution: 0.002s,Waiting for LB pick',
    'it gave no answer in time',
  ],
  ['Failed to discover after 1 attempts.', 'none of its nodes says which of them leads'],
  ['', 'it gave no reason'],
])('%j is told as %j', (message, words) => {
  expect(wordsOf(new Error(message))).toBe(words)
})

test('a refusal is not sent again', async () => {
  server.log.tombstone(A, 'any')
  expect(await store.append(A, 'no_stream', [eventNamed('x')])()).toMatchObject({
    left: { kind: 'AppendRefused', detail: expect.stringContaining('deleted') },
  })
  expect(reached).toHaveLength(1)
})

describe('a stream that somebody deleted', () => {
  test.each(['no_stream', -1n, 'any'] as const)(
    'takes nothing at %s: the server would go on counting where it stood, and what begins anew would be no beginning',
    async (expected) => {
      await appended(store, A, eventsNamed('x', 3))
      server.log.remove(A, 'any')
      reached = []
      expect(await store.append(A, expected, [eventNamed('anew')])()).toMatchObject({
        left: { kind: 'AppendRefused', detail: expect.stringContaining('was deleted') },
      })
      expect(reached).toEqual([])
      expect(await store.streamRevision(A)).toBe(-1n)
      expect(await idsIn()).toEqual([])
      expect(await store.append('conversation-b', expected, [eventNamed('anew')])()).toMatchObject({
        right: { revision: 0n },
      })
    },
  )
})

describe('data that is too large for the server', () => {
  const text = (name: string, bytes: number) => eventNamed(name, name.padEnd(bytes, 'x'))

  test('the largest go beside the log, no more than have to, and all comes back as it was', async () => {
    const events = [text('a', 300_000), text('b', 500_000), text('c', 100), text('d', 400_000)]
    await appended(store, A, events, 'no_stream')
    expect(bodies.puts).toEqual([sha256(events[1]?.data ?? '')])
    expect(stored().reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(1_048_576)
    expect(await collect(store.readStream(A))).toMatchObject(events)
    expect((await store.readRevisions(A, [1n]))[0]?.data).toBe(events[1]?.data)
    expect((await collect(store.readAll()))[1]?.data).toBe(events[1]?.data)
  })

  test('the event says hash, size and how the text begins', async () => {
    const event = text('b', 2_000_000)
    await appended(store, A, [event], 'no_stream')
    const [wire] = stored()
    expect(JSON.parse(Buffer.from(wire?.metadata ?? []).toString())).toMatchObject({
      eventId: event.id,
      claim: { sha256: sha256(event.data), bytes: event.data.length },
    })
    expect(JSON.parse(Buffer.from(wire?.data ?? []).toString())).toEqual({ preview: event.data.slice(0, 500) })
  })

  longTest('10,000 events of ordinary size are one append', async () => {
    const events = Array.from({ length: 10_000 }, (_, place) => text(`event ${String(place)}`, 1_000))
    const patient = await open({ deadlineMs: 30_000 })
    expect(await appended(patient, A, events, 'no_stream')).toMatchObject({ revision: 9_999n })
    expect(reached).toHaveLength(1)
    expect(await collect(patient.readStream(A))).toMatchObject(events)
    expect(await appended(patient, A, events, 'no_stream')).toMatchObject({ revision: 9_999n, repeated: true })
  })

  test('the same events at their place are a repetition, in whole and in part', async () => {
    const events = [text('a', 900_000), text('b', 900_000), text('c', 900_000)]
    await appended(store, A, events, 'no_stream')
    expect(await appended(store, A, events, 'no_stream')).toMatchObject({ revision: 2n, repeated: true })
    // Alone it is small enough to lie in the log itself, and is the same event all the same.
    expect(await appended(store, A, events.slice(1, 2), 0n)).toMatchObject({ revision: 1n, repeated: true })
    expect(await appended(store, A, events.slice(2))).toMatchObject({ revision: 2n, repeated: true })
  })

  test('what cannot be made small enough is refused with numbers', async () => {
    const event = eventNamed('x')
    const many = Array.from({ length: 600_000 }, (_, place) => ({
      ...event,
      id: `00000000-0000-0000-0000-${place.toString(16).padStart(12, '0')}`,
    }))
    expect(await store.append(A, 'no_stream', many)()).toMatchObject({
      left: { kind: 'AppendRefused', detail: expect.stringMatching(/600000 events.*1200000 bytes.*1000000/u) },
    })
    const heavy = { ...eventNamed('x'), metadata: JSON.stringify({ text: 'x'.repeat(3_000_000) }) }
    expect(await store.append(A, 'no_stream', [heavy])()).toMatchObject({
      left: { kind: 'AppendRefused', detail: expect.stringMatching(/metadata.*3000011 bytes.*2000000/u) },
    })
  })

  test.each([
    ['is gone', async () => undefined, 'is not beside the log'],
    ['was changed', async () => 'something else', 'is not what was recorded'],
  ])('a body that %s is an error that names stream, revision and hash', async (_name, get, words) => {
    const event = text('a', 2_000_000)
    await appended(store, A, [eventNamed('small'), event], 'no_stream')
    const poorer = await open({ bodies: { ...bodies, get } })
    const failure: unknown = await collect(poorer.readStream(A)).catch((error: unknown) => error)
    expect(failure).toMatchObject({ message: expect.stringMatching(new RegExp(`${A} revision 1.*${words}`, 'u')) })
    expect(String(failure)).toContain(sha256(event.data))
    expect((await poorer.readRevisions(A, [0n])).map((small) => small.data)).toEqual([eventNamed('small').data])
  })

  test('a body store that does not answer leaves the log as it was', async () => {
    const broken = await open({
      bodies: {
        ...bodies,
        put: async () => {
          throw new Error('the disk is full')
        },
      },
    })
    expect(await broken.append(A, 'no_stream', [text('a', 2_000_000)])()).toEqual(
      E.left({ kind: 'StoreUnavailable', detail: 'the disk is full' }),
    )
    expect(stored()).toEqual([])
  })
})

describe('on the wire', () => {
  test('our JSON is JSON there, with the names that the server knows; any other text is its bytes', async () => {
    const metadata = { correlationId: 'c', causationId: 'd', actor: 'me' }
    await appended(
      store,
      A,
      [
        { ...eventNamed('json'), data: '{"b":1,"a":[null,"é"]}', metadata: JSON.stringify(metadata) },
        { ...eventNamed('spaces'), data: '{ "b": 1 }', metadata: '{ "spaces": 1 }' },
      ],
      'no_stream',
    )
    const [json, spaces] = stored()
    expect([json?.contentType, Buffer.from(json?.data ?? []).toString()]).toEqual([
      'application/json',
      '{"b":1,"a":[null,"é"]}',
    ])
    expect(JSON.parse(Buffer.from(json?.metadata ?? []).toString())).toEqual({
      $correlationId: 'c',
      $causationId: 'd',
      eventId: uuidOf('json'),
      metadata,
    })
    expect([spaces?.contentType, Buffer.from(spaces?.data ?? []).toString()]).toEqual([
      'application/octet-stream',
      '{ "b": 1 }',
    ])
    expect(JSON.parse(Buffer.from(spaces?.metadata ?? []).toString())).toEqual({
      eventId: uuidOf('spaces'),
      metadata: '{ "spaces": 1 }',
    })
  })

  test("somebody else's event is read as it is, under the server's id", async () => {
    const id = uuidOf('foreign')
    server.log.append(A, 'any', [
      { id, type: 'Foreign', contentType: 'application/json', data: Buffer.from('{"x":1}'), metadata: Buffer.from('') },
    ])
    server.log.append(A, 'any', [
      {
        id: uuidOf('bytes'),
        type: 'Foreign',
        contentType: 'application/octet-stream',
        data: Buffer.from('bytes'),
        metadata: Buffer.from('no JSON'),
      },
    ])
    expect(await collect(store.readStream(A))).toMatchObject([
      { id, data: '{"x":1}', metadata: '' },
      { id: uuidOf('bytes'), data: 'bytes', metadata: 'no JSON' },
    ])
  })
})
