/**
 * A process that lost the claim writes nothing, whatever it had prepared; and rows that belong to another log are
 * detected.
 */
import { beforeEach, expect, test } from '@jest/globals'
import { createMemoryClaims } from '../../../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../../../src/adapters/memory/event-store.js'
import { systemClock } from '../../../src/ports/clock.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { applyUntil } from '../../../projections/engine/apply.js'
import { targetsOf } from '../../../projections/engine/target.js'
import { readGenerations } from '../../../projections/engine/checkpoints.js'
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

  longTest('a runner with an old fence writes nothing and throws `Fenced`', async () => {
    await record(store, 'a', everyEvent)
    const [first, second] = [runner({ fence: 1 }), runner({ fence: 2 })]
    await first.catchUp()
    const stale = await readGenerations(
      db,
      projections.map(({ name }) => name),
    )
    await second.catchUp(-1)
    await record(store, 'b', everyEvent)
    const head = await store.head()
    // It has lost the claim and does not know: the checkpoints are where it left them.
    const source = { db, store, decode: decodeStored, projections, fence: 1 }
    const before = await rows()
    // `catchUp(-1)` above found nothing to apply and did not raise the fence.
    await runner({ fence: 2 }).catchUp()
    const after = await rows()
    expect(after).not.toEqual(before)
    await db.query('update projection_checkpoints set position = $1', [everyEvent.length - 1])
    const targets = projections.flatMap((projection) =>
      stale.filter(({ name }) => name === projection.name).flatMap((generation) => targetsOf(projection, generation)),
    )
    expect(await applyUntil(source, targets, head, { batchSize: 10 })).toBe('moved')
    expect(targets.every(({ position }) => position === everyEvent.length - 1)).toBe(true)
    await expect(first.catchUp()).rejects.toMatchObject({ kind: 'Fenced' })
    await expect(first.rebuild('all')).rejects.toThrow('another process has taken over the read models')
    await second.catchUp()
    expect(await rows()).toEqual(after)
    // A rebuild keeps the fence of the rows that it replaces.
    await runner().rebuild('all')
    await expect(first.catchUp(head)).resolves.toBe(head)
    await record(store, 'c', everyEvent)
    await expect(first.catchUp()).rejects.toMatchObject({ kind: 'Fenced' })
    await second.catchUp()
  })

  test('one works and the other waits; it takes over when the first ends, and each reports its state', async () => {
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
    // Takes the claim from the working process, as if its extension had come too late.
    const claim = await claims.take('projections', 'second', 60_000)
    await until('second lost')
    await claim?.release()
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

  test('rows of another log stop their projections, with both ids and the position; a rebuild repairs that', async () => {
    await record(store, 'a', everyEvent)
    await runner({ partitions: 2 }).catchUp()
    const [mark] =
      (await readGenerations(db, ['live-messages']))[0]?.checkpoints.flatMap(({ event }) => event ?? []) ?? []
    const original = store
    store = createMemoryEventStore()
    for (let number = 0; number < 3; number += 1) await record(store, `other ${String(number)}`, everyEvent)
    const found = await store.eventAt(mark?.position ?? -1)
    await expect(runner().catchUp()).rejects.toThrow(
      `archive-index was made from another log, or this one was changed: it has applied event ${mark?.id ?? ''} at position ${String(mark?.position)}, and this log has event ${found?.id ?? ''} there; run \`context-ledger verify\``,
    )
    expect(await createProjectionWatch({ db, store, projections }).status()).toMatchObject(
      projections.map(() => ({ state: 'stopped', position: everyEvent.length - 1 })),
    )
    // With the original log everything continues.
    store = original
    await runner().catchUp()
    expect(await runner().status()).toMatchObject(projections.map(() => ({ state: 'idle' })))
    // A shorter log, for which the projection would wait for ever.
    store = createMemoryEventStore()
    await record(store, 'short', [message('m1')])
    await expect(runner().catchUp()).rejects.toThrow('and this log has no event there')
    await db.query('update projection_checkpoints set event_id = null')
    await expect(runner().catchUp()).rejects.toThrow('this log ends at 0')
    await runner().rebuild('all')
    expect(await runner().catchUp()).toBe(0)
    expect(await db.query('select conversation_id from conversations')).toEqual([{ conversation_id: 'short' }])
  })
})
