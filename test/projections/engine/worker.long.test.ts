/**
 * Processes that keep the read models of a server: killed, stopped and woken, told to end; and a rebuild while they and
 * the appends go on.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createPostgresClaims } from '../../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { conversationStream } from '../../../src/domain/values/ids.js'
import { projections } from '../../../projections/index.js'
import { rebuild } from '../../../projections/engine/rebuild.js'
import { createProjectionRunner } from '../../../projections/engine/runner.js'
import { createProjectionWatch, PROJECTIONS_CLAIM, type ProjectionWatch } from '../../../projections/engine/watch.js'
import { appended as message, decodeStored, eventsFor } from '../../support/builders.js'
import { startChild, type Child } from '../../support/child.js'
import { everyEvent } from '../../support/conversation-story.js'
import { appended } from '../../support/events.js'
import { openTestSchema, testServer } from '../../support/postgres.js'
import { record, rowsOf } from '../../support/projections.js'

const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('processes that keep the read models', () => {
  let opened: Awaited<ReturnType<typeof openTestSchema>>
  let db: Database
  let store: EventStore
  let watch: ProjectionWatch
  let children: Child[] = []
  beforeEach(async () => {
    opened = await openTestSchema()
    db = opened.db
    store = createPostgresEventStore(db)
    watch = createProjectionWatch({ db, store, projections, claims: createPostgresClaims(db) })
  })
  afterEach(async () => {
    await Promise.all(children.map((child) => child.kill()))
    children = []
    await db.close()
    await opened.drop()
  })
  const start = (owner: string, partitions = 1): Child => {
    const child = startChild('keep-projections', [opened.schema, owner, String(partitions)])
    children.push(child)
    return child
  }
  const says = async (child: Child, kind: string, times = 1): Promise<void> => {
    for (let count = 1; child.lines.filter((line) => line.includes(`"kind":"${kind}"`)).length < times; count += 1)
      await child.said(Math.max(count, child.lines.length + 1))
  }
  const shows = async (): Promise<void> => {
    expect(await watch.waitFor(await store.head(), 20_000)).toBe(true)
  }
  const rows = async (): Promise<unknown> => await Promise.all(projections.map((projection) => rowsOf(db, projection)))

  test('when the working one is killed, the next takes over by itself', async () => {
    const first = start('first', 2)
    await says(first, 'working')
    const second = start('second', 2)
    await says(second, 'standing-by')
    await record(store, 'a', everyEvent)
    await shows()
    await first.kill()
    const { position } = await appended(
      store,
      conversationStream('b'),
      eventsFor(conversationStream('b'), everyEvent).events,
    )
    // Its claim lasts three seconds; how long it takes is measured by the benchmark `workers`.
    expect(await watch.waitFor(position, 30_000)).toBe(true)
    expect((await watch.status()).every(({ holder }) => holder === 'second')).toBe(true)
    const live = await rows()
    await createProjectionRunner({ db, store, decode: decodeStored, projections }).rebuild('all')
    expect(await rows()).toEqual(live)
  })

  test('one that is told to end gives its claim back before it is gone, so that the next need not wait for it', async () => {
    const first = start('first')
    await says(first, 'working')
    const second = start('second')
    await says(second, 'standing-by')
    first.say('end')
    await says(first, 'ended')
    expect((await createPostgresClaims(db).holder(PROJECTIONS_CLAIM))?.owner).not.toBe('first')
    await says(second, 'working')
  })

  test('one that stood still, in the middle of a transaction too, and wakes up later writes nothing', async () => {
    const first = start('first', 2)
    await says(first, 'working')
    await shows()
    const second = start('second', 4)
    await says(second, 'standing-by')
    // Which process writes is seen by the fence that its session knows: the trigger notes the session of every change.
    await db.script(`
      create table writers (at timestamptz default clock_timestamp(), pid int, started timestamptz);
      create function note_writer() returns trigger language plpgsql as $$ begin
        insert into writers (pid, started) select pg_backend_pid(), backend_start from pg_stat_activity where pid = pg_backend_pid(); return new; end $$;
      create trigger writers after update of position on projection_checkpoints for each statement execute function note_writer()`)
    const over = new AbortController()
    const appending = (async () => {
      for (let place = 0; !over.signal.aborted; place += 1) await record(store, `c${String(place)}`, everyEvent)
    })()
    await appendedSome()
    process.kill(first.pid, 'SIGSTOP')
    await says(second, 'working')
    const [{ now } = { now: '' }] = await db.query<{ now: string }>('select clock_timestamp()::text as now')
    const sessions = await db.query<{ pid: number }>('select distinct pid from writers')
    process.kill(first.pid, 'SIGCONT')
    await says(first, 'lost')
    await says(first, 'standing-by')
    await appendedSome()
    over.abort()
    await appending
    await shows()
    // The sessions that the first had written with, before it stood still.
    const late = await db.query('select * from writers where at > $1::timestamptz and pid = any($2::int[])', [
      now,
      sessions.map(({ pid }) => pid),
    ])
    expect(late).toEqual([])
    expect((await watch.status()).every(({ holder }) => holder === 'second')).toBe(true)
    const live = await rows()
    await createProjectionRunner({ db, store, decode: decodeStored, projections }).rebuild('all')
    expect(await rows()).toEqual(live)
  })

  /** Resolves when some hundred events more are in the log. */
  async function appendedSome(): Promise<void> {
    const from = await store.head()
    while ((await store.head()) < from + 300n) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  test('a rebuild while a process keeps the rows and sixteen append', async () => {
    for (let place = 0; place < 40; place += 1) await record(store, `early ${String(place)}`, everyEvent)
    const working = start('working', 3)
    await says(working, 'working')
    const over = new AbortController()
    const appending = Promise.all(
      Array.from({ length: 16 }, async (_, appender) => {
        const stream = conversationStream(`appender ${String(appender)}`)
        for (let place = 0, hash: string | undefined; !over.signal.aborted; place += 1) {
          const next = eventsFor(stream, [message(`m${String(place)}`)], BigInt(place), hash)
          hash = next.hash
          await appended(store, stream, next.events)
        }
      }),
    )
    const watching = (async () => {
      let last = -1n
      while (!over.signal.aborted) {
        for (const { position } of (await watch.live()).flatMap(({ name, checkpoints }) =>
          name === 'live-messages' ? checkpoints.slice(0, 1) : [],
        )) {
          // Whoever saw a position never finds an earlier one.
          expect(position).toBeGreaterThanOrEqual(last)
          last = position
        }
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    })()
    for (let time = 0; time < 3; time += 1)
      await rebuild({ db, store, decode: decodeStored, projections }, 'all', { batchSize: 200 })
    over.abort()
    await appending
    await watching
    await shows()
    expect(await db.query('select distinct generation, state, partitions from projection_checkpoints')).toEqual([
      { generation: 4, state: 'live', partitions: 3 },
    ])
    const live = await rows()
    await rebuild({ db, store, decode: decodeStored, projections }, 'all')
    expect(await rows()).toEqual(live)
  })
})
