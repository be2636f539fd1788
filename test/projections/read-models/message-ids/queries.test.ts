/** The index of event ids: its results, the position that it covers, and a store that uses it. */
import { beforeEach, expect, test } from '@jest/globals'
import { projections, projectionsFor } from '../../../../projections/index.js'
import { messageIdsProjection } from '../../../../projections/read-models/message-ids/projection.js'
import { createEventIdIndex } from '../../../../projections/read-models/message-ids/queries.js'
import { createProjectionRunner } from '../../../../projections/engine/runner.js'
import { createMemoryEventStore } from '../../../../src/adapters/memory/event-store.js'
import { conversationStream } from '../../../../src/domain/values/ids.js'
import type { EventStore } from '../../../../src/ports/event-store.js'
import type { Database } from '../../../../src/ports/sql.js'
import { decodeStored } from '../../../support/builders.js'
import { everyEvent } from '../../../support/conversation-story.js'
import { collect, eventNamed } from '../../../support/events.js'
import { describeOnDatabases, record } from '../../../support/projections.js'

describeOnDatabases('index of event ids', (database) => {
  let db: Database
  let store: EventStore
  beforeEach(async () => {
    db = await database.fresh()
    store = createMemoryEventStore()
  })

  const catchUp = async (): Promise<void> => {
    await createProjectionRunner({ db, store, decode: decodeStored, projections: [messageIdsProjection] }).catchUp()
  }

  test('it covers nothing before events were applied', async () => {
    expect(await createEventIdIndex(db).find(conversationStream('a'), [eventNamed('x').id])).toEqual({
      revisions: [],
      upTo: -1,
    })
  })

  test('it returns the revisions of messages, in order, and the position that it covers', async () => {
    await record(store, 'a', everyEvent)
    await record(store, 'b', everyEvent)
    await catchUp()
    const stored = await collect(store.readStream(conversationStream('a')))
    const messages = stored.filter((event) => event.type === 'MessageAppended')
    const index = createEventIdIndex(db)
    const head = await store.head()
    expect(messages.length).toBeGreaterThan(1)
    expect(
      await index.find(
        conversationStream('a'),
        stored.toReversed().map((event) => event.id),
      ),
    ).toEqual({ revisions: messages.map((event) => event.revision), upTo: head })
    expect(await index.find(conversationStream('a'), [messages[1]?.id ?? '', eventNamed('unknown').id])).toEqual({
      revisions: [messages[1]?.revision],
      upTo: head,
    })
    expect(
      await index.find(
        conversationStream('c'),
        messages.map((event) => event.id),
      ),
    ).toEqual({ revisions: [], upTo: head })
    expect(await index.find(conversationStream('a'), [])).toEqual({ revisions: [], upTo: head })
  })

  test('it returns its position while it lags, and covers no streams other than conversations', async () => {
    await record(store, 'a', everyEvent)
    await catchUp()
    const before = await store.head()
    await record(store, 'b', everyEvent)
    const messages = (await collect(store.readStream(conversationStream('b')))).filter(
      (event) => event.type === 'MessageAppended',
    )
    const index = createEventIdIndex(db)
    expect(
      await index.find(
        conversationStream('b'),
        messages.map((event) => event.id),
      ),
    ).toEqual({ revisions: [], upTo: before })
    expect(
      await index.find(
        'prompt-x',
        messages.map((event) => event.id),
      ),
    ).toEqual({ revisions: [], upTo: -1 })
  })

  test('with several partitions it covers the position of the slowest', async () => {
    await record(store, 'a', everyEvent)
    await catchUp()
    await db.query(
      `insert into projection_checkpoints (name, generation, version, position, state, tables, partition, partitions) select name, generation, version, 3, state, tables, 1, 2 from projection_checkpoints where name = 'message-ids'`,
    )
    expect(await createEventIdIndex(db).find(conversationStream('a'), [])).toMatchObject({ upTo: 3 })
  })
})

test('a log that recognizes every id does not have this read model', () => {
  expect(projectionsFor({ recognizes: 'always' })).toEqual(projections)
  expect(projectionsFor({ recognizes: 'at-its-revision' })).toEqual([...projections, messageIdsProjection])
})
