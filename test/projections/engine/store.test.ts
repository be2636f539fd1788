/** Changes of rows: written together, written one by one, and folded in memory, they make the same rows. */
import { beforeEach, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import type { Database, Sql } from '../../../src/ports/sql.js'
import { coalesce, createFold, createNet } from '../../../projections/engine/fold.js'
import { changesOf, type Row, type RowChange, type Table } from '../../../projections/engine/projection.js'
import { createTables, pointViews, statementsOf, writeChanges, writeNet } from '../../../projections/engine/store.js'
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
const cells = {
  words: maybe(text),
  small: maybe(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  part: maybe(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value))),
  yes: maybe(fc.boolean()),
  json: maybe(fc.constantFrom('{"a": 1}', '[]', '"text"', 'null')),
  terms: maybe(fc.constantFrom(`'a':1`, `'a':1,4 'b c':2`, '')),
}
// Few keys, so that changes meet.
const thingKey = fc.record({ conversation_id: fc.constantFrom('a', 'b'), place: fc.constantFrom(0n, 1n, 2n ** 62n) })
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
          Object.entries(row).map(([column, cell]) => [column, typeof cell === 'bigint' ? String(cell) : cell]),
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
  // As the database shows them: a jsonb and a tsvector come back in its own spelling, which is the same for each way of
  // writing.
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
          // Where the database has no spelling of its own, the folded rows are the very same.
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

  test('more rows and longer texts than a statement takes', async () => {
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
    // Some 1.9 million characters, which a server takes at one go.
    const asked = [
      { most: statementsOf({ isServer: true }), atLeast: 1, atMost: 1 },
      { most: statementsOf({ isServer: false }), atLeast: 3, atMost: 8 },
      { most: { rows: 1_000, characters: Infinity, pauses: false }, atLeast: 3, atMost: 3 },
      { most: { rows: Infinity, characters: 100_000, pauses: false }, atLeast: 15, atMost: 20 },
    ]
    for (const { most, atLeast, atMost } of asked) {
      await db.script('delete from things_g1')
      let statements = 0
      const counting: Sql = { ...db, query: (...asks) => ((statements += 1), db.query(...asks)) }
      await writeNet(counting, projection.tables, 1, net, most)
      expect(await areThere()).toBe(true)
      expect(statements).toBeGreaterThanOrEqual(atLeast)
      expect(statements).toBeLessThanOrEqual(atMost)
    }
  })
})

test('a row without a part of its key, an unknown table and an unknown column are mistakes that the fold names', () => {
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

test('changes that are collected together are collected all or not at all', () => {
  const collected = createNet(projection.tables)
  collected.add([{ op: 'put', table: 'names', row: { conversation_id: 'a', name: 'x' } }])
  expect(() => {
    collected.add([
      { op: 'delete', table: 'names', key: { conversation_id: 'a', name: 'x' } },
      { op: 'put', table: 'names', row: { conversation_id: 'a' } },
    ])
  }).toThrow('name')
  expect([...(collected.net.get('names')?.values() ?? [])]).toEqual([
    { op: 'put', row: { conversation_id: 'a', name: 'x' } },
  ])
})

test.each([
  ['nul \0', 'noted.text holds NUL'],
  ['lone \ud800', 'noted.text holds a lone surrogate'],
  [1.5, 'noted.count holds 1.5, which is no whole number'],
  [2 ** 31, 'noted.count holds 2147483648, which int4 cannot'],
])('a cell that Postgres would refuse or alter (%j) is refused fact by fact, with its column', async (cell, said) => {
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
  expect(() => (event === undefined ? [] : changesOf(notes, event))).toThrow(said)
})
