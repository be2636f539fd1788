/**
 * The contract of a read model, tested for every projection with events that create rows: applying events twice changes
 * nothing, a rebuild equals the live rows, other conversations are unchanged, and the rows follow from the events.
 */
import { beforeEach, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { foldRows } from '../../projections/engine/fold.js'
import type { Projection } from '../../projections/engine/projection.js'
import { createProjectionRunner, type ProjectionRunner } from '../../projections/engine/runner.js'
import { decodeStored } from '../support/builders.js'
import { editionHistory, editionSteps, everyStep, projectedEvents } from '../support/edition-history.js'
import { CONVERSATION } from '../support/harness.js'
import { describeOnDatabases, recordParts, rowsOf, type Part } from '../support/projections.js'
import { rowDifferences } from '../support/row-differences.js'
import { isLong, runsOf } from '../support/length.js'

/** @param parts what the conversation and its editions record */
export function describeProjection(projection: Projection, parts: readonly Part[]): void {
  describeOnDatabases(`projection ${projection.name}`, (database) => {
    let db: Database
    let store: EventStore
    beforeEach(async () => {
      db = await database.fresh()
      store = createMemoryEventStore()
    })

    const runner = (batchSize = 500): ProjectionRunner =>
      createProjectionRunner({ db, store, decode: decodeStored, projections: [projection], batchSize })
    const rows = async (): Promise<unknown> => await rowsOf(db, projection)

    test('every key begins with the conversation', () => {
      for (const table of projection.tables) {
        expect(table.key[0]).toBe('conversation_id')
        expect(Object.keys(table.columns)).toEqual(expect.arrayContaining([...table.key]))
      }
    })

    test('the rows equal those that the events make in memory, with any batch size', async () => {
      for (const batchSize of isLong ? [1, 3, 500] : [3]) {
        db = await database.fresh()
        store = createMemoryEventStore()
        await recordParts(store, 'a', parts)
        await runner(batchSize).catchUp()
        const events = await projectedEvents(store, 'a')
        expect([...foldRows(projection, events).values()].some((table) => table.length > 0)).toBe(true)
        expect(await rowDifferences(db, [projection], 'a', events)).toEqual([])
        expect(await db.query(`select position from projection_checkpoints where state = 'live'`)).toEqual([
          { position: String(events.length - 1) },
        ])
      }
    })

    test('events that are delivered twice change nothing', async () => {
      await recordParts(store, 'a', parts)
      await runner().catchUp()
      const once = await rows()
      await runner().catchUp()
      expect(await rows()).toEqual(once)
      await db.query('update projection_checkpoints set position = -1')
      await runner(7).catchUp()
      expect(await rows()).toEqual(once)
    })

    test('a rebuild equals the live rows', async () => {
      await recordParts(store, 'a', parts)
      await recordParts(store, 'b', parts.slice(0, -1))
      await runner(2).catchUp()
      const live = await rows()
      await runner().rebuild('all')
      expect(await rows()).toEqual(live)
      await runner().rebuild('all', { batchSize: 3 })
      expect(await rows()).toEqual(live)
    })

    test('other conversations are unchanged', async () => {
      await recordParts(store, 'a', parts)
      await runner().catchUp()
      const before = await rows()
      await recordParts(store, 'b', parts)
      await runner().catchUp()
      const after = await rowsOf(db, projection)
      const ofA = Object.fromEntries(
        Object.entries(after).map(([table, all]) => [table, all.filter((row) => row['conversation_id'] === 'a')]),
      )
      expect(ofA).toEqual(before)
      expect(
        Object.values(after)
          .flat()
          .some((row) => row['conversation_id'] === 'b'),
      ).toBe(true)
    })
  })
}

/**
 * The same for all projections together, after histories in which editions are made, adopted, reverted and dropped, and
 * cycles are undone.
 */
export function describeProjectionsAfterHistories(projections: readonly Projection[]): void {
  describeOnDatabases('projections after any history', (database) => {
    test('events delivered twice change nothing, a rebuild equals the live rows, and the rows follow from the events, with any number of partitions', async () => {
      const types = new Set<string>()
      await fc.assert(
        fc.asyncProperty(
          editionSteps,
          fc.integer({ min: 1, max: 60 }),
          fc.integer({ min: 1, max: 4 }),
          async (steps, batchSize, partitions) => {
            const db = await database.fresh()
            const { store } = await editionHistory(steps)
            const runner = (): ProjectionRunner =>
              createProjectionRunner({ db, store, decode: decodeStored, projections, batchSize, partitions })
            const rows = async (): Promise<unknown> =>
              await Promise.all(projections.map((projection) => rowsOf(db, projection)))
            await runner().catchUp()
            const once = await rows()
            const events = await projectedEvents(store, CONVERSATION)
            for (const { type } of events) types.add(type)
            expect(await rowDifferences(db, projections, CONVERSATION, events)).toEqual([])
            expect(await db.query('select distinct position from projection_checkpoints')).toEqual([
              { position: String(await store.head()) },
            ])
            await db.query('update projection_checkpoints set position = -1')
            await runner().catchUp()
            expect(await rows()).toEqual(once)
            await runner().rebuild('all', { batchSize: batchSize + 3 })
            expect(await rows()).toEqual(once)
          },
        ),
        { numRuns: runsOf(6), examples: [[everyStep, 7, 3]] },
      )
      for (const type of ['EditionAdopted', 'EditionReverted', 'CycleUndone', 'EditionDropped', 'EditionAdvanced'])
        expect(types).toContain(type)
    })
  })
}
