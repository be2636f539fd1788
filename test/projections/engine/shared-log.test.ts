/**
 * Read models of a shared log: other systems append to the same KurrentDB, so that its newest event is never one of the
 * ledger's. And read models of another log, whose positions have no meaning in this one.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { openKurrentDbEventStore } from '../../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../../src/adapters/memory/body-store.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { projections } from '../../../projections/index.js'
import { createProjectionRunner, type ProjectionRunner } from '../../../projections/engine/runner.js'
import { createProjectionWatch } from '../../../projections/engine/watch.js'
import { appended as message, configured, decodeStored } from '../../support/builders.js'
import { noIndex } from '../../support/event-ids.js'
import { startWireServer, type WireServer } from '../../support/kurrentdb/server.js'
import { describeOnDatabases, record } from '../../support/projections.js'
import { longTest } from '../../support/length.js'

describeOnDatabases('read models of a shared log', (database) => {
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

  longTest('waiting for the end of the log does not wait for events of other systems', async () => {
    const [keeper, reader] = [await open(server), await open(server)]
    await record(keeper, 'a', [configured(), message('m1')])
    const runner = runnerOf(keeper)
    await runner.catchUp()
    // The runner does not read this event.
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
    // It does wait for a projected event, and for a position that the log has not reached.
    await record(keeper, 'b', [configured(), message('m2')])
    expect(await watch.waitFor(await reader.head(), 100)).toBe(false)
    expect(await watch.waitFor((await reader.head()) + 1_000, 100)).toBe(false)
    await runner.catchUp()
    expect(await watch.waitFor(await reader.head(), 5_000)).toBe(true)
  })

  test('on a new log, waiting for empty rows returns immediately', async () => {
    const store = await open(server)
    await runnerOf(store).catchUp()
    expect(await createProjectionWatch({ db, store, projections }).waitFor(await store.head(), 5_000)).toBe(true)
  })

  describe('made from another log', () => {
    let otherLog: EventStore
    beforeEach(async () => {
      const first = await open(server)
      for (const id of ['a', 'b', 'c']) await record(first, id, [configured(), message('m1'), message('m2')])
      await runnerOf(first).catchUp()
      const another = await start()
      otherLog = await open(another)
      await record(otherLog, 'a longer name', [configured(), message('m1')])
      for (const id of ['d', 'e', 'f', 'g', 'h'])
        await record(otherLog, id, [configured(), message('m1'), message('m2')])
    })

    test('the status of each is stopped, and the lag is the whole log', async () => {
      for (const status of [
        await runnerOf(otherLog).status(),
        await createProjectionWatch({ db, store: otherLog, projections }).status(),
      ]) {
        expect(status.map(({ state, lagEvents, stop }) => [state, lagEvents, stop?.reason])).toEqual(
          projections.map(() => ['stopped', 17, expect.stringContaining('made from another log')]),
        )
      }
    })

    test('waiting for such rows fails', async () => {
      const watch = createProjectionWatch({ db, store: otherLog, projections })
      await expect(watch.waitFor(0, 100)).rejects.toMatchObject({ kind: 'ProjectionStopped' })
      await expect(runnerOf(otherLog).catchUp()).rejects.toThrow('made from another log')
    })

    test('a rebuild repairs them', async () => {
      const runner = runnerOf(otherLog)
      await runner.rebuild('all')
      const head = await otherLog.head()
      expect((await runner.status()).map(({ state, lagEvents, position }) => [state, lagEvents, position])).toEqual(
        projections.map(() => ['idle', 0, head]),
      )
      expect(await createProjectionWatch({ db, store: otherLog, projections }).waitFor(head, 5_000)).toBe(true)
    })
  })

  // An older program could store the largest position of a database, without an event.
  test('a position that no log reaches is reported, and a rebuild repairs it', async () => {
    const store = await open(server)
    await record(store, 'a', [configured(), message('m1')])
    const runner = runnerOf(store)
    await runner.catchUp()
    await db.query('update projection_checkpoints set position = $1, event_position = null, event_id = null', [
      Number.MAX_SAFE_INTEGER,
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
