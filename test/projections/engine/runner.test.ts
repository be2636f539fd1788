/** The runner applies each event exactly once, whatever fails and with any number of runners; and reports its status. */
import { beforeEach, describe, expect, test } from '@jest/globals'
import { createMemoryEventStore } from '../../../src/adapters/memory/event-store.js'
import type { Event } from '../../../src/domain/events/index.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database, Sql } from '../../../src/ports/sql.js'
import { projections } from '../../../projections/index.js'
import type { Projection, Table } from '../../../projections/engine/projection.js'
import {
  createProjectionRunner,
  type ProjectionRunner,
  type RunnerOptions,
} from '../../../projections/engine/runner.js'
import {
  appended as message,
  configured,
  decodeStored,
  eventsFor,
  promptRegistered,
  recorded,
} from '../../support/builders.js'
import { everyEvent } from '../../support/conversation-story.js'
import { appended, eventNamed } from '../../support/events.js'
import { describeOnDatabases, record, rowsOf, silent } from '../../support/projections.js'
import { createRowCheck } from '../../../projections/engine/compare.js'
import type { RowDifference } from '../../../src/ports/row-check.js'
import { rowDifferences } from '../../support/row-differences.js'

const noted: Table = {
  name: 'noted',
  columns: { conversation_id: 'text', revision: 'int8', text: 'text' },
  key: ['conversation_id', 'revision'],
  indexes: ['(text)'],
}
/** A projection with a row for each message, with its id or the result of `answer`. */
const notes = (answer?: (text: string) => string, version = 1): Projection =>
  silent(
    'notes',
    [noted],
    {
      MessageAppended: (event) => [
        {
          op: 'put',
          table: 'noted',
          row: {
            conversation_id: event.stream.slice('conversation-'.length),
            revision: event.revision,
            text: answer?.(event.data.messageId) ?? event.data.messageId,
          },
        },
      ],
    },
    version,
  )

const messages = (count: number, from = 0): Event[] =>
  Array.from({ length: count }, (_, number) => message(`m${String(from + number)}`))

describeOnDatabases('runner', (database) => {
  let db: Database
  let store: EventStore
  beforeEach(async () => {
    db = await database.fresh()
    store = createMemoryEventStore()
  })
  const runner = (options: Partial<RunnerOptions> = {}): ProjectionRunner =>
    createProjectionRunner({ db, store, decode: decodeStored, projections: [notes()], ...options })
  const texts = async (): Promise<unknown[]> => (await rowsOf(db, notes()))['noted']?.map((row) => row['text']) ?? []

  test('it continues from the checkpoint, and the checkpoint moves even if no event matches', async () => {
    const one = runner()
    expect(await one.catchUp()).toBe(-1)
    await record(store, 'a', [configured(), ...messages(3)])
    expect(await one.catchUp()).toBe(3)
    await appended(store, 'prompt-x', eventsFor('prompt-x', [promptRegistered()]).events)
    expect(await runner().catchUp()).toBe(4)
    expect(await texts()).toEqual(['m0', 'm1', 'm2'])
    expect(await one.status()).toMatchObject([
      { name: 'notes', version: 1, generation: 1, position: 4, head: 4, lagEvents: 0, state: 'idle' },
    ])
  })

  test('`until` applies no more than the batch that contains it', async () => {
    await record(store, 'a', messages(10))
    expect(await runner({ batchSize: 2 }).catchUp(4)).toBe(5)
    expect(await texts()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5'])
  })

  test('batches begin small and double, and only one batch is read ahead while another is written', async () => {
    await record(store, 'a', messages(5_000))
    let read = 0
    const progress: { readonly applied: number; readonly read: number }[] = []
    let applied = 0
    await runner({
      batchSize: 2_500,
      store: {
        ...store,
        async *readAll(options) {
          for await (const event of store.readAll(options)) {
            read += 1
            yield event
          }
        },
      },
      onApplied: (_projection, _partition, events) => {
        applied += events
        progress.push({ applied, read })
      },
    }).catchUp()
    expect(progress.map((each) => each.applied)).toEqual([1_000, 3_000, 5_000])
    // No event of the third batch was read before the first batch was written.
    expect(progress[0]?.read).toBeLessThanOrEqual(3_000)
    expect(progress[0]?.read).toBeGreaterThan(1_000)
    expect(await texts()).toHaveLength(5_000)
  })

  test('several concurrent runners apply every event exactly once', async () => {
    await record(store, 'a', messages(300))
    // The trigger counts every write, also a repeated write of the same row.
    const first = runner({ batchSize: 7 })
    await first.catchUp(-1)
    await db.script(`
      create table written (text text);
      create function count_written() returns trigger language plpgsql as $$ begin insert into written values (new.text); return new; end $$;
      create trigger counted after insert or update on noted_g1 for each row execute function count_written()`)
    const all = [first, runner({ batchSize: 3 }), runner({ batchSize: 5 }), runner({ batchSize: 11 })]
    await Promise.all(all.map((one) => one.catchUp()))
    const [written] = await db.query<{ rows: string; distinct: string }>(
      'select count(*) as rows, count(distinct text) as distinct from written',
    )
    expect(written).toEqual({ rows: '300', distinct: '300' })
    expect(await texts()).toHaveLength(300)
  })

  test('a failure within a transaction changes neither rows nor checkpoint', async () => {
    await record(store, 'a', everyEvent)
    let statements = 0
    // Simulates a broken connection at each statement in turn, until a pass succeeds.
    for (let failAt = 1; ; failAt += 1) {
      statements = 0
      const failing: Database = {
        ...db,
        transaction: (work) =>
          db.transaction((sql: Sql) =>
            work({
              ...sql,
              async query(text, values) {
                statements += 1
                if (statements === failAt) throw new Error('the connection broke')
                return await sql.query(text, values)
              },
            }),
          ),
      }
      const result = await runner({ db: failing, projections, batchSize: 4 })
        .catchUp()
        .then(
          () => 'done',
          (error: unknown) => String(error),
        )
      expect(await rowDifferences(db, projections, 'a', await recorded('a', everyEvent))).toEqual([])
      if (result === 'done') break
      expect(result).toBe('Error: the connection broke')
    }
    expect(statements).toBeGreaterThan(0)
    expect(await rowDifferences(db, projections, 'a', await recorded('a', everyEvent))).toEqual([])
  })

  test('an event of an unknown type stops its conversation right before it, and is reported; all others continue', async () => {
    await record(store, 'a', messages(5))
    await appended(store, 'conversation-a', [eventNamed('odd')])
    await record(store, 'b', messages(2))
    const reported: string[] = []
    const one = runner({ onStop: (name, { reason }) => reported.push(`${name} ${reason}`) })
    expect(await one.catchUp()).toBe(7)
    expect(await texts()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm0', 'm1'])
    expect(await one.status()).toMatchObject([
      {
        position: 7,
        lagEvents: 0,
        state: 'idle',
        stopped: [{ conversationId: 'a', stream: 'conversation-a', position: 5, revision: 5, type: 'Noted' }],
      },
    ])
    await expect(one.waitFor(7, 60_000, { conversationId: 'a' })).rejects.toMatchObject({ kind: 'ProjectionStopped' })
    await expect(one.waitFor(7, 60_000, { conversationId: 'a' })).rejects.toThrow(
      'notes cannot apply Noted at revision 5 of conversation-a',
    )
    expect(await one.waitFor(4, 0, { conversationId: 'a' })).toBe(true)
    expect(await one.waitFor(7, 0, { conversationId: 'b' })).toBe(true)
    expect(await one.waitFor(7, 0)).toBe(true)

    // Every runner skips later events of the stopped conversation, and applies those of others.
    await appended(store, 'conversation-a', eventsFor('conversation-a', messages(1, 6), 6).events)
    await appended(store, 'conversation-b', eventsFor('conversation-b', messages(1, 2), 2).events)
    expect(await runner().catchUp()).toBe(9)
    expect(await texts()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm0', 'm1', 'm2'])
    expect(reported).toEqual([expect.stringContaining('notes cannot apply Noted at revision 5 of conversation-a')])
  })

  test.each([
    [
      'a handler that throws',
      () => {
        throw new Error('it is odd')
      },
    ],
    ['a text that cannot be stored', () => 'nul \0'],
    // An index entry has at most 2,704 bytes, compressed.
    ['a row that the database refuses', () => Array.from({ length: 4_000 }, () => Math.random().toString(36)).join('')],
  ])(
    '%s stops its conversation in one projection; all else continues, and a restart retries it',
    async (_case, answer) => {
      await record(store, 'a', messages(20))
      await record(store, 'b', messages(40))
      await appended(store, 'conversation-a', eventsFor('conversation-a', messages(20, 20), 20).events)
      const odd = silent('notes', [noted], {
        MessageAppended: (event) => {
          const { messageId } = event.data
          return [
            {
              op: 'put',
              table: 'noted',
              row: {
                conversation_id: event.stream.slice('conversation-'.length),
                revision: event.revision,
                text: event.stream === 'conversation-a' && messageId === 'm17' ? answer() : messageId,
              },
            },
          ]
        },
      })
      const second: Projection = {
        ...notes(),
        name: 'other',
        tables: [{ ...noted, name: 'noted_too', indexes: [] }],
        handlers: {
          ...notes().handlers,
          MessageAppended: (event) => [
            {
              op: 'put',
              table: 'noted_too',
              row: { conversation_id: event.stream, revision: event.revision, text: event.data.messageId },
            },
          ],
        },
      }
      const one = runner({ projections: [odd, second], batchSize: 16 })
      expect(await one.catchUp()).toBe(79)
      expect(await texts()).toHaveLength(17 + 40)
      expect(await one.status()).toMatchObject([
        {
          name: 'notes',
          position: 79,
          stopped: [
            {
              conversationId: 'a',
              position: 17,
              reason: expect.stringContaining('cannot apply MessageAppended at revision 17 of conversation-a'),
            },
          ],
        },
        { name: 'other', position: 79, stopped: [] },
      ])
      const restarted = runner({ projections: [notes(), second] })
      await restarted.catchUp()
      expect(await texts()).toHaveLength(80)
      expect(await restarted.status()).toMatchObject([{ stopped: [] }, { stopped: [] }])
    },
  )

  test('the lag of rows that were never built is the whole log', async () => {
    await record(store, 'a', messages(3))
    expect(await runner().status()).toMatchObject([{ position: -1, lagEvents: 3, state: 'idle', partitions: [] }])
  })

  test('it continues after another runner has rebuilt or completed a stopped conversation', async () => {
    await record(store, 'a', messages(3))
    const one = runner({ projections: [notes((text) => (text === 'm1' || text === 'm5' ? 'nul \0' : text))] })
    const nextMessage = async (number: number): Promise<void> => {
      const { position } = await appended(
        store,
        'conversation-a',
        eventsFor('conversation-a', messages(1, number), number).events,
      )
      expect(await one.waitFor(position, 5_000, { conversationId: 'a' })).toBe(true)
    }
    one.start()
    try {
      await expect(one.waitFor(2, 5_000, { conversationId: 'a' })).rejects.toThrow(
        'cannot apply MessageAppended at revision 1',
      )
      await runner().rebuild('all')
      expect(await one.status()).toMatchObject([{ state: 'following', position: 2, stopped: [] }])
      await nextMessage(3)
      await appended(store, 'conversation-a', eventsFor('conversation-a', messages(2, 4), 4).events)
      await expect(one.waitFor(5, 5_000, { conversationId: 'a' })).rejects.toThrow(
        'cannot apply MessageAppended at revision 5',
      )
      // Another runner completes the conversation. This one, for which it is still stopped, must not skip later events.
      await runner().catchUp()
      await nextMessage(6)
      expect(await texts()).toEqual(messages(7).map((_, number) => `m${String(number)}`))
    } finally {
      await one.stop()
    }
  })

  test('it follows the log, and after `waitFor` the rows of a position are visible', async () => {
    const one = runner({ intervalMs: 60_000 })
    one.start()
    try {
      for (let number = 0; number < 5; number += 1) {
        const { position } = await appended(
          store,
          'conversation-a',
          eventsFor('conversation-a', messages(1, number), number).events,
        )
        expect(await one.waitFor(position, 5_000)).toBe(true)
        expect(await texts()).toHaveLength(number + 1)
      }
      expect(await one.waitFor(100, 60)).toBe(false)
      expect(await one.status()).toMatchObject([{ state: 'following', lagEvents: 0 }])
    } finally {
      await one.stop()
    }
    expect(await one.status()).toMatchObject([{ state: 'idle' }])
  })

  test('while it follows the log, events of a burst are applied together', async () => {
    let transactions = 0
    const counting: Database = {
      ...db,
      transaction: async (work) => {
        transactions += 1
        return await db.transaction(work)
      },
    }
    const one = runner({ db: counting, intervalMs: 100 })
    one.start()
    try {
      await appended(store, 'conversation-a', eventsFor('conversation-a', messages(1)).events)
      expect(await one.waitFor(0, 5_000)).toBe(true)
      transactions = 0
      for (let number = 1; number <= 100; number += 1)
        await appended(store, 'conversation-a', eventsFor('conversation-a', messages(1, number), number).events)
      while ((await one.status())[0]?.lagEvents !== 0) await new Promise((resolve) => setTimeout(resolve, 10))
      expect(await texts()).toHaveLength(101)
      expect(transactions).toBeLessThan(20)
    } finally {
      await one.stop()
    }
  })

  test('it retries after a failure of the database', async () => {
    let broken = true
    const failures: unknown[] = []
    const flaky: Database = {
      ...db,
      transaction: async (work) => {
        if (broken) throw new Error('no connection')
        return await db.transaction(work)
      },
    }
    await record(store, 'a', messages(3))
    const one = runner({
      db: flaky,
      onFailure: (failure) => {
        failures.push(failure)
        broken = false
      },
    })
    one.start()
    try {
      expect(await one.waitFor(2, 10_000)).toBe(true)
      expect(failures).toHaveLength(1)
    } finally {
      await one.stop()
    }
  })

  test('it rebuilds rows of an older version, and does not change rows of a newer one', async () => {
    await record(store, 'a', messages(3))
    await runner().catchUp()
    const newer = notes((text) => `new ${text}`, 2)
    const one = runner({ projections: [newer] })
    one.start()
    try {
      while ((await one.status())[0]?.version !== 2) await new Promise((resolve) => setTimeout(resolve, 10))
      expect(await texts()).toEqual(['new m0', 'new m1', 'new m2'])
      const { position } = await appended(store, 'conversation-b', eventsFor('conversation-b', messages(1)).events)
      expect(await one.waitFor(position, 5_000)).toBe(true)
      expect(await texts()).toEqual(['new m0', 'new m1', 'new m2', 'new m0'])
    } finally {
      await one.stop()
    }
    const old = runner()
    await expect(old.catchUp()).rejects.toThrow('rows of version 2, which is newer')
    expect(await texts()).toHaveLength(4)
    expect(await old.status()).toMatchObject([{ version: 2, state: 'stopped' }])
  })

  test('further rows are folded while the database compares earlier ones', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const check = createRowCheck({
      db: {
        ...db,
        async snapshot(tables, work) {
          await released
          return await db.snapshot(tables, work)
        },
      },
      projections,
      everyConversation: false,
      async *eventsFrom() {
        yield* await Promise.resolve([])
      },
      catchUp: () => Promise.resolve(),
    })
    check.begin('a')
    const events = await recorded('a', messages(4_000))
    const fullAt = events.findIndex((event) => check.take(event))
    expect(fullAt).toBeGreaterThan(0)
    await check.compare()
    const next = events.slice(fullAt + 1, fullAt + 301)
    expect(next).toHaveLength(300)
    expect(next.filter((event) => check.take(event))).toEqual([])
    release()
    check.end(false)
    await check.finish()
  })

  describe('comparing the rows of all conversations', () => {
    const ids = ['a', 'b', 'd']
    const found = async (): Promise<readonly string[]> => {
      const check = createRowCheck({
        db,
        projections,
        everyConversation: true,
        async *eventsFrom(id, lastRevision) {
          if (ids.includes(id))
            yield* (await recorded(id, everyEvent)).filter((event) => event.revision > lastRevision(event.stream))
        },
        catchUp: () => Promise.resolve(),
      })
      const differences: RowDifference[] = []
      for (const id of ids) {
        check.begin(id)
        for (const event of await recorded(id, everyEvent)) check.take(event)
        check.end(true)
        differences.push(...(await check.compare()))
      }
      return [...differences, ...(await check.finish())].map(
        ({ conversationId, detail }) => `${conversationId}: ${detail}`,
      )
    }
    const insertUnexpected = async (many: number): Promise<void> => {
      await db.script(
        `insert into live_messages_g1 (conversation_id, message_id, revision) select 'c', 'ghost ' || n, n from generate_series(1, ${String(many)}) n`,
      )
    }
    const C = 'c: live-messages, table live_messages has rows of conversation-c, which is not in the log'

    beforeEach(async () => {
      for (const id of ids) await record(store, id, everyEvent)
      await runner({ projections }).catchUp()
    })

    test('finds changed and missing rows', async () => {
      expect(await found()).toEqual([])
      await db.script(`
        update live_messages_g1 set tokens = 999 where message_id = 'm5' and conversation_id = 'b';
        delete from live_messages_g1 where message_id = 'm5' and conversation_id = 'd'`)
      expect(await found()).toEqual([
        'b: live-messages, table live_messages: the row {"conversation_id":"b","message_id":"m5"} is different (tokens)',
        'd: live-messages, table live_messages: the row {"conversation_id":"d","message_id":"m5"} is missing',
      ])
    })

    test.each([1, 500])('finds %s rows of a conversation that is not in the log', async (many) => {
      await insertUnexpected(many)
      expect(await found()).toEqual([C])
    })

    test('finds an unexpected row', async () => {
      await db.script(`insert into live_messages_g1 (conversation_id, message_id, revision) values ('b', 'ghost', 7)`)
      expect(await found()).toEqual([
        expect.stringMatching(/^b: live-messages, table live_messages: the row .*ghost.* is unexpected$/u),
      ])
    })
  })

  test('differences are described with table and key', async () => {
    await record(store, 'a', everyEvent)
    await runner({ projections }).catchUp()
    await db.script(`
      update live_messages_g1 set tokens = 999 where message_id = 'm5';
      delete from batches_g1 where batch_id = 'b2';
      insert into archive_conversations_g1 select conversation_id, scope from archive_conversations_g1 where false;
      insert into live_messages_g1 (conversation_id, message_id, revision) values ('a', 'ghost', 7)`)
    expect(await rowDifferences(db, projections, 'a', await recorded('a', everyEvent))).toEqual([
      'live-messages, table live_messages: the row {"conversation_id":"a","message_id":"m5"} is different (tokens)',
      'live-messages, table live_messages: the row {"conversation_id":"a","message_id":"ghost"} is unexpected',
      'clip-archive, table batches: the row {"conversation_id":"a","batch_id":"b2"} is missing',
    ])
  })
})
