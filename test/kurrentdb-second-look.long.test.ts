/**
 * Further behaviour of EventStoreDB 24.2.0, in addition to `kurrentdb-wire-server.long.test.ts`. Runs against the test
 * server, and against a real server if `CONTEXT_LEDGER_TEST_KURRENTDB` names one. Each run uses new streams, so the real
 * server need not be empty; the test that needs a new log runs only against the test server.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import esdb from '@eventstore/db-client'
import type { AllStreamSubscription, EventStoreDBClient, Position } from '@eventstore/db-client'
import { randomUUID } from 'node:crypto'
import { startWireServer, type WireServer } from './support/kurrentdb/server.js'

const { ANY, BACKWARDS, END, FORWARDS, NO_STREAM, START } = esdb
/** The server's internal -1. */
const NO_POSITION = 2n ** 64n - 1n

const real = process.env['CONTEXT_LEDGER_TEST_KURRENTDB'] ?? ''

/** The events and checkpoints that a filtered subscription receives until it has caught up. */
async function catchUp(
  client: EventStoreDBClient,
  prefix: string,
  fromPosition: Position | 'start' | 'end',
): Promise<{ readonly events: readonly bigint[]; readonly checkpoints: readonly Position[] }> {
  const events: bigint[] = []
  const checkpoints: Position[] = []
  const filter = esdb.streamNameFilter({
    prefixes: [prefix],
    checkpointReached: async (_subscription, position) => {
      checkpoints.push(position)
    },
  })
  const subscription: AllStreamSubscription = client.subscribeToAll({ fromPosition, filter })
  subscription.on('data', ({ event }) => {
    if (event !== undefined) events.push(event.position.commit)
  })
  try {
    await new Promise<void>((resolve, reject) => {
      subscription.on('caughtUp', () => {
        setImmediate(resolve)
      })
      subscription.on('error', reject)
    })
  } finally {
    await subscription.unsubscribe().catch(() => undefined)
  }
  return { events, checkpoints }
}

for (const { name, address } of [
  { name: 'the server of the tests', address: undefined },
  { name: 'a KurrentDB', address: real },
]) {
  const describeIt = address === '' ? describe.skip : describe

  describeIt(name, () => {
    let server: WireServer | undefined
    let client: EventStoreDBClient
    beforeAll(async () => {
      server = address === undefined ? await startWireServer() : undefined
      client = esdb.EventStoreDBClient.connectionString(address ?? server?.connectionString ?? '')
    })
    afterAll(async () => {
      await client.dispose()
      await server?.close()
    })

    const newStream = (kind = 'watched'): string => `${kind}-${randomUUID()}`
    const append = async (stream: string, count = 1): Promise<Position> => {
      const events = Array.from({ length: count }, (_, at) => esdb.jsonEvent({ type: `E${String(at)}`, data: {} }))
      const { position } = await client.appendToStream(stream, events, { expectedRevision: ANY })
      if (position === undefined) throw new Error('an append without a position')
      return position
    }

    test("a new log is not empty: it begins with the server's own events", async () => {
      for await (const { event } of client.readAll({ direction: FORWARDS, fromPosition: START, maxCount: 1 }))
        expect(event?.streamId).toMatch(/^\$/u)
    })

    test('a catch-up ends with a checkpoint at the last event sent, or at its start, not at the last event examined', async () => {
      const stream = newStream()
      const first = await append(stream)
      const second = await append(stream)
      const later = await append(newStream('noise'), 3)
      const afterFirst = await catchUp(client, stream, first)
      expect(afterFirst.events).toEqual([second.commit])
      expect(afterFirst.checkpoints.at(-1)?.commit).toBe(second.commit)
      const afterSecond = await catchUp(client, stream, second)
      expect(afterSecond.events).toEqual([])
      expect(afterSecond.checkpoints.at(-1)?.commit).toBe(second.commit)
      expect(later.commit).toBeGreaterThan(second.commit)
    })

    // If the log has more events than the server examines in one batch, there is also a checkpoint on the way.
    test('from the start without a match, a single checkpoint is not a valid position', async () => {
      const { events, checkpoints } = await catchUp(client, newStream('nobody'), START)
      expect(events).toEqual([])
      const [single = { commit: NO_POSITION, prepare: NO_POSITION }] = checkpoints.length === 1 ? checkpoints : []
      expect(single).toEqual({ commit: NO_POSITION, prepare: NO_POSITION })
    })

    test('a checkpoint during a catch-up is at a sent event or has prepare 0, and a subscription can resume from each without losing or repeating an event', async () => {
      const stream = newStream()
      const first = await append(stream)
      const positions: bigint[] = []
      for (let round = 0; round < 6; round++) {
        await append(newStream('noise'), 30 + round)
        positions.push((await append(stream)).commit)
      }
      await append(newStream('noise'), 70)
      const { events, checkpoints } = await catchUp(client, stream, first)
      expect(events).toEqual(positions)
      expect(checkpoints.length).toBeGreaterThan(3)
      const onTheWay = checkpoints.slice(0, -1)
      const between = onTheWay.filter(({ prepare }) => prepare === 0n)
      const atEvents = onTheWay.filter(({ prepare, commit }) => prepare === commit && positions.includes(commit))
      expect(between.length + atEvents.length).toBe(onTheWay.length)
      // Most batches of about 30 events contain one of ours; the last 70 events contain none.
      expect(atEvents.length).toBeGreaterThan(between.length)
      expect(between.length).toBeGreaterThan(0)
      for (const checkpoint of checkpoints) {
        const rest = (await catchUp(client, stream, checkpoint)).events
        // After a position directly before an event, that event comes next.
        expect([
          positions.filter((commit) => commit > checkpoint.commit),
          positions.filter((commit) => commit >= checkpoint.commit),
        ]).toContainEqual(rest)
      }
    })

    test('a position between two events is an error; one beyond the end is accepted', async () => {
      const { commit } = await append(newStream(), 2)
      await expect(catchUp(client, 'x', { commit: commit - 1n, prepare: commit - 1n })).rejects.toThrow(
        'Trying to read from an invalid position.',
      )
      expect(await catchUp(client, 'x', { commit: 2n ** 60n, prepare: 2n ** 60n })).toMatchObject({ events: [] })
    })

    test('a stream that was tombstoned, deleted or truncated is still in $all', async () => {
      const [tombstoned, deleted, cut] = [newStream(), newStream(), newStream()]
      const before = await append(newStream('noise'))
      for (const stream of [tombstoned, deleted, cut]) await append(stream, 3)
      await client.tombstoneStream(tombstoned)
      await client.deleteStream(deleted)
      await client.setStreamMetadata(cut, { truncateBefore: 2 })
      const read = async (stream: string): Promise<string> => {
        const types: string[] = []
        try {
          for await (const { event } of client.readStream(stream)) types.push(event?.type ?? '')
        } catch (error) {
          return typeof error === 'object' && error !== null && 'type' in error ? String(error.type) : ''
        }
        return types.join(' ')
      }
      expect([await read(tombstoned), await read(deleted), await read(cut)]).toEqual([
        'stream-deleted',
        'stream-not-found',
        'E2',
      ])
      const all: string[] = []
      for await (const { event } of client.readAll({ direction: FORWARDS, fromPosition: before })) {
        const index = [tombstoned, deleted, cut].indexOf(event?.streamId ?? '')
        if (index >= 0) all.push(`${['tombstoned', 'deleted', 'cut'][index] ?? ''} ${event?.type ?? ''}`)
      }
      expect(all.filter((entry) => !entry.startsWith('tombstoned $'))).toEqual(
        ['tombstoned', 'deleted', 'cut'].flatMap((stream) => ['E0', 'E1', 'E2'].map((type) => `${stream} ${type}`)),
      )
      expect(all.filter((entry) => entry.startsWith('tombstoned $'))).toEqual(['tombstoned $streamDeleted'])
      await expect(
        client.appendToStream(tombstoned, esdb.jsonEvent({ type: 'E', data: {} }), {
          expectedRevision: NO_STREAM,
          credentials: { username: 'admin', password: 'changeit' },
        }),
      ).rejects.toMatchObject({ type: 'stream-deleted' })
    })
  })
}

test('a new log has its head at 548, and a catch-up without a match ends at an internal -1', async () => {
  const server = await startWireServer()
  const client = esdb.EventStoreDBClient.connectionString(server.connectionString)
  const head: unknown[] = []
  for await (const { event } of client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }))
    head.push(event?.position)
  expect(head).toEqual([{ commit: 548n, prepare: 548n }])
  expect(await catchUp(client, 'nobody', START)).toEqual({
    events: [],
    checkpoints: [{ commit: NO_POSITION, prepare: NO_POSITION }],
  })
  await client.dispose()
  await server.close()
})
