/** A Postgres server against the contracts of every adapter, and tests that need several connections. */
import { expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createServer } from 'node:net'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresClaims } from '../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { describeBodyStore } from '../contracts/body-store.js'
import { describeClaims } from '../contracts/claims.js'
import { describeEventStore } from '../contracts/event-store.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { latch } from '../support/latch.js'
import { serverDescribe } from '../support/length.js'
import { openTestSchema, testServer } from '../support/postgres.js'

// Without a server these are counted as skipped.

serverDescribe('on a Postgres server', () => {
  describeEventStore('Postgres', async () => {
    const { db, schema, drop } = await openTestSchema()
    const reopened: Array<() => Promise<void>> = []
    return {
      store: createPostgresEventStore(db),
      close: () => db.close(),
      async reopen() {
        const second = await openTestSchema({ schema })
        reopened.push(() => second.db.close())
        return createPostgresEventStore(second.db)
      },
      async release() {
        await db.close()
        for (const close of reopened) await close()
        await drop()
      },
    }
  })

  describeBodyStore('Postgres', async () => {
    const { db, drop } = await openTestSchema()
    return {
      store: createPostgresBodyStore(db),
      async close() {
        await db.close()
        await drop()
      },
    }
  })

  describeClaims('Postgres', async () => {
    const { db, drop } = await openTestSchema()
    return {
      claims: createPostgresClaims(db),
      async pass(ms) {
        await db.query(`update compaction_claims set expires_at = expires_at - $1 * interval '1 millisecond'`, [ms])
      },
      async close() {
        await db.close()
        await drop()
      },
    }
  })

  test('no reader skips an append whose transaction is still open, whichever commits first', async () => {
    const { db, drop } = await openTestSchema()
    const store = createPostgresEventStore(db)
    await appended(store, 'before', [eventNamed('before')])
    const holding = latch()
    const letGo = latch()
    const early = db.transaction(async (sql) => {
      await sql.query('select append_events($1, -2, $2, $3, $4, $5)', [
        'early',
        [eventNamed('early').id],
        ['Noted'],
        ['{}'],
        ['{}'],
      ])
      holding.open()
      await letGo.opened
    })
    await holding.opened
    const late = appended(store, 'late', [eventNamed('late')])
    // The late append waits for the counter that the early one has locked, so no position becomes readable before an
    // earlier one.
    await waitFor(
      async () =>
        (
          await db.query(
            `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%append_and_wait%'`,
          )
        ).length > 0,
    )
    expect((await collect(store.readAll())).map((event) => event.stream)).toEqual(['before'])
    expect(await store.head()).toBe(0)
    letGo.open()
    await Promise.all([early, late])
    expect((await collect(store.readAll())).map((event) => event.stream)).toEqual(['before', 'early', 'late'])
    await db.close()
    await drop()
  })

  test('an append that is rolled back leaves no gap and no stream', async () => {
    const { db, drop } = await openTestSchema()
    const store = createPostgresEventStore(db)
    const undone = db.transaction(async (sql) => {
      await sql.query('select append_events($1, -2, $2, $3, $4, $5)', [
        'undone',
        [eventNamed('x').id],
        ['Noted'],
        ['{}'],
        ['{}'],
      ])
      throw new Error('changed my mind')
    })
    await expect(undone).rejects.toThrow('changed my mind')
    expect(await appended(store, 'kept', [eventNamed('y')], 'no_stream')).toMatchObject({ position: 0 })
    expect(await store.streamRevision('undone')).toBe(-1)
    await db.close()
    await drop()
  })

  test('with 16 writers on two pools, a reader on a third misses no event', async () => {
    const first = await openTestSchema()
    const second = await openTestSchema({ schema: first.schema })
    const third = await openTestSchema({ schema: first.schema })
    const stop = new AbortController()
    const received: number[] = []
    const reader = (async () => {
      for await (const item of createPostgresEventStore(third.db, { pollMs: 1 }).subscribe({ signal: stop.signal })) {
        if (item.kind === 'event') received.push(item.event.position)
        if (received.length === 1_600) stop.abort()
      }
    })()
    const stores = [createPostgresEventStore(first.db), createPostgresEventStore(second.db)]
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        const store = stores[writer % 2]
        if (store === undefined) return
        for (let round = 0; round < 50; round++)
          await appended(
            store,
            `conversation-${String(writer % 6)}`,
            eventsNamed(`${String(writer)} ${String(round)}`, 2),
          )
      }),
    )
    await reader
    expect(received).toEqual(Array.from({ length: 1_600 }, (_, index) => index))
    for (const { db } of [first, second, third]) await db.close()
    await first.drop()
  })

  test('a subscription on another pool wakes up by a notification, without polling', async () => {
    const writing = await openTestSchema()
    const reading = await openTestSchema({ schema: writing.schema })
    const stop = new AbortController()
    const items = createPostgresEventStore(reading.db, { pollMs: 600_000 })
      .subscribe({ signal: stop.signal })
      // oxlint-disable-next-line eslint/no-unexpected-multiline
      [Symbol.asyncIterator]()
    expect((await items.next()).value).toEqual({ kind: 'caught-up', position: -1 })
    const next = items.next()
    await appended(createPostgresEventStore(writing.db), 'a', [eventNamed('x')])
    expect((await next).value).toMatchObject({ kind: 'event' })
    // The listening connection is cut; it reconnects, and wakes the reader for notifications that it may have missed.
    expect((await items.next()).value).toMatchObject({ kind: 'caught-up' })
    const after = items.next()
    await writing.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and pid <> pg_backend_pid() and datname = current_database()`,
    )
    await appended(createPostgresEventStore(writing.db), 'a', [eventNamed('y')])
    expect((await after).value).toMatchObject({ kind: 'event' })
    stop.abort()
    await items.return?.(undefined)
    await reading.db.close()
    await writing.db.close()
    await writing.drop()
  })

  test('the database rejects changing and deleting events', async () => {
    const { db, drop } = await openTestSchema()
    await appended(createPostgresEventStore(db), 'a', [eventNamed('x')])
    for (const statement of [`update events set data = '{}'`, 'delete from events', 'truncate events']) {
      await expect(db.query(statement)).rejects.toMatchObject({
        cause: { code: '23001', message: 'events are never changed or deleted' },
      })
    }
    await db.close()
    await drop()
  })

  test('six connections that migrate an empty schema concurrently all succeed', async () => {
    const first = await openTestSchema({ migrated: false })
    const rest = await Promise.all(
      Array.from({ length: 5 }, () => openTestSchema({ schema: first.schema, migrated: false })),
    )
    const databases = [first, ...rest].map(({ db }) => db)
    await Promise.all(databases.map((db) => migrateLog(db)))
    await Promise.all(
      databases.map((db, index) => appended(createPostgresEventStore(db), 'a', [eventNamed(String(index))])),
    )
    expect(await createPostgresEventStore(first.db).head()).toBe(5)
    expect(first.db.hasVector).toBe(rest[0]?.db.hasVector)
    for (const db of databases) await db.close()
    await first.drop()
  })

  test('tables of a later version are not changed', async () => {
    const { db, drop } = await openTestSchema()
    await db.query('update log_version set version = 99')
    await expect(migrateLog(db)).rejects.toMatchObject({ kind: 'NewerSchema', message: expect.stringContaining('99') })
    await db.close()
    await drop()
  })

  test('8-byte integers and numerics are strings, an invalid statement returns its code, a transaction rolls back', async () => {
    const { db, drop } = await openTestSchema()
    expect(
      await db.query('select 9007199254740993::int8 as a, 1.10::numeric as b, $1::int8 as c, $2::text[] as d', [
        2n ** 62n,
        ['x', 'y,"{}\\'],
      ]),
    ).toEqual([{ a: '9007199254740993', b: '1.10', c: String(2n ** 62n), d: ['x', 'y,"{}\\'] }])
    await expect(db.query('select 1/0')).rejects.toMatchObject({ cause: { code: '22012' } })
    await expect(db.transaction(async (sql) => await sql.query('select * from nowhere'))).rejects.toMatchObject({
      cause: { code: '42P01' },
    })
    expect(await db.query('select 1 as one')).toEqual([{ one: 1 }])
    await db.close()
    await drop()
  })

  test('a snapshot reads one state whatever is committed meanwhile, cannot write, and releases its connection', async () => {
    const { db, schema, drop } = await openTestSchema({ connections: 1 })
    const writer = await openTestSchema({ schema })
    await db.script('create table noted (note text); create view notes as select note from noted')
    const reads = await db.snapshot(['notes'], async (sql) => {
      await writer.db.query(`insert into noted values ('meanwhile')`)
      const dropping = writer.db.transaction(async (transaction) => {
        await transaction.script('set local lock_timeout = 50; drop view notes')
      })
      await expect(dropping).rejects.toMatchObject({ cause: { code: '55P03' } })
      const first = await sql.query('select note from notes')
      await writer.db.query(`insert into noted values ('later')`)
      return [first, await sql.query('select note from notes')]
    })
    expect(reads).toEqual([[{ note: 'meanwhile' }], [{ note: 'meanwhile' }]])
    await expect(
      db.snapshot([], async (sql) => await sql.query(`insert into noted values ('no')`)),
    ).rejects.toMatchObject({ cause: { code: '25006' } })
    await expect(db.snapshot(['nowhere'], async () => await Promise.resolve())).rejects.toMatchObject({
      cause: { code: '42P01' },
    })
    expect(await db.query('select note from noted order by 1')).toEqual([{ note: 'later' }, { note: 'meanwhile' }])
    await writer.db.script('drop view notes')
    await writer.db.close()
    await db.close()
    await drop()
  })

  test('a statement that takes too long is cancelled, and an append that waits too long can be retried', async () => {
    const { db, schema, drop } = await openTestSchema()
    const hasty = await openTestSchema({ schema, statementTimeoutMs: 200 })
    await expect(hasty.db.query('select pg_sleep(30)')).rejects.toMatchObject({ cause: { code: '57014' } })
    const hastyStore = createPostgresEventStore(hasty.db)
    await db.transaction(async (sql) => {
      await sql.query('select from log_head for update')
      expect(await hastyStore.append('a', 'any', [eventNamed('x')])()).toMatchObject({
        left: { kind: 'StoreUnavailable' },
      })
    })
    expect(await appended(hastyStore, 'a', [eventNamed('x')])).toMatchObject({ position: 0, repeated: false })
    await hasty.db.close()
    await db.close()
    await drop()
  })

  test('a patient transaction ignores the limits of server and client, which apply again after it', async () => {
    const limits = { server: '?statement_timeout=300', client: '?query_timeout=300' }
    for (const [limiter, limit] of Object.entries(limits)) {
      const { db, schema, drop } = await openTestSchema()
      const hasty = await openPostgres(`${testServer}${limit}`, {
        schema,
        connections: 1,
        ...(limiter === 'client' ? {} : { statementTimeoutMs: 300 }),
      })
      expect(
        await hasty.transaction(
          async (sql) => {
            await sql.script('select pg_sleep(0.7)')
            return await sql.query('select pg_sleep(0.7), 1 as one')
          },
          { isPatient: true },
        ),
      ).toMatchObject([{ one: 1 }])
      await expect(hasty.query('select pg_sleep(30)')).rejects.toMatchObject(
        limiter === 'server' ? { cause: { code: '57014' } } : { kind: 'StoreUnavailable' },
      )
      await hasty.close()
      await db.close()
      await drop()
    }
  })

  test('a transaction on a silent server waits for one time limit, not for a second one at its end', async () => {
    const db = await openPostgres(`${testServer}?query_timeout=2000`, { connections: 1 })
    const began = performance.now()
    await expect(db.transaction((sql) => sql.query('select pg_sleep(8)'))).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('did not answer in time'),
    })
    expect(performance.now() - began).toBeLessThan(3_800)
    expect(await db.query('select 1 as one')).toEqual([{ one: 1 }])
    await db.close()
  })

  test('a connection cut during an append returns a failure, and the same append can be retried', async () => {
    const { db, schema, drop } = await openTestSchema()
    const writer = await openTestSchema({ schema })
    const store = createPostgresEventStore(writer.db)
    await db.transaction(async (sql) => {
      await sql.query('select from log_head for update')
      const pending = store.append('a', 'any', [eventNamed('x')])()
      await waitFor(async () => (await db.query(CUT)).length > 0)
      expect(await pending).toMatchObject({ left: { kind: 'StoreUnavailable' } })
    })
    expect(E.isRight(await store.append('a', 'any', [eventNamed('x')])())).toBe(true)
    await writer.db.close()
    await db.close()
    await drop()
  })

  test('a missing database is an error whose message does not contain the password', async () => {
    const url = new URL(testServer)
    url.pathname = '/no_such_database'
    url.password = 'secret-word'
    const failure: unknown = await openPostgres(url.href).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'StoreRefused', message: expect.stringContaining('no_such_database') })
    expect(JSON.stringify([failure, String(failure)])).not.toContain('secret-word')
  })
})

test('an invalid address is rejected with a message that does not contain it', async () => {
  for (const address of ['not an address secret', 'mysql://me:secret@host/db']) {
    const failure: unknown = await openPostgres(address).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'StoreRefused', message: expect.stringContaining('postgres://') })
    expect(String(failure)).not.toContain('secret')
  }
})

test('an unreachable or silent server is an error within the time limit', async () => {
  await expect(openPostgres('postgres://me:secret@127.0.0.1:1/db')).rejects.toMatchObject({
    kind: 'StoreUnavailable',
    message: expect.stringMatching(/postgres:\/\/me@127\.0\.0\.1:1\/db.*ECONNREFUSED/),
  })
  const silent = createServer()
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve)
  })
  const address = silent.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await expect(
    openPostgres(`postgres://127.0.0.1:${String(port)}/db`, { connectTimeoutMs: 200 }),
  ).rejects.toMatchObject({ kind: 'StoreUnavailable' })
  silent.close()
})

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%append_and_wait%' and pid <> pg_backend_pid()`

/** Polls until the condition holds; otherwise the time limit of the test ends it. */
async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 5)
    })
  }
}
