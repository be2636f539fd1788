/**
 * Many writers on one Postgres: their commits share the wait for the disk, and still no reader receives an event before
 * it is on the disk, skips one, or receives one twice. `CONTEXT_LEDGER_TEST_KILLS` is the number of kills of each of the
 * 16 writing processes (default 1).
 */
import { describe, expect, it } from '@jest/globals'
import { setTimeout as delay } from 'node:timers/promises'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import { startChild } from '../support/child.js'
import { collect, eventNamed } from '../support/events.js'
import { openTestSchema, testServer } from '../support/postgres.js'

// Without a server these are counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

const WRITERS = 16

async function* none(): AsyncGenerator<never> {
  // A store without `readStreams`.
}

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 1)

describeOnServer('appends that share the wait for the disk', () => {
  it('are returned by no kind of read before they are on the disk', async () => {
    const { db, drop } = await openTestSchema()
    type Read = (store: EventStore, at: number) => Promise<unknown>
    const ways: readonly (readonly [string, Read])[] = [
      ['readStream', (store) => collect(store.readStream('a'))],
      ['readAll', (store) => collect(store.readAll())],
      ['readPositions', (store) => collect(store.readPositions())],
      ['readHashes', (store) => collect(store.readHashes())],
      ['readStreams', (store) => collect(store.readStreams?.('a') ?? none())],
      ['readRevisions', (store, at) => store.readRevisions('a', [at])],
      ['findByIds', (store, at) => store.findByIds('a', [eventNamed(String(at)).id])],
      ['eventAt', (store, at) => store.eventAt(at)],
      ['head', (store) => store.head()],
      ['streamRevision', (store) => store.streamRevision('a')],
    ]
    for (const [at, [way, read]] of ways.entries()) {
      const { id, type, data, metadata } = eventNamed(String(at))
      // A writer between its commit and the disk.
      await db.transaction(async (sql) => {
        await sql.script('set local synchronous_commit = off')
        await sql.query('select append_events($1, -2, $2, $3, $4, $5)', ['a', [id], [type], [data], [metadata]])
      })
      const [committed] = await db.query<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn')
      await read(createPostgresEventStore(db), at)
      const [wal] = await db.query<{ flushed: boolean }>('select pg_current_wal_flush_lsn() >= $1::pg_lsn as flushed', [
        committed?.lsn,
      ])
      expect([way, wal?.flushed]).toEqual([way, true])
    }
    await db.close()
    await drop()
  })

  it(`of ${String(WRITERS)} processes, each killed ${String(KILLS)} times, leave no gap, and a subscriber receives each event once`, async () => {
    const { db, schema, drop } = await openTestSchema()
    const store = createPostgresEventStore(db)
    const stop = new AbortController()
    const received: StoredEvent[] = []
    const following = (async () => {
      for await (const item of store.subscribe({ signal: stop.signal }))
        if (item.kind === 'event') received.push(item.event)
    })()
    await Promise.all(
      Array.from({ length: WRITERS }, async (_none, at) => {
        const stream = `writer-${String(at).padStart(2, '0')}`
        let from = 0
        for (let life = 0; life <= KILLS; life += 1) {
          const child = startChild('append-to-server-until-killed', [schema, stream, String(from)])
          await child.said(20)
          await delay(100 * Math.random())
          await child.kill()
          // The append that the kill interrupted may be stored or not; the next process appends it again.
          from += child.lines.length
        }
        expect((await store.streamRevision(stream)) + 1).toBeGreaterThanOrEqual(from)
      }),
    )
    const all = await collect(store.readAll())
    while (received.length < all.length) await delay(10)
    stop.abort()
    await following
    expect(all.map(({ position }) => position)).toEqual(all.map((_event, at) => at))
    expect(received).toEqual(all)
    for (let at = 0; at < WRITERS; at += 1) {
      const stream = `writer-${String(at).padStart(2, '0')}`
      const events = all.filter((event) => event.stream === stream)
      expect(events.map(({ revision, id }) => [revision, id])).toEqual(
        events.map((_event, index) => [index, eventNamed(`${stream} ${String(index)}`).id]),
      )
    }
    await db.close()
    await drop()
  }, 300_000)
})
