/** Row changes give the same rows written together, written one by one, and folded in memory. */
import { beforeEach, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import type { Database, Sql } from '../../../src/ports/sql.js'
import { coalesce, createFold, createChangeCollector } from '../../../projections/engine/fold.js'
import { changesOf, type Row, type RowChange, type Table } from '../../../projections/engine/projection.js'
import {
  createTables,
  pointViews,
  statementLimits,
  writeChanges,
  writeNetChanges,
} from '../../../projections/engine/store.js'
import { appended as message, recorded } from '../../support/builders.js'
import { describeOnDatabases, rowsOf, silent } from '../../support/projections.js'
import { longTest, runsOf } from '../../support/length.js'

const things: Table = {
  name: 'things',
  columns: {
    conversation_id: 'text',
    place: 'int8',
    words: 'text',
    small: 'int4',
    part: 'float8',
    yes: 'boolean',
    json: 'jsonb',
    terms: 'tsvector',
  },
  key: ['conversation_id', 'place'],
  indexes: [],
}
const names: Table = {
  name: 'names',
  columns: { conversation_id: 'text', name: 'text' },
  key: ['conversation_id', 'name'],
  indexes: [],
}
const projection = silent('things', [things, names])

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null, freq: 5 })
const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom('', 'NULL', 'null', '{}', '{"a"}', String.raw`\N`, '\\', '"', ',', ' ', "it's", '\n', '北京', '👩‍👩‍👧'),
  )
  .filter((value) => !value.includes('\0') && value.isWellFormed())
/** A row with one of these is sent in its own statement. */
const large = fc.constantFrom('"\\'.repeat(40_000), 'y\n'.repeat(40_000))
const cells = {
  words: maybe(fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: large })),
  small: maybe(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  part: maybe(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value))),
  yes: maybe(fc.boolean()),
  json: maybe(fc.constantFrom('{"a": 1}', '[]', '"text"', 'null')),
  terms: maybe(fc.constantFrom(`'a':1`, `'a':1,4 'b c':2`, '')),
}
// Few keys, so that several changes affect the same row.
const thingKey = fc.record({
  conversation_id: fc.constantFrom('a', 'b'),
  place: fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER),
})
const nameKey = fc.record({ conversation_id: fc.constantFrom('a', 'b'), name: fc.constantFrom('x', 'X', 'é', '1:x') })
const change: fc.Arbitrary<RowChange> = fc.oneof(
  fc
    .tuple(thingKey, fc.record(cells, { requiredKeys: [] }))
    .map(([key, row]): RowChange => ({ op: 'put', table: 'things', row: { ...key, ...row } })),
  fc
    .tuple(thingKey, fc.record(cells, { requiredKeys: [] }))
    .map(([key, set]): RowChange => ({ op: 'patch', table: 'things', key, set })),
  thingKey.map((key): RowChange => ({ op: 'delete', table: 'things', key })),
  nameKey.map((row): RowChange => ({ op: 'put', table: 'names', row })),
  nameKey.map((key): RowChange => ({ op: 'delete', table: 'names', key })),
)

const asText = (rows: Record<string, readonly Row[]>): unknown =>
  Object.fromEntries(
    Object.entries(rows).map(([table, all]) => [
      table,
      all.map((row) =>
        Object.fromEntries(
          // A database returns large integers as texts.
          Object.entries(row).map(([column, cell]) => [column, typeof cell === 'number' ? String(cell) : cell]),
        ),
      ),
    ]),
  )

describeOnDatabases('rows', (database) => {
  let db: Database
  beforeEach(async () => {
    db = await database.fresh()
    await createTables(db, projection, 1)
    await pointViews(db, projection, 1, [])
  })
  const empty = async (): Promise<void> => {
    await db.script('truncate things_g1, names_g1')
  }
  // As the database prints them: it normalizes a jsonb and a tsvector, in the same way for each way of writing.
  const found = async (): Promise<Record<string, Row[]>> => await rowsOf(db, projection)

  longTest('together, one by one and in memory they make the same rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 30 }),
        fc.array(fc.nat(30), { maxLength: 3 }),
        async (changes, cuts) => {
          await empty()
          for (const one of changes) await writeChanges(db, projection.tables, 1, [one])
          const oneByOne = await found()

          await empty()
          const borders = [0, ...cuts.toSorted((a, b) => a - b), changes.length]
          for (const [at, from] of borders.entries())
            await writeChanges(db, projection.tables, 1, changes.slice(from, borders[at + 1] ?? changes.length))
          expect(await found()).toEqual(oneByOne)

          const fold = createFold(projection.tables)
          fold.apply(changes)
          await empty()
          await writeChanges(
            db,
            projection.tables,
            1,
            projection.tables.flatMap((table) =>
              fold.rows(table.name).map((row): RowChange => ({ op: 'put', table: table.name, row })),
            ),
          )
          expect(await found()).toEqual(oneByOne)
          // Without columns that the database normalizes, the folded rows are equal too.
          const plain = (rows: Record<string, readonly Row[]>): unknown =>
            asText(
              Object.fromEntries(
                Object.entries(rows).map(([table, all]) => [
                  table,
                  all.map(({ json: _json, terms: _terms, ...row }) => row),
                ]),
              ),
            )
          expect(plain(await found())).toEqual(plain({ things: fold.rows('things'), names: fold.rows('names') }))
        },
      ),
      { numRuns: runsOf(40) },
    )
  })

  longTest('more rows and longer texts than the limit of a statement', async () => {
    const put = (place: number): RowChange => ({
      op: 'put',
      table: 'things',
      row: { conversation_id: 'a', place, words: `${String(place)} ${'long '.repeat(place % 300)}` },
    })
    const changes = Array.from({ length: 2_500 }, (_, place) => put(place))
    const fold = createFold(projection.tables)
    fold.apply(changes)
    // No `toEqual` of megabytes: it would print them.
    const areThere = async (): Promise<boolean> =>
      JSON.stringify((await found())['things']?.map((row) => row['words'])) ===
      JSON.stringify(fold.rows('things').map((row) => row['words']))
    const net = coalesce(projection.tables, changes)
    // About 1.9 million characters, which are one statement on a server.
    const limits = [
      { most: statementLimits({ isServer: true }), atLeast: 1, atMost: 1 },
      { most: statementLimits({ isServer: false }), atLeast: 3, atMost: 8 },
      { most: { rows: 1_000, characters: Infinity, pauses: false }, atLeast: 3, atMost: 3 },
      { most: { rows: Infinity, characters: 100_000, pauses: false }, atLeast: 15, atMost: 20 },
    ]
    for (const { most, atLeast, atMost } of limits) {
      await db.script('delete from things_g1')
      let statements = 0
      const counting: Sql = { ...db, query: (...asks) => ((statements += 1), db.query(...asks)) }
      await writeNetChanges(counting, projection.tables, 1, net, most)
      expect(await areThere()).toBe(true)
      expect(statements).toBeGreaterThanOrEqual(atLeast)
      expect(statements).toBeLessThanOrEqual(atMost)
    }
  })
})

test('the fold rejects a row without a key column, an unknown table and an unknown column', () => {
  const fold = createFold(projection.tables)
  expect(() => {
    fold.apply([{ op: 'put', table: 'names', row: { conversation_id: 'a' } }])
  }).toThrow('name')
  expect(() => {
    fold.apply([{ op: 'delete', table: 'nothing', key: {} }])
  }).toThrow('nothing')
  expect(() => {
    fold.apply([{ op: 'put', table: 'names', row: { conversation_id: 'a', name: 'x', size: 1 } }])
  }).toThrow('size')
})

test('changes of one call are collected all or none', () => {
  const collected = createChangeCollector(projection.tables)
  collected.add([{ op: 'put', table: 'names', row: { conversation_id: 'a', name: 'x' } }])
  expect(() => {
    collected.add([
      { op: 'delete', table: 'names', key: { conversation_id: 'a', name: 'x' } },
      { op: 'put', table: 'names', row: { conversation_id: 'a' } },
    ])
  }).toThrow('name')
  expect([...(collected.changes.get('names')?.values() ?? [])]).toEqual([
    { op: 'put', row: { conversation_id: 'a', name: 'x' } },
  ])
})

test.each([
  ['nul \0', 'noted.text contains NUL'],
  ['lone \ud800', 'noted.text contains a lone surrogate'],
  [1.5, 'noted.count is 1.5, which is not a safe integer'],
  [2 ** 31, 'noted.count is 2147483648, which is out of range for int4'],
])(
  'a cell that Postgres would refuse or alter (%j) is refused for its event, with the column',
  async (cell, expected) => {
    const noted: Table = {
      name: 'noted',
      columns: { conversation_id: 'text', text: 'text', count: 'int4' },
      key: ['conversation_id'],
      indexes: [],
    }
    const notes = silent('notes', [noted], {
      MessageAppended: () => [
        {
          op: 'put',
          table: 'noted',
          row: { conversation_id: 'a', ...(typeof cell === 'string' ? { text: cell } : { count: cell }) },
        },
      ],
    })
    const [event] = await recorded('a', [message('m0')])
    expect(() => (event === undefined ? [] : changesOf(notes, event))).toThrow(expected)
  },
)
