/**
 * A rebuild fills new tables while appends, readers and the live runner continue, can be resumed after a kill, and drops
 * the old tables.
 */
import { beforeEach, expect, test } from '@jest/globals'
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
import { longTest, serverDescribe } from '../../support/length.js'

/** A conversation in which the oldest ten messages are archived whenever 15 are live. */
function longStory(count: number): Event[] {
  const events: Event[] = [configured({ scope: 'tenant-1' })]
  let live: string[] = []
  for (let number = 0; number < count; number += 1) {
    events.push(message(`m${String(number)}`))
    live.push(`m${String(number)}`)
    if (live.length === 15) {
      const oldest = live.slice(0, 10)
      events.push(archived(`b${String(number)}`, oldest), prunedBy({ [`b${String(number)}`]: oldest }))
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

  test('if only the checkpoints were lost, a runner or a rebuild creates the rows again', async () => {
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

  test('the old tables are dropped afterwards, and progress ends at its total', async () => {
    await record(store, 'a', longStory(100))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    const reports: RebuildProgress[] = []
    await rebuild(source(), 'all', { batchSize: 20, onProgress: (progress) => reports.push(progress) })
    expect(await all()).toEqual(before)
    expect((await tables()).every((name) => name.endsWith('_g2'))).toBe(true)
    expect(await generations()).toEqual([{ generation: 2, state: 'live' }])
    expect([...new Set(reports.map(({ phase }) => phase))]).toEqual(['rows', 'indexes', 'swap', 'done'])
    expect(reports.at(-1)).toMatchObject({ phase: 'done', done: reports.at(-1)?.total })
    expect(reports.map(({ done }) => done)).toEqual(reports.map(({ done }) => done).toSorted((a, b) => a - b))
    expect(reports.some(({ secondsLeft }) => secondsLeft !== undefined && secondsLeft >= 0)).toBe(true)
    const indexes = await db.query<{ count: string }>(
      `select count(*) as count from pg_indexes where schemaname = current_schema() and indexname ~ '_g2_i'`,
    )
    expect(Number(indexes[0]?.count)).toBe(
      projections.flatMap((projection) => projection.tables).flatMap((table) => table.indexes).length,
    )
  })

  test('one projection only, and an unknown name', async () => {
    await record(store, 'a', everyEvent)
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    await rebuild(source(), ['clip-archive'])
    expect(await all()).toEqual(before)
    expect((await tables()).filter((name) => name.endsWith('_g2'))).toEqual(['batches_g2', 'clip_archive_views_g2'])
    await expect(rebuild(source(), ['nothing'])).rejects.toThrow('there is no projection nothing')
  })

  longTest('while appends, readers and the live runner continue', async () => {
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
      let last = -1
      while (!over.signal.aborted) {
        expect(await still()).toBe(expected)
        // The position never decreases for a reader.
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
      for (let number = 0; number < events.length; number += 3) {
        await appended(store, conversationStream('b'), events.slice(number, number + 3))
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

  longTest('after a kill at any point, the next rebuild resumes or starts again, and no tables remain', async () => {
    await record(store, 'a', longStory(60))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    const statesAfterKill: unknown[] = []
    for (let kill = 1; kill < 12; kill += 2) {
      const abort = new AbortController()
      let batches = 0
      const onProgress = (): void => {
        batches += 1
        if (batches === kill) abort.abort()
      }
      await rebuild(source(), 'all', { batchSize: 10, signal: abort.signal, onProgress }).catch(() => undefined)
      expect(await all()).toEqual(before)
      statesAfterKill.push(await generations())
    }
    const halfway = [
      { generation: 1, state: 'live' },
      { generation: 2, state: 'building' },
    ]
    expect(statesAfterKill.slice(0, 2)).toEqual([halfway, halfway])
    await rebuild(source(), 'all', { batchSize: 10 })
    expect(await all()).toEqual(before)
    expect(await generations()).toHaveLength(1)
    const names = projections.flatMap((projection) => projection.tables).length
    expect(await tables()).toHaveLength(names)

    // An unfinished rebuild of another version is not resumed.
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

  test('two concurrent rebuilds end with one complete set of tables', async () => {
    await record(store, 'a', longStory(200))
    await createProjectionRunner(source()).catchUp()
    const before = await all()
    await Promise.all([rebuild(source(), 'all', { batchSize: 13 }), rebuild(source(), 'all', { batchSize: 17 })])
    expect(await all()).toEqual(before)
    expect(await tables()).toHaveLength(projections.flatMap((projection) => projection.tables).length)
  })

  test('an event that cannot be applied stops its conversation right before it; all others are rebuilt', async () => {
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

serverDescribe('the indexes of a rebuild, on a server', () => {
  const LIMIT_MS = 3_000

  /** An unfinished rebuild with rows and without indexes. A lock on `table` blocks the next rebuild's index build. */
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

  /** The connection that builds an index, after it has waited for the table for `ms`. */
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
    throw new Error('no connection builds an index')
  }

  test('may take longer than the statement timeout, and opening the ledger meanwhile does not wait for them', async () => {
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

  test('are built again without reading the log if the connection is cut while one is built', async () => {
    const { db, table, source, reads, drop } = await withRowsAlone()
    await db.transaction(async (sql) => {
      await sql.script(`lock table "${table}" in row exclusive mode`)
      const cut = rebuild(source, 'all').then(
        () => undefined,
        (failure: unknown) => failure,
      )
      await db.query('select pg_terminate_backend($1)', [await waiting(db, table, 0)])
      expect(await cut).toMatchObject({ cause: { code: '57P01' } })
    })
    const before = reads()
    const reports: RebuildProgress[] = []
    await rebuild(source, 'all', { onProgress: (progress) => reports.push(progress) })
    expect([reports.at(-1)?.events, reads() - before]).toEqual([0, 0])
    expect(await db.query('select distinct generation, state from projection_checkpoints')).toEqual([
      { generation: 2, state: 'live' },
    ])
    await drop()
  }, 30_000)
})
