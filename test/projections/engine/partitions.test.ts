/**
 * Conversations in several partitions: the same rows as with one, a checkpoint for each partition, and an event that
 * cannot be applied stops only its conversation.
 */
import { beforeEach, expect, test } from '@jest/globals'
import { storeError } from '../../../src/ports/store-error.js'
import { createMemoryEventStore } from '../../../src/adapters/memory/event-store.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { projections } from '../../../projections/index.js'
import { messageIdsProjection } from '../../../projections/read-models/message-ids/projection.js'
import { partitionOf } from '../../../projections/engine/partitions.js'
import type { Projection } from '../../../projections/engine/projection.js'
import {
  createProjectionRunner,
  type ProjectionRunner,
  type RunnerOptions,
} from '../../../projections/engine/runner.js'
import { createProjectionWatch } from '../../../projections/engine/watch.js'
import { appended as message, decodeStored } from '../../support/builders.js'
import { everyEvent } from '../../support/conversation-story.js'
import { appended, eventNamed } from '../../support/events.js'
import { describeOnDatabases, record, rowsOf } from '../../support/projections.js'
import { longTest } from '../../support/length.js'

test('the partition of a conversation never changes', () => {
  expect(['a', 'b', 'chat-1', '北京', ''].map((id) => partitionOf(id, 4))).toEqual([2, 2, 1, 1, 2])
  expect(['a', 'b', 'chat-1', '北京', ''].map((id) => partitionOf(id, 1))).toEqual([0, 0, 0, 0, 0])
  const spread = Array.from({ length: 4_000 }, (_, number) => partitionOf(`conversation ${String(number)}`, 4))
  for (const partition of [0, 1, 2, 3]) expect(spread.filter((one) => one === partition).length).toBeGreaterThan(900)
})

const ids = Array.from({ length: 12 }, (_, number) => `c${String(number)}`)

describeOnDatabases('partitions', (database) => {
  let db: Database
  let store: EventStore
  beforeEach(async () => {
    db = await database.fresh()
    store = createMemoryEventStore()
  })
  const runner = (options: Partial<RunnerOptions> = {}): ProjectionRunner =>
    createProjectionRunner({ db, store, decode: decodeStored, projections, batchSize: 20, ...options })
  const rows = async (): Promise<unknown> => await Promise.all(projections.map((projection) => rowsOf(db, projection)))
  const positions = async (): Promise<readonly string[]> =>
    (
      await db.query<{ name: string; partition: number; partitions: number; position: string }>(
        `select name, partition, partitions, position from projection_checkpoints where state = 'live' order by name, partition`,
      )
    ).map(
      ({ name, partition, partitions, position }) => `${name} ${String(partition)}/${String(partitions)} ${position}`,
    )
  /** Simulates a broken connection in every transaction for whose number `fails` returns true. */
  const flaky = (fails: (transaction: number) => boolean): Database => {
    let count = 0
    return {
      ...db,
      async transaction(work) {
        count += 1
        if (fails(count)) throw new Error('the connection broke')
        return await db.transaction(work)
      },
    }
  }

  longTest('the rows are those of one partition, and those of a rebuild', async () => {
    for (const id of ids) await record(store, id, everyEvent)
    await runner().catchUp()
    const one = await rows()
    for (const partitions of [2, 3, 7]) {
      db = await database.fresh()
      const several = runner({ partitions })
      await several.catchUp()
      expect(await rows()).toEqual(one)
      expect((await several.status()).map((status) => status.partitions.length)).toEqual(
        projections.map(() => partitions),
      )
      await several.rebuild('all')
      expect(await rows()).toEqual(one)
      expect((await positions()).filter((line) => line.includes(`/${String(partitions)} `))).toHaveLength(
        projections.length * partitions,
      )
    }
  })

  test('with another number of partitions after a restart, all partitions continue from one position', async () => {
    for (const id of ids.slice(0, 8)) await record(store, id, everyEvent)
    await runner().catchUp()
    // Each change of the number follows a failure, which leaves the partitions at different positions.
    for (const [at, [before, after]] of [
      [1, 4],
      [4, 3],
      [3, 1],
      [1, 2],
      [2, 5],
    ].entries()) {
      const id = ids[8 + (at % 4)] ?? ''
      await (at < 4 ? record(store, id, everyEvent) : record(store, 'the last', everyEvent))
      await runner({
        ...(before === undefined ? {} : { partitions: before }),
        db: flaky((count) => count > 1 && count % 2 === 0),
        batchSize: 5,
      })
        .catchUp()
        .catch(() => undefined)
      await runner(after === undefined ? {} : { partitions: after }).catchUp()
      expect(
        (await positions()).every((line) =>
          line.endsWith(`/${String(after)} ${String(everyEvent.length * (9 + at) - 1)}`),
        ),
      ).toBe(true)
    }
    const divided = await rows()
    // Without a configured number, the runner keeps the existing one.
    await record(store, 'one more', everyEvent)
    await runner().catchUp()
    expect(await positions()).toHaveLength(projections.length * 5)
    db = await database.fresh()
    const log = store
    store = createMemoryEventStore()
    for await (const stored of log.readAll())
      if (stored.stream !== 'conversation-one more') await appended(store, stored.stream, [stored])
    await runner().catchUp()
    expect(await rows()).toEqual(divided)
  })

  test('an event that cannot be applied stops its conversation for every process; a restart retries it', async () => {
    for (const id of ids) await record(store, id, [message('m0')])
    await appended(store, 'conversation-c3', [eventNamed('odd')])
    for (const id of ids) await record(store, `${id} later`, [message('m1')])
    const head = await store.head()
    const stopped: string[] = []
    const working = runner({ partitions: 4, onStop: (name) => stopped.push(name) })
    expect(await working.catchUp()).toBe(head)
    expect(stopped.toSorted()).toEqual(projections.map(({ name }) => name).toSorted())
    const status = await createProjectionWatch({ db, store, projections }).status()
    expect(status).toMatchObject(
      projections.map(() => ({
        position: head,
        lagEvents: 0,
        stopped: [{ conversationId: 'c3', stream: 'conversation-c3', revision: 1, type: 'Noted' }],
      })),
    )
    for (const id of [...ids.filter((each) => each !== 'c3'), ...ids.map((each) => `${each} later`)])
      expect(await working.waitFor(head, 0, { conversationId: id })).toBe(true)
    await expect(working.waitFor(head, 60_000, { conversationId: 'c3' })).rejects.toMatchObject({
      kind: 'ProjectionStopped',
    })

    // With another number of partitions the conversation stays stopped.
    await runner({ partitions: 2 }).catchUp()
    expect((await positions()).every((line) => line.includes('/2 '))).toBe(true)
    expect(await createProjectionWatch({ db, store, projections }).status()).toMatchObject(
      projections.map(() => ({ stopped: [{ conversationId: 'c3' }] })),
    )
    const able = runner({
      decode: async (stored) =>
        await decodeStored(stored.type === 'Noted' ? { ...stored, ...(await noted()) } : stored),
    })
    await able.catchUp()
    expect(await createProjectionWatch({ db, store, projections }).status()).toMatchObject(
      projections.map(() => ({ position: head, lagEvents: 0, state: 'idle', stopped: [] })),
    )
    const completed = await rows()
    await able.rebuild('all')
    expect(await rows()).toEqual(completed)
  })

  test('only the partition of a refused row is searched for its event, and all other events are applied', async () => {
    for (const number of [0, 1, 2])
      for (const id of ids) await record(store, `${id} ${String(number)}`, [message(`m${String(number)}`)])
    const head = await store.head()
    const tooLong = Array.from({ length: 4_000 }, () => Math.random().toString(36)).join('')
    const refused: Projection = {
      ...messageIdsProjection,
      handlers: {
        ...messageIdsProjection.handlers,
        MessageAppended: (event) => [
          {
            op: 'put',
            table: 'message_ids',
            row: {
              conversation_id: event.stream,
              event_id: ['conversation-c3 1', 'conversation-c5 0'].includes(event.stream) ? tooLong : event.id,
              revision: event.revision,
            },
          },
        ],
      },
    }
    const working = runner({ partitions: 4, batchSize: 200, projections: [refused] })
    expect(await working.catchUp()).toBe(head)
    const expectedIds = [0, 1, 2]
      .flatMap((number) => ids.map((id) => `${id} ${String(number)}`))
      .filter((id) => id !== 'c3 1' && id !== 'c5 0')
    const stored = await db.query<{ conversation_id: string }>('select conversation_id from message_ids')
    expect(stored.map((row) => row.conversation_id.slice('conversation-'.length)).toSorted()).toEqual(
      expectedIds.toSorted(),
    )
    const [status] = await createProjectionWatch({ db, store, projections: [refused] }).status()
    expect(status).toMatchObject({
      position: head,
      stopped: [
        { conversationId: 'c5 0' },
        {
          conversationId: 'c3 1',
          reason: expect.stringContaining('cannot apply MessageAppended at revision 0 of conversation-c3 1'),
        },
      ],
    })
  })

  /** A message that replaces the unreadable event. */
  async function noted(): Promise<{ type: string; data: string; metadata: string }> {
    const found = await store.eventAt(0)
    return {
      type: found?.type ?? '',
      data: (found?.data ?? '').replace('"m0"', '"m9"'),
      metadata: found?.metadata ?? '',
    }
  }

  test('a body that is temporarily unavailable stops no conversation', async () => {
    await record(store, 'a', [message('m0'), message('m1')])
    const unavailable = storeError('StoreUnavailable', 'no connection')
    await expect(
      runner({
        decode: async (stored) => {
          if (stored.revision === 1) throw unavailable
          return await decodeStored(stored)
        },
      }).catchUp(),
    ).rejects.toThrow('no connection')
    expect((await runner().status()).every(({ state }) => state === 'idle')).toBe(true)
    await runner().catchUp()
  })

  test('the table of an older program is upgraded without a rebuild', async () => {
    for (const id of ids) await record(store, id, everyEvent)
    await runner().catchUp()
    const before = await rows()
    await db.script(`
      alter table projection_checkpoints drop constraint projection_checkpoints_pkey;
      drop index projection_checkpoints_live;
      alter table projection_checkpoints drop column partition, drop column partitions, drop column event_position, drop column event_id, drop column stop, drop column fence,
        add primary key (name, generation);
      create unique index projection_checkpoints_live on projection_checkpoints (name) where state = 'live';
      update projection_checkpoints set position = 100`)
    const one = runner({ partitions: 3 })
    await one.catchUp()
    expect(await rows()).toEqual(before)
    expect(await one.status()).toMatchObject(projections.map(() => ({ generation: 1, lagEvents: 0 })))
    await expect(
      db.query(`update projection_checkpoints set state = 'live', generation = 2 where partition = 0`),
    ).resolves.toBeDefined()
    await expect(
      db.query(
        `insert into projection_checkpoints (name, generation, version, position, state, tables) values ('live-messages', 9, 1, 0, 'live', 'x')`,
      ),
    ).rejects.toThrow('projection_checkpoints_live')
  })
})
