/**
 * The search for an instant inside the database has the same result as reading every event, and as a search with single
 * reads.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { revisionOf } from '../../src/application/history/time-travel.js'
import { uuidOf } from '../../src/domain/values/hash.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { NO_INSTANT_TO_COME } from '../support/harness.js'
import { openTestDatabase } from '../support/memory-database.js'

const START = Date.UTC(2026, 0, 1)
const HASH = '0'.repeat(64)
let db: Database
let store: EventStore

const event = (stream: string, at: number, recordedAt: string | undefined) => ({
  id: uuidOf(stream, String(at)),
  type: 'MessageAppended',
  data: '{}',
  // A field of the caller with a NUL, a lone surrogate, and text that looks like the field itself.
  metadata: JSON.stringify({
    schemaVersion: 1,
    correlationId: 'a',
    causationId: 'b',
    actor: '\u0000 \ud800 "recordedAt":"1999-01-01T00:00:00.000Z"',
    recordedAt,
    hash: HASH,
    previousHash: HASH,
  }),
})

async function append(conversationId: string, times: readonly (number | undefined)[]): Promise<string> {
  const stream = `conversation-${conversationId}`
  const events = times.map((time, at) =>
    event(stream, at, time === undefined ? undefined : new Date(START + time).toISOString()),
  )
  expect(E.isRight(await store.append(stream, 'no_stream', events)())).toBe(true)
  return stream
}

beforeAll(async () => {
  db = await openTestDatabase()
  await migrateLog(db)
  store = createPostgresEventStore(db)
})
afterAll(async () => {
  await db.close()
})

describe('the revision of an instant', () => {
  it.each([1, 2, 3, 7, 64, 1_000])('of %p events, several at the same instant', async (count) => {
    const times = Array.from({ length: count }, (_none, at) => Math.floor(at / 3) * 10)
    const stream = await append(`run ${String(count)}`, times)
    const { revisionAtTime: _own, ...searched } = store
    for (let time = -15; time <= (times.at(-1) ?? 0) + 15; time += count > 100 ? 111 : 5) {
      const expected = times.findLastIndex((each) => each <= time)
      expect(await store.revisionAtTime?.(stream, START + time)).toBe(expected)
      if (expected < 0) continue
      for (const each of [store, searched])
        expect(
          await revisionOf(
            { store: each, bodies: createMemoryBodyStore() },
            `run ${String(count)}`,
            { time: START + time },
            NO_INSTANT_TO_COME,
          ),
        ).toEqual(E.right(expected))
    }
  })

  it.each([-62e12, -3e14, -8.64e15, 8.64e15])('is found for a time that only `Date` has: %p', async (time) => {
    const stream = await append(`at ${String(time)}`, [0, 1])
    expect(await store.revisionAtTime?.(stream, time)).toBe(time < 0 ? -1 : 1)
  })

  it('of a missing stream is -1', async () => {
    expect(await store.revisionAtTime?.('conversation-nobody', START)).toBe(-1)
  })

  it('is undefined if an event has no time, and the error names that event', async () => {
    const stream = await append('broken', [0, 1, undefined, 3, 4])
    expect(await store.revisionAtTime?.(stream, START + 2)).toBeUndefined()
    await expect(
      revisionOf({ store, bodies: createMemoryBodyStore() }, 'broken', { time: START + 2 }, NO_INSTANT_TO_COME),
    ).rejects.toThrow(/conversation-broken revision 2/u)
  })
})
