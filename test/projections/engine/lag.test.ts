/**
 * The lag of rows: counted in events, whatever the difference of the positions is, and in seconds since the first of
 * them was recorded.
 */
import { expect, test } from '@jest/globals'
import { createMemoryEventStore } from '../../../src/adapters/memory/event-store.js'
import type { EventPosition, EventStore } from '../../../src/ports/event-store.js'
import { COUNTED_EVENTS, lagsOf } from '../../../projections/engine/lag.js'
import { partitionOf } from '../../../projections/engine/partitions.js'
import { appended as message, eventsFor, promptRegistered } from '../../support/builders.js'
import { appended, eventsNamed } from '../../support/events.js'
import { record } from '../../support/projections.js'

const recordedAt = async (store: EventStore, position: number): Promise<number> => {
  const parsed: unknown = JSON.parse((await store.eventAt(position))?.metadata ?? '{}')
  return typeof parsed === 'object' && parsed !== null && 'recordedAt' in parsed
    ? Date.parse(String(parsed.recordedAt))
    : NaN
}

test('only events of conversations count, not gaps between positions', async () => {
  const store = createMemoryEventStore()
  await record(store, 'a', [message('m0'), message('m1')])
  await appended(store, 'prompt-x', eventsFor('prompt-x', [promptRegistered()]).events)
  await record(store, 'b', [message('m2')])
  const gap = 1_000
  const sparse: EventStore = {
    ...store,
    async *readPositions({ after = -1, ...options } = {}) {
      for await (const position of store.readPositions({
        ...options,
        after: after < 0 ? after : Math.floor(after / gap),
      }))
        yield { ...position, position: position.position * gap } satisfies EventPosition
    },
    // Counting does not read the data of events.
    readAll() {
      throw new Error('the lag is counted without reading the events')
    },
  }
  const places = [-1, 0, 1_000, 2_000, 3_000].map((position) => ({ position, partition: 0, partitions: 1 }))
  const first = await recordedAt(store, 0)
  const lags = await lagsOf(sparse, places, first + 90_000)
  expect(lags.map(({ events }) => events)).toEqual([3, 2, 1, 1, 0])
  expect(lags[0]?.seconds).toBe(90)
  expect(lags[4]).toEqual({ events: 0, isAtLeast: false, seconds: 0 })
  // The clock of the appending process was ahead.
  expect((await lagsOf(sparse, places, first - 5_000)).every(({ seconds }) => seconds === 0)).toBe(true)
})

test('each partition counts its own events, wherever the others are', async () => {
  const store = createMemoryEventStore()
  const ids = Array.from({ length: 30 }, (_, place) => `c${String(place)}`)
  for (const id of ids) await record(store, id, [message('m0')])
  const places = [
    { position: 5, partition: 0 },
    { position: 20, partition: 1 },
    { position: -1, partition: 2 },
  ].map((place) => ({ ...place, partitions: 3 }))
  const expected = places.map(
    ({ position, partition }) => ids.filter((id, at) => at > position && partitionOf(id, 3) === partition).length,
  )
  expect((await lagsOf(store, places, 0)).map(({ events }) => events)).toEqual(expected)
})

test('the count stops at its limit', async () => {
  const store = createMemoryEventStore()
  await appended(store, 'conversation-long', eventsNamed('many', COUNTED_EVENTS + 5))
  const at = (position: number): { position: number; partition: number; partitions: number } => ({
    position,
    partition: 0,
    partitions: 1,
  })
  expect((await lagsOf(store, [at(-1), at(10), at(3)], 0)).map(({ events, isAtLeast }) => [events, isAtLeast])).toEqual(
    [
      [COUNTED_EVENTS, true],
      [COUNTED_EVENTS - 6, false],
      [COUNTED_EVENTS, true],
    ],
  )
})
