/**
 * Appends of many streams in one transaction, on the embedded engine and on a server: they follow the same rules as
 * single appends.
 */
import { describe, expect, it } from '@jest/globals'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresBulkTarget } from '../../src/adapters/postgres/bulk-append.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { copyLog, storeTarget } from '../../src/application/backup/migrate-log.js'
import { eventText } from '../../src/domain/events/log-digest.js'
import type { StoredEvent } from '../../src/ports/event-store.js'
import type { CopiedEvent } from '../../src/ports/log-copy.js'
import type { Database } from '../../src/ports/sql.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { emptyLog, eventsOf, EVERYTHING, write } from '../support/log-history.js'
import { openTestDatabase } from '../support/memory-database.js'
import { openTestSchema } from '../support/postgres.js'
import { longTest, serverDescribe } from '../support/length.js'

const copied = (stream: string, revision: number, name = `${stream} ${revision.toString()}`): CopiedEvent => {
  const event: StoredEvent = { ...eventNamed(name), stream, revision, position: 0 }
  return { event, text: eventText(event) }
}

async function openEmbedded(): Promise<{ db: Database; drop: () => Promise<void> }> {
  const db = await openTestDatabase()
  await migrateLog(db)
  return { db, drop: () => Promise.resolve() }
}

function describeBulkPath(open: () => Promise<{ db: Database; drop: () => Promise<void> }>): void {
  const withDatabase = async (work: (db: Database) => Promise<void>): Promise<void> => {
    const { db, drop } = await open()
    try {
      await work(db)
    } finally {
      await db.close()
      await drop()
    }
  }

  it('writes a whole log with the same result as single appends', async () => {
    await withDatabase(async (db) => {
      const from = emptyLog('A')
      await write(from, EVERYTHING)
      const store = createPostgresEventStore(db)
      const to = { name: 'B', store, bodies: createPostgresBodyStore(db), bulk: createPostgresBulkTarget(db, 'B') }
      expect(await copyLog(from.source, storeTarget(to))).toMatchObject({
        difference: undefined,
        totals: { events: 12, bodies: 2 },
      })
      expect(await eventsOf(store)).toEqual(await eventsOf(from.store))
      expect((await collect(store.readAll())).map(({ position }) => position)).toEqual(
        Array.from({ length: 12 }, (_, index) => index),
      )
      expect(await store.streamRevision('conversation-a')).toBe(5)
      // The next single append follows it.
      expect(await appended(store, 'conversation-a', [eventNamed('next')], 5)).toMatchObject({
        revision: 6,
        position: 12,
      })
      expect(
        (await store.findByIds('conversation-a', [eventNamed('next').id])).map(({ revision }) => revision),
      ).toEqual([6])
    })
  })

  longTest('writes all events or none', async () => {
    await withDatabase(async (db) => {
      const store = createPostgresEventStore(db)
      const bulk = createPostgresBulkTarget(db, 'B')
      await bulk.appendInOrder([copied('a', 0), copied('b', 0), copied('a', 1)])
      const refused: readonly [string, readonly CopiedEvent[], string][] = [
        ['a stream with another revision', [copied('b', 1), copied('a', 3)], 'TargetChanged'],
        ['an existing stream', [copied('c', 0), copied('a', 0)], 'TargetChanged'],
        ['a missing stream', [copied('b', 1), copied('d', 1)], 'TargetChanged'],
        ['a gap', [copied('b', 1), copied('b', 3)], 'TargetRefuses'],
        ['an id that the stream has', [copied('b', 1), copied('a', 2, 'a 0')], 'TargetRefuses'],
        [
          'a NUL',
          [copied('b', 1), { ...copied('c', 0), event: { ...copied('c', 0).event, data: 'a\0b' } }],
          'TargetRefuses',
        ],
      ]
      for (const [, events, kind] of refused) await expect(bulk.appendInOrder(events)).rejects.toMatchObject({ kind })
      expect((await eventsOf(store)).map(({ stream, revision }) => `${stream} ${revision.toString()}`)).toEqual([
        'a 0',
        'b 0',
        'a 1',
      ])
      expect(await store.head()).toBe(2)
      expect(await store.streamRevision('c')).toBe(-1)
      await bulk.appendInOrder([])
      await bulk.appendInOrder([copied('b', 1), copied('a', 2)])
      expect(await store.head()).toBe(4)
    })
  })

  longTest('wakes subscriptions', async () => {
    await withDatabase(async (db) => {
      const store = createPostgresEventStore(db, { pollMs: 600_000 })
      const stop = new AbortController()
      const items = store.subscribe({ signal: stop.signal })[Symbol.asyncIterator]()
      expect((await items.next()).value).toMatchObject({ kind: 'caught-up' })
      const next = items.next()
      await createPostgresBulkTarget(db, 'B').appendInOrder([copied('a', 0)])
      expect((await next).value).toMatchObject({ kind: 'event', event: { stream: 'a' } })
      stop.abort()
      await items.return?.()
    })
  })

  it('leaves no gap and causes no deadlock with concurrent appends', async () => {
    await withDatabase(async (db) => {
      const store = createPostgresEventStore(db)
      const bulk = createPostgresBulkTarget(db, 'B')
      const appends = Array.from({ length: 20 }, (_, number) =>
        appended(store, `other-${String(number % 4)}`, eventsNamed(`other ${String(number)}`, 3)),
      )
      const bulks = Array.from({ length: 5 }, (_, number) =>
        bulk.appendInOrder(
          ['z', 'm', 'a'].flatMap((stream) => [
            copied(`${stream}${String(number)}`, 0),
            copied(`${stream}${String(number)}`, 1),
          ]),
        ),
      )
      await Promise.all([...appends, ...bulks])
      expect((await collect(store.readAll())).map(({ position }) => position)).toEqual(
        Array.from({ length: 90 }, (_, index) => index),
      )
    })
  })
}

describe('the bulk path on PGlite', () => {
  describeBulkPath(openEmbedded)
})

// Without a server these are counted as skipped.
serverDescribe('the bulk path on a Postgres server', () => {
  describeBulkPath(openTestSchema)
})
