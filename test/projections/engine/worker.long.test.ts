/**
 * Worker processes for the read models of a server: killed, suspended and resumed, ended; and a rebuild while they and
 * the appends continue.
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

describeOnServer('worker processes', () => {
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
  const reports = async (child: Child, kind: string, times = 1): Promise<void> => {
    for (let count = 1; child.lines.filter((line) => line.includes(`"kind":"${kind}"`)).length < times; count += 1)
      await child.said(Math.max(count, child.lines.length + 1))
  }
  const caughtUp = async (): Promise<void> => {
    expect(await watch.waitFor(await store.head(), 20_000)).toBe(true)
  }
  const rows = async (): Promise<unknown> => await Promise.all(projections.map((projection) => rowsOf(db, projection)))

  test('after the working process is killed, the next one takes over', async () => {
    const first = start('first', 2)
    await reports(first, 'working')
    const second = start('second', 2)
    await reports(second, 'standing-by')
    await record(store, 'a', everyEvent)
    await caughtUp()
    await first.kill()
    const { position } = await appended(
      store,
      conversationStream('b'),
      eventsFor(conversationStream('b'), everyEvent).events,
    )
    // The claim lasts three seconds. The benchmark `workers` measures how long a takeover takes.
    expect(await watch.waitFor(position, 30_000)).toBe(true)
    expect((await watch.status()).every(({ holder }) => holder === 'second')).toBe(true)
    const live = await rows()
    await createProjectionRunner({ db, store, decode: decodeStored, projections }).rebuild('all')
    expect(await rows()).toEqual(live)
  })

  test('a process that is asked to end releases its claim, so that the next one need not wait', async () => {
    const first = start('first')
    await reports(first, 'working')
    const second = start('second')
    await reports(second, 'standing-by')
    first.say('end')
    await reports(first, 'ended')
    expect((await createPostgresClaims(db).holder(PROJECTIONS_CLAIM))?.owner).not.toBe('first')
    await reports(second, 'working')
  })

  test('a process that was suspended, even within a transaction, writes nothing after it resumes', async () => {
    const first = start('first', 2)
    await reports(first, 'working')
    await caughtUp()
    const second = start('second', 4)
    await reports(second, 'standing-by')
    // The trigger records the session of every change, which identifies the writing process.
    await db.script(`
      create table writers (at timestamptz default clock_timestamp(), pid int, started timestamptz);
      create function note_writer() returns trigger language plpgsql as $$ begin
        insert into writers (pid, started) select pg_backend_pid(), backend_start from pg_stat_activity where pid = pg_backend_pid(); return new; end $$;
      create trigger writers after update of position on projection_checkpoints for each statement execute function note_writer()`)
    const over = new AbortController()
    const appending = (async () => {
      for (let number = 0; !over.signal.aborted; number += 1) await record(store, `c${String(number)}`, everyEvent)
    })()
    await appendedSome()
    process.kill(first.pid, 'SIGSTOP')
    await reports(second, 'working')
    const [{ now } = { now: '' }] = await db.query<{ now: string }>('select clock_timestamp()::text as now')
    const sessions = await db.query<{ pid: number }>('select distinct pid from writers')
    process.kill(first.pid, 'SIGCONT')
    await reports(first, 'lost')
    await reports(first, 'standing-by')
    await appendedSome()
    over.abort()
    await appending
    await caughtUp()
    // The sessions with which the first process wrote before it was suspended.
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

  /** Resolves when a few hundred more events are in the log. */
  async function appendedSome(): Promise<void> {
    const from = await store.head()
    while ((await store.head()) < from + 300) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  test('a rebuild while a worker applies events and sixteen writers append', async () => {
    for (let number = 0; number < 40; number += 1) await record(store, `early ${String(number)}`, everyEvent)
    const working = start('working', 3)
    await reports(working, 'working')
    const over = new AbortController()
    const appending = Promise.all(
      Array.from({ length: 16 }, async (_, appender) => {
        const stream = conversationStream(`appender ${String(appender)}`)
        for (let number = 0, hash: string | undefined; !over.signal.aborted; number += 1) {
          const next = eventsFor(stream, [message(`m${String(number)}`)], number, hash)
          hash = next.hash
          await appended(store, stream, next.events)
        }
      }),
    )
    const watching = (async () => {
      let last = -1
      while (!over.signal.aborted) {
        for (const { position } of (await watch.live()).flatMap(({ name, checkpoints }) =>
          name === 'live-messages' ? checkpoints.slice(0, 1) : [],
        )) {
          // The position never decreases for a reader.
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
    await caughtUp()
    expect(await db.query('select distinct generation, state, partitions from projection_checkpoints')).toEqual([
      { generation: 4, state: 'live', partitions: 3 },
    ])
    const live = await rows()
    await rebuild({ db, store, decode: decodeStored, projections }, 'all')
    expect(await rows()).toEqual(live)
  })
})
