/**
 * A rebuild: beside the old rows, while appends, readers and the live runner go on; resumed after a kill, and gone
 * without a trace once it is done.
 */
import { beforeEach, describe, expect, test } from '@jest/globals'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { conversationStream } from '../../../src/domain/values/ids.js'
import type { Event } from '../../../src/domain/events/index.js'
import { openPostgres } from '../../../src/adapters/postgres/sql.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { projections } from '../../../projections/index.js'
import { rebuild, type RebuildProgress } from '../../../projections/engine/rebuild.js'
import { createProjectionRunner } from '../../../projections/engine/runner.js'
import { appended as message, archived, configured, decodeStored, eventsFor, prunedBy } from '../../support/builders.js'
import { everyEvent } from '../../support/conversation-story.js'
import { appended, eventNamed } from '../../support/events.js'
import { openTestSchema, testServer } from '../../support/postgres.js'
import { describeOnDatabases, record, rowsOf } from '../../support/projections.js'
import { longTest } from '../../support/length.js'

/** A conversation of so many messages, the oldest of which are folded by tens. */
function longStory(count: number): Event[] {
  const events: Event[] = [configured({ scope: 'tenant-1' })]
  let live: string[] = []
  for (let place = 0; place < count; place += 1) {
    events.push(message(`m${String(place)}`))
    live.push(`m${String(place)}`)
    if (live.length === 15) {
      const left = live.slice(0, 10)
      events.push(archived(`b${String(place)}`, left), prunedBy({ [`b${String(place)}`]: left }))
      live = live.slice(10)
    }
  }
  return events
}

describeOnDatabases('rebuild', (database) => {
  let db: Database
  let store: EventStore
  beforeEach(async () => {
    db = await database.fresh()
    store = createPostgresEventStore(db)
  })
  const source = (): Parameters<typeof rebuild>[0] => ({ db, store, decode: decodeStored, projections })
  const all = async (): Promise<unknown> => {
    const rows: unknown[] = []
    for (const projection of projections) rows.push(await rowsOf(db, projection))
    return rows
  }
  const tables = async (): Promise<string[]> =>
    (
      await db.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = current_schema() and tablename ~ '_g[0-9]+$' order by 1`,
      )
    ).map(({ name }) => name)
  const generations = async (): Promise<unknown[]> =>
    await db.query('select distinct generation, state from projection_checkpoints order by generation')

  test('where only the checkpoints were lost, the rows are made anew, by whoever comes first', async () => {
    await record(store, 'a', longStory(40))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    await db.query('delete from projection_checkpoints')
    await createProjectionRunner(source()).catchUp()
    expect(await all()).toEqual(before)
    await db.query('delete from projection_checkpoints')
    await rebuild(source(), 'all')
    expect(await all()).toEqual(before)
  })

  test('the old tables are gone afterwards, and progress ends at its total', async () => {
    await record(store, 'a', longStory(100))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    const told: RebuildProgress[] = []
    await rebuild(source(), 'all', { batchSize: 20, onProgress: (progress) => told.push(progress) })
    expect(await all()).toEqual(before)
    expect((await tables()).every((name) => name.endsWith('_g2'))).toBe(true)
    expect(await generations()).toEqual([{ generation: 2, state: 'live' }])
    expect([...new Set(told.map(({ phase }) => phase))]).toEqual(['rows', 'indexes', 'swap', 'done'])
    expect(told.at(-1)).toMatchObject({ phase: 'done', done: told.at(-1)?.total })
    expect(told.map(({ done }) => done)).toEqual(told.map(({ done }) => done).toSorted((a, b) => a - b))
    expect(told.some(({ secondsLeft }) => secondsLeft !== undefined && secondsLeft >= 0)).toBe(true)
    const indexes = await db.query<{ count: string }>(
      `select count(*) as count from pg_indexes where schemaname = current_schema() and indexname ~ '_g2_i'`,
    )
    expect(Number(indexes[0]?.count)).toBe(
      projections.flatMap((projection) => projection.tables).flatMap((table) => table.indexes).length,
    )
  })

  test('one projection alone, and a name that there is not', async () => {
    await record(store, 'a', everyEvent)
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    await rebuild(source(), ['clip-archive'])
    expect(await all()).toEqual(before)
    expect((await tables()).filter((name) => name.endsWith('_g2'))).toEqual(['batches_g2', 'clip_archive_views_g2'])
    await expect(rebuild(source(), ['nothing'])).rejects.toThrow('there is no projection nothing')
  })

  longTest('while appends, readers and the live runner go on', async () => {
    await record(store, 'a', longStory(400))
    await record(store, 'still', longStory(20))
    const runner = createProjectionRunner({ ...source(), intervalMs: 10 })
    await runner.catchUp()
    runner.start()
    const still = async (): Promise<string> =>
      JSON.stringify(
        await db.query(`
          select (select count(*) from live_messages where conversation_id = 'still') as live,
            (select count(*) from archive_messages where conversation_id = 'still') as indexed,
            (select count(*) from batches where conversation_id = 'still') as batches,
            (select revision from conversations where conversation_id = 'still') as revision`),
      )
    const expected = await still()
    const over = new AbortController()
    let reads = 0
    const reading = (async () => {
      let last = -1n
      while (!over.signal.aborted) {
        expect(await still()).toBe(expected)
        // Whoever read a position never finds an earlier one.
        for (const { position } of await runner
          .status()
          .then((status) => status.filter(({ name }) => name === 'live-messages'))) {
          expect(position).toBeGreaterThanOrEqual(last)
          last = position
        }
        reads += 1
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })()
    const story = longStory(600)
    const { events } = eventsFor(conversationStream('b'), story)
    const appending = (async () => {
      for (let place = 0; place < events.length; place += 3) {
        await appended(store, conversationStream('b'), events.slice(place, place + 3))
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })()
    await rebuild(source(), 'all', { batchSize: 25 })
    await rebuild(source(), 'all', { batchSize: 100 })
    await appending
    over.abort()
    await reading
    expect(reads).toBeGreaterThan(3)
    expect(await runner.waitFor(await store.head(), 10_000)).toBe(true)
    await runner.stop()
    const live = await all()
    expect(await generations()).toEqual([{ generation: 3, state: 'live' }])
    await rebuild(source(), 'all')
    expect(await all()).toEqual(live)
  })

  longTest('killed at any place, the next one goes on or begins anew, and nothing is left over', async () => {
    await record(store, 'a', longStory(60))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    const seen: unknown[] = []
    for (let kill = 1; kill < 12; kill += 2) {
      const abort = new AbortController()
      let batches = 0
      const onProgress = (): void => {
        batches += 1
        if (batches === kill) abort.abort()
      }
      await rebuild(source(), 'all', { batchSize: 10, signal: abort.signal, onProgress }).catch(() => undefined)
      expect(await all()).toEqual(before)
      seen.push(await generations())
    }
    const halfway = [
      { generation: 1, state: 'live' },
      { generation: 2, state: 'building' },
    ]
    expect(seen.slice(0, 2)).toEqual([halfway, halfway])
    await rebuild(source(), 'all', { batchSize: 10 })
    expect(await all()).toEqual(before)
    expect(await generations()).toHaveLength(1)
    const names = projections.flatMap((projection) => projection.tables).length
    expect(await tables()).toHaveLength(names)

    // What was left by another version is of no use, and neither is anything where a fresh one is asked for.
    const abort = new AbortController()
    await expect(
      rebuild(source(), 'all', {
        batchSize: 10,
        signal: abort.signal,
        onProgress: () => {
          abort.abort()
        },
      }),
    ).rejects.toThrow('stopped')
    await db.query(`update projection_checkpoints set version = version + 7, position = 50 where state = 'building'`)
    await rebuild(source(), 'all')
    expect(await all()).toEqual(before)
    expect(await tables()).toHaveLength(names)
  })

  test('two rebuilds at once end in one set of whole tables', async () => {
    await record(store, 'a', longStory(200))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    await Promise.all([rebuild(source(), 'all', { batchSize: 13 }), rebuild(source(), 'all', { batchSize: 17 })])
    expect(await all()).toEqual(before)
    expect(await tables()).toHaveLength(projections.flatMap((projection) => projection.tables).length)
  })

  test('an event that cannot be applied stops its own conversation right before it; all others are made anew', async () => {
    await record(store, 'a', longStory(20))
    await record(store, 'b', longStory(20))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    await appended(store, 'conversation-a', [eventNamed('odd')])
    await rebuild(source(), 'all')
    expect(await all()).toEqual(before)
    const status = await createProjectionRunner(source()).status()
    expect(status).toMatchObject(
      projections.map(() => ({
        generation: 2,
        lagEvents: 0,
        state: 'idle',
        stopped: [
          {
            conversationId: 'a',
            reason: expect.stringMatching(/cannot apply Noted at revision \d+ of conversation-a/u),
          },
        ],
      })),
    )
  })
})

const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('the indexes of a rebuild, on a server', () => {
  const LIMIT_MS = 3_000

  /**
   * A rebuild that has its rows and not its indexes yet: whoever holds `table` keeps the next one from building them.
   */
  async function withRowsAlone(): Promise<{
    db: Database
    hasty: Database
    table: string
    reads: () => number
    source: Parameters<typeof rebuild>[0]
    drop: () => Promise<void>
  }> {
    const { db, schema, drop } = await openTestSchema()
    const hasty = await openPostgres(`${testServer}?query_timeout=${String(LIMIT_MS)}`, {
      schema,
      statementTimeoutMs: LIMIT_MS,
    })
    const store = createPostgresEventStore(hasty)
    await record(store, 'a', longStory(40))
    let reads = 0
    const counting: EventStore = {
      ...store,
      readAll: (options) => {
        reads += 1
        return store.readAll(options)
      },
    }
    const source = { db: hasty, store: counting, decode: decodeStored, projections }
    await createProjectionRunner(source).catchUp()
    const abort = new AbortController()
    await expect(
      rebuild(source, 'all', {
        batchSize: 10,
        signal: abort.signal,
        onProgress: ({ phase }) => {
          if (phase === 'indexes') abort.abort()
        },
      }),
    ).rejects.toThrow('stopped')
    await db.script(
      `do $$ declare i record; begin for i in select indexname from pg_indexes where schemaname = current_schema() and indexname ~ '_g2_i' loop execute format('drop index %I', i.indexname); end loop; end $$`,
    )
    const table =
      projections.flatMap((projection) => projection.tables).find(({ indexes }) => indexes.length > 0)?.name ?? ''
    return {
      db,
      hasty,
      table: `${table}_g2`,
      reads: () => reads,
      source,
      drop: async () => {
        await hasty.close()
        await db.close()
        await drop()
      },
    }
  }

  /** The connection that builds an index and waits for the table, once it has done so for so long. */
  async function waiting(db: Database, table: string, ms: number): Promise<number> {
    for (let look = 0; look < 200; look += 1) {
      const [found] = await db.query<{ pid: number }>(
        `select pid from pg_stat_activity where state = 'active' and wait_event_type = 'Lock' and query like 'create index%' and query like '%' || $1 || '%' and now() - query_start > make_interval(secs => $2)
         and pid in (select pid from pg_locks where not granted and relation = to_regclass(quote_ident($1)))`,
        [table, ms / 1_000],
      )
      if (found !== undefined) return found.pid
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error('nobody builds an index')
  }

  test('take longer than any other statement may, and nobody who opens the ledger meanwhile waits for them', async () => {
    const { db, table, source, drop } = await withRowsAlone()
    let rebuilt: Promise<void> | undefined
    await db.transaction(async (sql) => {
      await sql.script(`lock table "${table}" in row exclusive mode`)
      rebuilt = rebuild(source, 'all')
      rebuilt.catch(() => undefined)
      await waiting(db, table, LIMIT_MS + 500)
      await createProjectionRunner(source).catchUp()
    })
    await rebuilt
    expect(await db.query('select distinct generation, state from projection_checkpoints')).toEqual([
      { generation: 2, state: 'live' },
    ])
    await drop()
  }, 30_000)

  test('go on with the rows that are there where the connection was cut in the middle of one', async () => {
    const { db, table, source, reads, drop } = await withRowsAlone()
    await db.transaction(async (sql) => {
      await sql.script(`lock table "${table}" in row exclusive mode`)
      const cut = rebuild(source, 'all').then(
        () => undefined,
        (failure: unknown) => failure,
      )
      await db.query('select pg_terminate_backend($1)', [await waiting(db, table, 0)])
      expect(await cut).toMatchObject({ code: '57P01' })
    })
    const before = reads()
    const told: RebuildProgress[] = []
    await rebuild(source, 'all', { onProgress: (progress) => told.push(progress) })
    expect([told.at(-1)?.events, reads() - before]).toEqual([0, 0])
    expect(await db.query('select distinct generation, state from projection_checkpoints')).toEqual([
      { generation: 2, state: 'live' },
    ])
    await drop()
  }, 30_000)
})
