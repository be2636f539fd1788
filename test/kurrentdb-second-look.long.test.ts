/**
 * What a second look at EventStoreDB 24.2.0 found, beside the questions of `kurrentdb-wire-server.long.test.ts`: asked
 * of the server that stands in for it, and of a real one where `CONTEXT_LEDGER_TEST_KURRENTDB` names it. Streams are
 * new at each run, so a used server will do; what is true of a new log alone is asked of the stand-in alone.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import esdb from '@eventstore/db-client'
import type { AllStreamSubscription, EventStoreDBClient, Position } from '@eventstore/db-client'
import { randomUUID } from 'node:crypto'
import { startWireServer, type WireServer } from './support/kurrentdb/server.js'

const { ANY, BACKWARDS, END, FORWARDS, NO_STREAM, START } = esdb
const NOWHERE = 2n ** 64n - 1n

const real = process.env['CONTEXT_LEDGER_TEST_KURRENTDB'] ?? ''

/** What a catch-up with this filter is sent, until it has caught up. */
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

    test('a new log is not empty: what the server writes for itself comes first', async () => {
      for await (const { event } of client.readAll({ direction: FORWARDS, fromPosition: START, maxCount: 1 }))
        expect(event?.streamId).toMatch(/^\$/u)
    })

    test('a catch-up ends with a checkpoint at the last event that was sent, or where it began, and not where it has looked to', async () => {
      const stream = newStream()
      const first = await append(stream)
      const second = await append(stream)
      const behind = await append(newStream('noise'), 3)
      const afterFirst = await catchUp(client, stream, first)
      expect(afterFirst.events).toEqual([second.commit])
      expect(afterFirst.checkpoints.at(-1)?.commit).toBe(second.commit)
      const afterSecond = await catchUp(client, stream, second)
      expect(afterSecond.events).toEqual([])
      expect(afterSecond.checkpoints.at(-1)?.commit).toBe(second.commit)
      expect(behind.commit).toBeGreaterThan(second.commit)
    })

    // With more events in the log than a server looks at at one go, there is a checkpoint on the way.
    test('from the start, where nothing matches, a lonely checkpoint is no place', async () => {
      const { events, checkpoints } = await catchUp(client, newStream('nobody'), START)
      expect(events).toEqual([])
      const [lonely = { commit: NOWHERE, prepare: NOWHERE }] = checkpoints.length === 1 ? checkpoints : []
      expect(lonely).toEqual({ commit: NOWHERE, prepare: NOWHERE })
    })

    test('the checkpoints on the way of a catch-up have no prepare, and each is a place to go on from: nothing is lost, and nothing comes twice', async () => {
      const stream = newStream()
      const first = await append(stream)
      const ours: bigint[] = []
      for (let round = 0; round < 6; round++) {
        await append(newStream('noise'), 30 + round)
        ours.push((await append(stream)).commit)
      }
      await append(newStream('noise'), 70)
      const { events, checkpoints } = await catchUp(client, stream, first)
      expect(events).toEqual(ours)
      expect(checkpoints.length).toBeGreaterThan(3)
      expect(checkpoints.slice(0, -1).map(({ prepare }) => prepare)).toEqual(checkpoints.slice(0, -1).map(() => 0n))
      for (const place of checkpoints) {
        const rest = (await catchUp(client, stream, place)).events
        // A place right before an event is where that event comes next.
        expect([
          ours.filter((commit) => commit > place.commit),
          ours.filter((commit) => commit >= place.commit),
        ]).toContainEqual(rest)
      }
    })

    test('a position between two events, as those of another log mostly are, is an error; one beyond the end is taken in silence', async () => {
      const { commit } = await append(newStream(), 2)
      await expect(catchUp(client, 'x', { commit: commit - 1n, prepare: commit - 1n })).rejects.toThrow(
        'Trying to read from an invalid position.',
      )
      expect(await catchUp(client, 'x', { commit: 2n ** 60n, prepare: 2n ** 60n })).toMatchObject({ events: [] })
    })

    test('a stream that was deleted, for good or not, or cut, is still in $all', async () => {
      const [gone, deleted, cut] = [newStream(), newStream(), newStream()]
      const before = await append(newStream('noise'))
      for (const stream of [gone, deleted, cut]) await append(stream, 3)
      await client.tombstoneStream(gone)
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
      expect([await read(gone), await read(deleted), await read(cut)]).toEqual([
        'stream-deleted',
        'stream-not-found',
        'E2',
      ])
      const all: string[] = []
      for await (const { event } of client.readAll({ direction: FORWARDS, fromPosition: before })) {
        const place = [gone, deleted, cut].indexOf(event?.streamId ?? '')
        if (place >= 0) all.push(`${['gone', 'deleted', 'cut'][place] ?? ''} ${event?.type ?? ''}`)
      }
      expect(all.filter((what) => !what.startsWith('gone $'))).toEqual(
        ['gone', 'deleted', 'cut'].flatMap((what) => ['E0', 'E1', 'E2'].map((type) => `${what} ${type}`)),
      )
      expect(all.filter((what) => what.startsWith('gone $'))).toEqual(['gone $streamDeleted'])
      await expect(
        client.appendToStream(gone, esdb.jsonEvent({ type: 'E', data: {} }), {
          expectedRevision: NO_STREAM,
          credentials: { username: 'admin', password: 'changeit' },
        }),
      ).rejects.toMatchObject({ type: 'stream-deleted' })
    })
  })
}

test('a log that was just made has its head at 548, and a catch-up that matches nothing in it ends at an internal -1', async () => {
  const server = await startWireServer()
  const client = esdb.EventStoreDBClient.connectionString(server.connectionString)
  const head: unknown[] = []
  for await (const { event } of client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }))
    head.push(event?.position)
  expect(head).toEqual([{ commit: 548n, prepare: 548n }])
  expect(await catchUp(client, 'nobody', START)).toEqual({
    events: [],
    checkpoints: [{ commit: NOWHERE, prepare: NOWHERE }],
  })
  await client.dispose()
  await server.close()
})
