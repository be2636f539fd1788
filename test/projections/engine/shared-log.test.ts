/**
 * Read models of a log that is not theirs alone: other systems append to the same KurrentDB throughout, so that its
 * newest event is never one of ours; and of a database that belongs to another log, where no position means anything.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { openKurrentDbEventStore } from '../../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../../src/adapters/memory/body-store.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { projections } from '../../../projections/index.js'
import { createProjectionRunner, ProjectionStopped, type ProjectionRunner } from '../../../projections/engine/runner.js'
import { createProjectionWatch } from '../../../projections/engine/watch.js'
import { appended as message, configured, decodeStored } from '../../support/builders.js'
import { noIndex } from '../../support/event-ids.js'
import { startWireServer, type WireServer } from '../../support/kurrentdb/server.js'
import { describeOnDatabases, record } from '../../support/projections.js'
import { longTest } from '../../support/length.js'

describeOnDatabases('read models beside other systems', (database) => {
  let db: Database
  let server: WireServer
  const cleanups: (() => Promise<void>)[] = []

  async function open(on: WireServer): Promise<EventStore> {
    const store = await openKurrentDbEventStore(on.connectionString, {
      bodies: createMemoryBodyStore(),
      eventIds: noIndex,
    })
    cleanups.push(() => store.close())
    return store
  }
  async function start(): Promise<WireServer> {
    const started = await startWireServer({ foreign: true })
    cleanups.unshift(() => started.close())
    return started
  }
  const runnerOf = (store: EventStore): ProjectionRunner =>
    createProjectionRunner({ db, store, decode: decodeStored, projections })

  beforeEach(async () => {
    db = await database.fresh()
    server = await start()
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
  })

  longTest('who waits for the end of the log need not wait for events that are not ours', async () => {
    const [keeper, reader] = [await open(server), await open(server)]
    await record(keeper, 'a', [configured(), message('m1')])
    const runner = runnerOf(keeper)
    await runner.catchUp()
    // What comes now nobody tells who keeps the rows.
    server.log.append('orders-7', 'any', [
      {
        id: crypto.randomUUID(),
        type: 'OrderPlaced',
        contentType: 'application/json',
        data: Buffer.from('{}'),
        metadata: Buffer.from(''),
      },
    ])
    const watch = createProjectionWatch({ db, store: reader, projections })
    const head = await reader.head()
    expect((await watch.status()).every(({ position, lagEvents }) => position < head && lagEvents === 0)).toBe(true)
    expect(await watch.waitFor(head, 5_000)).toBe(true)
    // An event that rows are made of is waited for, and so is what the log has not come to.
    await record(keeper, 'b', [configured(), message('m2')])
    expect(await watch.waitFor(await reader.head(), 100)).toBe(false)
    expect(await watch.waitFor((await reader.head()) + 1_000n, 100)).toBe(false)
    await runner.catchUp()
    expect(await watch.waitFor(await reader.head(), 5_000)).toBe(true)
  })

  test('on a log that was just made, rows that nobody has filled show all there is: nothing', async () => {
    const store = await open(server)
    await runnerOf(store).catchUp()
    expect(await createProjectionWatch({ db, store, projections }).waitFor(await store.head(), 5_000)).toBe(true)
  })

  describe('made from another log', () => {
    let other: EventStore
    beforeEach(async () => {
      const first = await open(server)
      for (const id of ['a', 'b', 'c']) await record(first, id, [configured(), message('m1'), message('m2')])
      await runnerOf(first).catchUp()
      const another = await start()
      other = await open(another)
      await record(other, 'a longer name', [configured(), message('m1')])
      for (const id of ['d', 'e', 'f', 'g', 'h']) await record(other, id, [configured(), message('m1'), message('m2')])
    })

    test('the status says so of each, and counts all that the log has', async () => {
      for (const status of [
        await runnerOf(other).status(),
        await createProjectionWatch({ db, store: other, projections }).status(),
      ]) {
        expect(status.map(({ state, lagEvents, stop }) => [state, lagEvents, stop?.reason])).toEqual(
          projections.map(() => ['stopped', 17, expect.stringContaining('made from another log')]),
        )
      }
    })

    test('nobody is told that such rows show what they wait for', async () => {
      const watch = createProjectionWatch({ db, store: other, projections })
      await expect(watch.waitFor(0n, 100)).rejects.toThrow(ProjectionStopped)
      await expect(runnerOf(other).catchUp()).rejects.toThrow('made from another log')
    })

    test('a rebuild makes them this log’s own', async () => {
      const runner = runnerOf(other)
      await runner.rebuild('all')
      const head = await other.head()
      expect((await runner.status()).map(({ state, lagEvents, position }) => [state, lagEvents, position])).toEqual(
        projections.map(() => ['idle', 0, head]),
      )
      expect(await createProjectionWatch({ db, store: other, projections }).waitFor(head, 5_000)).toBe(true)
    })
  })

  // What an older program may have left: the last place that a database can hold, and no event with it.
  test('a place that no log comes to is said, and a rebuild mends it', async () => {
    const store = await open(server)
    await record(store, 'a', [configured(), message('m1')])
    const runner = runnerOf(store)
    await runner.catchUp()
    await db.query('update projection_checkpoints set position = $1, event_position = null, event_id = null', [
      2n ** 63n - 1n,
    ])
    expect(
      (await createProjectionWatch({ db, store, projections }).status()).map(({ state, lagEvents }) => [
        state,
        lagEvents,
      ]),
    ).toEqual(projections.map(() => ['stopped', 2]))
    await expect(runnerOf(store).catchUp()).rejects.toThrow('this log ends at')
    await runnerOf(store).rebuild('all')
    await record(store, 'b', [configured(), message('m1')])
    await runnerOf(store).catchUp()
    expect(await db.query('select count(distinct conversation_id)::int4 as found from live_messages')).toEqual([
      { found: 2 },
    ])
  })
})
