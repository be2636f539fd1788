/**
 * What readers rely on in a read model, asked of every projection with facts that make it show something:
 * twice is once, rebuilt equals live, other conversations are untouched, and the rows are what the facts say.
 */
import { beforeEach, expect, test } from '@jest/globals'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { type Fact, factSchemas } from '../../src/domain/events.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { foldRows } from '../../projections/fold.js'
import type { Projection } from '../../projections/projection.js'
import { createProjectionRunner, type ProjectionRunner } from '../../projections/runner.js'
import { decodeStored, recorded } from '../support/builders.js'
import { describeOnDatabases, record, rowsOf } from '../support/projections.js'
import { rowDifferences } from '../support/row-differences.js'

export function describeProjection(projection: Projection, facts: readonly Fact[]): void {
  describeOnDatabases(`projection ${projection.name}`, (database) => {
    let db: Database
    let store: EventStore
    beforeEach(async () => {
      db = await database.fresh()
      store = createMemoryEventStore()
    })

    const runner = (batchSize = 500): ProjectionRunner => createProjectionRunner({ db, store, decode: decodeStored, projections: [projection], batchSize })
    const rows = async (): Promise<unknown> => await rowsOf(db, projection)

    test('it has an answer for every type of fact, and every key begins with the conversation', () => {
      expect(Object.keys(projection.handlers).toSorted()).toEqual(Object.keys(factSchemas).toSorted())
      for (const table of projection.tables) {
        expect(table.key[0]).toBe('conversation_id')
        expect(Object.keys(table.columns)).toEqual(expect.arrayContaining([...table.key]))
      }
    })

    test('the rows are what the facts make in memory, with any size of batch', async () => {
      const inMemory = foldRows(projection, await recorded('a', facts))
      expect([...inMemory.values()].some((table) => table.length > 0)).toBe(true)
      for (const batchSize of [1, 3, 500]) {
        db = await database.fresh()
        store = createMemoryEventStore()
        await record(store, 'a', facts)
        await runner(batchSize).catchUp()
        expect(await rowDifferences(db, [projection], 'a', await recorded('a', facts))).toEqual([])
        expect(await db.query(`select position from projection_checkpoints where state = 'live'`)).toEqual([{ position: String(facts.length - 1) }])
      }
    })

    test('twice is once: facts that are delivered again change nothing', async () => {
      await record(store, 'a', facts)
      await runner().catchUp()
      const once = await rows()
      await runner().catchUp()
      expect(await rows()).toEqual(once)
      await db.query('update projection_checkpoints set position = -1')
      await runner(7).catchUp()
      expect(await rows()).toEqual(once)
    })

    test('rebuilt equals live', async () => {
      await record(store, 'a', facts)
      await record(store, 'b', facts.slice(0, -2))
      await runner(2).catchUp()
      const live = await rows()
      await runner().rebuild('all')
      expect(await rows()).toEqual(live)
      await runner().rebuild('all', { batchSize: 3 })
      expect(await rows()).toEqual(live)
    })

    test('other conversations are untouched', async () => {
      await record(store, 'a', facts)
      await runner().catchUp()
      const before = await rows()
      await record(store, 'b', facts)
      await runner().catchUp()
      const after = await rowsOf(db, projection)
      const ofA = Object.fromEntries(Object.entries(after).map(([table, all]) => [table, all.filter((row) => row['conversation_id'] === 'a')]))
      expect(ofA).toEqual(before)
      expect(Object.values(after).flat().some((row) => row['conversation_id'] === 'b')).toBe(true)
    })
  })
}
