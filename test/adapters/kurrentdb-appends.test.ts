/**
 * Appends of the KurrentDB adapter: expected revisions, retries, ids on the wire, errors, and data in the body store.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import { meaningOf, reasonOf } from '../../src/adapters/kurrentdb/client-errors.js'
import {
  openKurrentDbEventStore,
  type KurrentDbEventStore,
  type KurrentDbOptions,
} from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { createConversations } from '../../src/application/recording/handle-command.js'
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
/** Every append that reached the log, with the revision that it expected. */
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
  const opening = await openKurrentDbEventStore(server.connectionString, {
    bodies,
    eventIds: noIndex,
    deadlineMs: 4_000,
    ...options,
  })
  opened.push(opening)
  return opening
}

beforeEach(async () => {
  reached = []
  opened = []
  server = await startWireServer({ log: watched(createEventLog()) })
  const memory = createMemoryBodyStore()
  const puts: string[] = []
  bodies = { puts, get: (hash) => memory.get(hash), put: (hash, body) => (puts.push(hash), memory.put(hash, body)) }
  store = await open()
})

afterEach(async () => {
  for (const each of opened) await each.close()
  await server.close()
})

const stored = (stream = A) => server.log.all.filter((record) => record.stream === stream)
const idsIn = async (stream = A): Promise<string[]> =>
  (await collect(store.readStream(stream))).map((event) => event.id)

describe('the expected revision', () => {
  test('of every append on the wire is exact or no_stream, whatever the caller expects', async () => {
    await appended(store, A, [eventNamed('a')], 'any')
    await appended(store, A, [eventNamed('b')], 'any')
    await appended(store, A, [eventNamed('c')], 1)
    await appended(store, 'conversation-b', [eventNamed('d')], -1)
    expect(reached.map(({ expected }) => expected)).toEqual(['no_stream', 0, 1, 'no_stream'])
  })

  test('appends to one stream run one after another, in the order of the calls', async () => {
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) => appended(store, A, [eventNamed(String(index))], index - 1)),
    )
    expect(results.map(({ revision }) => revision)).toEqual(Array.from({ length: 30 }, (_, index) => index))
    expect(reached).toHaveLength(30)
  })

  test('16 concurrent appends at any from two stores are all written, each once', async () => {
    const second = await open()
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        appended(index % 2 === 0 ? store : second, A, [eventNamed(String(index))]),
      ),
    )
    expect((await idsIn()).toSorted()).toEqual(
      Array.from({ length: 16 }, (_, index) => uuidOf(String(index))).toSorted(),
    )
  })

  test("names of the server's own streams are rejected", async () => {
    expect(await store.append('$settings', 'any', [eventNamed('x')])()).toMatchObject({
      left: { kind: 'AppendRefused', detail: expect.stringContaining('$') },
    })
    expect(reached).toEqual([])
  })
})

describe('the id on the wire', () => {
  test('is derived from the whole event and its stream, so that other content is never taken for a repetition', async () => {
    const event = eventNamed('x')
    const variants = [event, { ...event, data: '{}' }, { ...event, metadata: '{}' }, { ...event, type: 'Other' }]
    for (const [index, variant] of variants.entries())
      await appended(store, `conversation-${String(index)}`, [variant], 'no_stream')
    await appended(store, 'conversation-other', [event], 'no_stream')
    expect(new Set(reached.flatMap(({ ids }) => ids)).size).toBe(5)
    expect(reached.flatMap(({ ids }) => ids)).not.toContain(event.id)
    expect(await idsIn('conversation-2')).toEqual([event.id])
  })

  test('a recorded event with other data is rejected by its id, and one with other metadata is a repetition', async () => {
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

describe('an id that is repeated late', () => {
  test('is found in the index if it is old, and by reading the events that are not yet indexed', async () => {
    await appended(store, A, eventsNamed('old', 3), 'no_stream')
    const upTo = await store.head()
    await appended(store, A, eventsNamed('recent', 3), 2)
    const lagging = await open({ eventIds: indexUpTo(upTo, 1) })
    expect((await lagging.findByIds(A, [uuidOf('old 1'), uuidOf('recent 2')])).map((event) => event.revision)).toEqual([
      1, 5,
    ])
    expect(await lagging.append(A, 'any', [eventNamed('old 1')])()).toMatchObject({
      right: { revision: 1, repeated: true },
    })
    expect(stored()).toHaveLength(6)
  })

  test('a wrong index adds no false event, and an up-to-date one repeats none', async () => {
    await appended(store, A, eventsNamed('x', 4), 'no_stream')
    const wrong = await open({ eventIds: indexUpTo(-1, 0, 3, 99) })
    expect((await wrong.findByIds(A, [uuidOf('x 2')])).map((event) => event.revision)).toEqual([2])
    const whole = await open({ eventIds: indexUpTo(await store.head(), 2) })
    expect((await whole.findByIds(A, [uuidOf('x 2')])).map((event) => event.revision)).toEqual([2])
  })

  test('an index beyond the end of the log belongs to another log, and hides nothing', async () => {
    await appended(store, A, eventsNamed('x', 4), 'no_stream')
    const foreign = await open({ eventIds: indexUpTo(10 ** 15) })
    expect(await foreign.append(A, 'any', [eventNamed('x 1')])()).toMatchObject({
      right: { revision: 1, repeated: true },
    })
    expect(stored()).toHaveLength(4)
  })

  test('an index that fails makes the append fail with an error that allows a retry', async () => {
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
    '(%s) leads to a retry at the same revision with the same ids, and the events are stored once',
    async (answer) => {
      await appended(store, A, [eventNamed('before')], 'no_stream')
      server.hideOutcome(answer, 2)
      const events = eventsNamed('x', 3)
      expect(await appended(store, A, events, 0)).toMatchObject({ revision: 3, repeated: false })
      expect(await idsIn()).toEqual([uuidOf('before'), ...events.map((event) => event.id)])
      const [, ...sent] = reached
      expect(sent.length).toBeGreaterThan(1)
      expect(new Set(sent.map((append) => JSON.stringify([String(append.expected), append.ids]))).size).toBe(1)
    },
  )

  test('a server that dies during appends and restarts: stored or lost before, each event is stored once', async () => {
    const died = server.dieDuringAppends({ stored: 2, lost: 1 })
    const streams = ['conversation-1', 'conversation-2', 'conversation-3']
    const writing = Promise.all(streams.map((stream) => appended(store, stream, [eventNamed(stream)], 'no_stream')))
    await died
    await server.start()
    expect((await writing).map(({ revision }) => revision)).toEqual([0, 0, 0])
    for (const stream of streams) expect(await idsIn(stream)).toEqual([uuidOf(stream)])
  })

  test('the append waits for a server that is briefly not ready', async () => {
    server.beNotReady()
    const writing = appended(store, A, [eventNamed('x')], 'no_stream')
    await server.refused()
    expect(stored()).toEqual([])
    // The store retries by itself.
    await server.refused()
    server.beReady()
    expect(await writing).toMatchObject({ revision: 0 })
  })

  test('after a server was down, the same append is recognized later', async () => {
    const hasty = await open({ deadlineMs: 500 })
    server.hang()
    expect(await hasty.append(A, 'no_stream', [eventNamed('x')])()).toMatchObject({
      left: { kind: 'StoreUnavailable', detail: expect.stringContaining('500 ms') },
    })
    server.resume()
    expect(await appended(store, A, [eventNamed('x')], 'no_stream')).toMatchObject({ revision: 0 })
    expect(stored()).toHaveLength(1)
  })

  test.each([
    ['hangs', () => Promise.resolve(server.hang())],
    ['is gone', () => server.stop()],
  ])('a message for a server that %s fails after the time that the error names', async (_state, leave) => {
    const hasty = await open({ deadlineMs: 2_000 })
    const conversations = createConversations({ log: { store: hasty, bodies }, clock: systemClock })
    const appendMessage = (text: string): ReturnType<typeof conversations.handle> =>
      conversations.handle(
        'c',
        [
          { type: 'Configure', settings: undefined, scope: undefined, summarizerWindowTokens: 8_000 },
          { type: 'AppendMessages', messages: [{ role: 'user', content: text }], now: '2026-01-01T00:00:00.000Z' },
        ],
        { actor: 'test', correlationId: 'c', causationId: 'c' },
      )
    expect(await appendMessage('one')).toMatchObject({ _tag: 'Right' })
    await leave()
    const from = performance.now()
    expect(await appendMessage('two')).toMatchObject({
      left: { kind: 'StoreUnavailable', detail: expect.stringContaining('2000 ms') },
    })
    expect(performance.now() - from).toBeLessThan(4_000)
    // Concurrent appends do not wait one after another, each for its whole deadline.
    const concurrentFrom = performance.now()
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_none, at) => appendMessage(`at once ${String(at)}`)),
    )
    expect(performance.now() - concurrentFrom).toBeLessThan(8_000)
    expect(
      results.map((each) => (each.status === 'rejected' ? each.reason : E.isLeft(each.value) && each.value.left)),
    ).toEqual(results.map(() => expect.objectContaining({ kind: 'StoreUnavailable' })))
  })

  test('appends that wait for their turn also fail in time, and are not sent', async () => {
    const hasty = await open({ deadlineMs: 500 })
    server.hang()
    const from = performance.now()
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => hasty.append(A, 'no_stream', [eventNamed(String(index))])()),
    )
    expect(results.every((result) => E.isLeft(result) && result.left.kind === 'StoreUnavailable')).toBe(true)
    expect(performance.now() - from).toBeLessThan(3_000)
    server.resume()
    await appended(store, 'conversation-b', [eventNamed('x')])
    expect(new Set(reached.filter(({ stream }) => stream === A).flatMap(({ ids }) => ids)).size).toBeLessThan(2)
  })
})

test.each([
  ['a node without a leader', '2 UNKNOWN: No leader info available in response', 'unknown'],
  ['a node whose authentication failed internally', '2 UNKNOWN: Received HTTP status code 500', 'unknown'],
  ['a handler that threw', '2 UNKNOWN: Exception was thrown by handler.', 'refused'],
])('%s, reported with code 2, is classified', (_name, message, kind) => {
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
    'it did not answer in time',
  ],
  ['Failed to discover after 1 attempts.', 'no node reports the leader of the cluster'],
  ['', 'no reason was given'],
])('%j is reported as %j', (message, reason) => {
  expect(reasonOf(new Error(message))).toBe(reason)
})

test('a rejected append is not retried', async () => {
  server.log.tombstone(A, 'any')
  expect(await store.append(A, 'no_stream', [eventNamed('x')])()).toMatchObject({
    left: { kind: 'StoreRefused', detail: expect.stringContaining('deleted') },
  })
  expect(reached).toHaveLength(1)
})

describe('a deleted stream', () => {
  test.each(['no_stream', -1, 'any'] as const)(
    'rejects appends at %s: the server would continue its revisions, so new events would not start at 0',
    async (expected) => {
      await appended(store, A, eventsNamed('x', 3))
      server.log.remove(A, 'any')
      reached = []
      expect(await store.append(A, expected, [eventNamed('new')])()).toMatchObject({
        left: { kind: 'StoreRefused', detail: expect.stringContaining('was deleted') },
      })
      expect(reached).toEqual([])
      expect(await store.streamRevision(A)).toBe(-1)
      expect(await idsIn()).toEqual([])
      expect(await store.append('conversation-b', expected, [eventNamed('new')])()).toMatchObject({
        right: { revision: 0 },
      })
    },
  )
})

describe('a stream without its beginning', () => {
  test.each([2, 'any'] as const)('rejects appends at %s, and is listed', async (expected) => {
    await appended(store, A, eventsNamed('x', 3))
    await appended(store, 'conversation-b', eventsNamed('y', 3))
    server.log.setMetadata(A, '{"$maxCount":1}')
    server.log.scavenge()
    const reopened = await open({ laterTypes: ['Later'], prefixes: ['conversation-'] })
    expect(await reopened.append(A, expected, [eventNamed('new')])()).toMatchObject({
      left: { kind: 'StoreRefused', detail: expect.stringContaining(`${A} begins at revision 2`) },
    })
    expect(await collect(reopened.streams('conversation-'))).toEqual([A, 'conversation-b'])
  })
})

describe('data that is too large for the server', () => {
  const text = (name: string, bytes: number) => eventNamed(name, name.padEnd(bytes, 'x'))

  test('the largest texts go to the body store, no more than necessary, and all are read back unchanged', async () => {
    const events = [text('a', 300_000), text('b', 500_000), text('c', 100), text('d', 400_000)]
    await appended(store, A, events, 'no_stream')
    expect(bodies.puts).toEqual([sha256(events[1]?.data ?? '')])
    expect(stored().reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(1_048_576)
    expect(await collect(store.readStream(A))).toMatchObject(events)
    expect((await store.readRevisions(A, [1]))[0]?.data).toBe(events[1]?.data)
    expect((await collect(store.readAll()))[1]?.data).toBe(events[1]?.data)
  })

  test('the event carries hash, size and a preview of the text', async () => {
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
    const events = Array.from({ length: 10_000 }, (_, index) => text(`event ${String(index)}`, 1_000))
    const patient = await open({ deadlineMs: 30_000 })
    expect(await appended(patient, A, events, 'no_stream')).toMatchObject({ revision: 9_999 })
    expect(reached).toHaveLength(1)
    expect(await collect(patient.readStream(A))).toMatchObject(events)
    expect(await appended(patient, A, events, 'no_stream')).toMatchObject({ revision: 9_999, repeated: true })
  })

  test('the same events at their revision are a repetition, in whole and in part', async () => {
    const events = [text('a', 900_000), text('b', 900_000), text('c', 900_000)]
    await appended(store, A, events, 'no_stream')
    expect(await appended(store, A, events, 'no_stream')).toMatchObject({ revision: 2, repeated: true })
    // Alone, the event is small enough to be stored in the log itself, and is still recognized.
    expect(await appended(store, A, events.slice(1, 2), 0)).toMatchObject({ revision: 1, repeated: true })
    expect(await appended(store, A, events.slice(2))).toMatchObject({ revision: 2, repeated: true })
  })

  test('an append that cannot be made small enough is rejected with its size and the limit', async () => {
    const event = eventNamed('x')
    const many = Array.from({ length: 600_000 }, (_, index) => ({
      ...event,
      id: `00000000-0000-0000-0000-${index.toString(16).padStart(12, '0')}`,
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
    ['is missing', async () => undefined, 'is missing in the body store'],
    ['was changed', async () => 'something else', 'differs from what was recorded'],
  ])('a body that %s is an error that names stream, revision and hash', async (_name, get, words) => {
    const event = text('a', 2_000_000)
    await appended(store, A, [eventNamed('small'), event], 'no_stream')
    const poorer = await open({ bodies: { ...bodies, get } })
    const failure: unknown = await collect(poorer.readStream(A)).catch((error: unknown) => error)
    expect(failure).toMatchObject({ message: expect.stringMatching(new RegExp(`${A} revision 1.*${words}`, 'u')) })
    expect(String(failure)).toContain(sha256(event.data))
    expect((await poorer.readRevisions(A, [0])).map((small) => small.data)).toEqual([eventNamed('small').data])
  })

  test('a body store that fails leaves the log unchanged', async () => {
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
  test('our JSON is sent as JSON, with the names that the server knows; any other text is sent as bytes', async () => {
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

  test("another program's event is read unchanged, under the server's id", async () => {
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
