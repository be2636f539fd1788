/**
 * Who lost the claim writes nothing any more, whatever it had under way; and rows that belong to another log are
 * noticed.
 */
import { beforeEach, expect, test } from '@jest/globals'
import { createMemoryClaims } from '../../../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../../../src/adapters/memory/event-store.js'
import { systemClock } from '../../../src/ports/clock.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { applyUntil, targetsOf } from '../../../projections/engine/apply.js'
import { Fenced, readGenerations } from '../../../projections/engine/checkpoints.js'
import { projections } from '../../../projections/index.js'
import {
  createProjectionRunner,
  type ProjectionRunner,
  type RunnerOptions,
} from '../../../projections/engine/runner.js'
import { createProjectionWatch } from '../../../projections/engine/watch.js'
import { startProjectionWorker, type ProjectionWorker, type WorkerState } from '../../../projections/engine/worker.js'
import { appended as message, decodeStored } from '../../support/builders.js'
import { everyEvent } from '../../support/conversation-story.js'
import { changes } from '../../support/latch.js'
import { describeOnDatabases, record, rowsOf } from '../../support/projections.js'
import { longTest } from '../../support/length.js'

describeOnDatabases('fence', (database) => {
  let db: Database
  let store: EventStore
  beforeEach(async () => {
    db = await database.fresh()
    store = createMemoryEventStore()
  })
  const runner = (options: Partial<RunnerOptions> = {}): ProjectionRunner =>
    createProjectionRunner({ db, store, decode: decodeStored, projections, ...options })
  const rows = async (): Promise<unknown> => await Promise.all(projections.map((projection) => rowsOf(db, projection)))

  longTest('what was read under an old fence is not written, and its runner learns that it is fenced', async () => {
    await record(store, 'a', everyEvent)
    const [first, second] = [runner({ fence: 1n }), runner({ fence: 2n })]
    await first.catchUp()
    const stale = await readGenerations(
      db,
      projections.map(({ name }) => name),
    )
    await second.catchUp(-1n)
    await record(store, 'b', everyEvent)
    const head = await store.head()
    // It has the claim no longer and does not know: the checkpoints stand where it left them.
    const source = { db, store, decode: decodeStored, projections, fence: 1n }
    const before = await rows()
    // The runner that looks for nothing new never raised its fence.
    await runner({ fence: 2n }).catchUp()
    const after = await rows()
    expect(after).not.toEqual(before)
    await db.query('update projection_checkpoints set position = $1', [everyEvent.length - 1])
    const targets = projections.flatMap((projection) =>
      stale.filter(({ name }) => name === projection.name).flatMap((generation) => targetsOf(projection, generation)),
    )
    expect(await applyUntil(source, targets, head, { batchSize: 10 })).toBe('moved')
    expect(targets.every(({ position }) => position === BigInt(everyEvent.length - 1))).toBe(true)
    await expect(first.catchUp()).rejects.toThrow(Fenced)
    await expect(first.rebuild('all')).rejects.toThrow('another process keeps the read models')
    await second.catchUp()
    expect(await rows()).toEqual(after)
    // Rows that took the place of others are fenced as these were.
    await runner().rebuild('all')
    await expect(first.catchUp(head)).resolves.toBe(head)
    await record(store, 'c', everyEvent)
    await expect(first.catchUp()).rejects.toThrow(Fenced)
    await second.catchUp()
  })

  test('one works and the other stands by; it takes over when the first ends, and each says so', async () => {
    const claims = createMemoryClaims(systemClock)
    const states: string[] = []
    const change = changes()
    const start = (owner: string): ProjectionWorker =>
      startProjectionWorker({
        db,
        store,
        decode: decodeStored,
        projections,
        claims,
        owner,
        ttlMs: 3_000,
        partitions: 2,
        onState: (state: WorkerState) => {
          states.push(`${owner} ${state.kind}`)
          change.happened()
        },
      })
    const until = async (state: string): Promise<void> => {
      while (!states.includes(state)) await change.next()
    }
    const first = start('first')
    await until('first working')
    const second = start('second')
    await until('second standing-by')
    await record(store, 'a', everyEvent)
    const watch = createProjectionWatch({ db, store, projections, claims })
    expect(await watch.waitFor(await store.head(), 30_000)).toBe(true)
    expect(await second.status()).toMatchObject(projections.map(() => ({ lagEvents: 0, lagSeconds: 0 })))
    expect(await watch.status()).toMatchObject(projections.map(() => ({ state: 'following', holder: 'first' })))
    await first.stop()
    await until('second working')
    await record(store, 'b', [message('m1')])
    expect(await watch.waitFor(await store.head(), 30_000)).toBe(true)
    expect(await watch.status()).toMatchObject(projections.map(() => ({ state: 'following', holder: 'second' })))
    // Somebody takes it from the one that works, as where its extension did not come through in time.
    const taken = await claims.take('projections', 'second', 60_000)
    await until('second lost')
    await taken?.release()
    while (states.filter((state) => state === 'second working').length < 2) await change.next()
    await second.stop()
    expect(states).toEqual([
      'first working',
      'second standing-by',
      'first ended',
      'second working',
      'second lost',
      'second working',
      'second ended',
    ])
    expect(await watch.status()).toMatchObject(projections.map(() => ({ state: 'idle' })))
  })

  test('rows of another log stop their projections, with both ids and the place; a rebuild makes them belong', async () => {
    await record(store, 'a', everyEvent)
    await runner({ partitions: 2 }).catchUp()
    const [mine] =
      (await readGenerations(db, ['live-messages']))[0]?.checkpoints.flatMap(({ event }) => event ?? []) ?? []
    const own = store
    store = createMemoryEventStore()
    for (let place = 0; place < 3; place += 1) await record(store, `other ${String(place)}`, everyEvent)
    const there = await store.eventAt(mine?.position ?? -1n)
    const other = runner()
    await expect(other.catchUp()).rejects.toThrow(
      `archive-index was made from another log, or this one was changed: it has applied event ${mine?.id ?? ''} at position ${String(mine?.position)}, and this log has event ${there?.id ?? ''} there; \`context-ledger verify\` tells`,
    )
    expect(await createProjectionWatch({ db, store, projections }).status()).toMatchObject(
      projections.map(() => ({ state: 'stopped', position: BigInt(everyEvent.length - 1) })),
    )
    // The right address: as if nothing had been.
    store = own
    await runner().catchUp()
    expect(await runner().status()).toMatchObject(projections.map(() => ({ state: 'idle' })))
    // A shorter log, on which it would wait for ever.
    store = createMemoryEventStore()
    await record(store, 'short', [message('m1')])
    await expect(runner().catchUp()).rejects.toThrow('and this log has no event there')
    await db.query('update projection_checkpoints set event_id = null')
    await expect(runner().catchUp()).rejects.toThrow('this log ends at 0')
    await runner().rebuild('all')
    expect(await runner().catchUp()).toBe(0n)
    expect(await db.query('select conversation_id from conversations')).toEqual([{ conversation_id: 'short' }])
  })
})
