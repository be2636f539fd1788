/**
 * Row changes applied in memory: the expected rows (`createFold`, `foldRows`), and the net effect of many changes
 * (`createChangeCollector`, `coalesce`).
 *
 * `verify` compares the stored rows with the former. The writer sends the latter, so that a message which is added and
 * removed within one batch needs no statement.
 */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { Cell, ColumnType, Projection, Row, RowChange, Table } from './projection.js'
import { changesOf } from './projection.js'

/** Encodes a row's key as text: each cell with its length, so that different keys never get the same text. */
export function rowKey(table: Table, row: Row): string {
  let key = ''
  for (const column of table.key) {
    const cell = row[column]
    if (cell === undefined || cell === null)
      throw new Error(`A row of ${table.name} has no value for its key column ${column}.`)
    const text = String(cell)
    key += `${String(text.length)}:${text}`
  }
  return key
}

/**
 * The net effect of several changes to one row. A patch after a `put` becomes part of the put; a patch after a `delete`
 * has no effect.
 */
export type NetChange =
  | { readonly op: 'put'; readonly row: Row }
  | { readonly op: 'patch'; readonly key: Row; readonly set: Row }
  | { readonly op: 'delete'; readonly key: Row }

function merged(before: NetChange | undefined, change: RowChange): NetChange {
  if (change.op === 'put') return { op: 'put', row: change.row }
  if (change.op === 'delete') return { op: 'delete', key: change.key }
  if (before === undefined) return { op: 'patch', key: change.key, set: change.set }
  if (before.op === 'put') return { op: 'put', row: { ...before.row, ...change.set } }
  if (before.op === 'patch') return { op: 'patch', key: before.key, set: { ...before.set, ...change.set } }
  return before
}

/** The net effect of changes, by table and key. */
export type NetChanges = ReadonlyMap<string, ReadonlyMap<string, NetChange>>

const named = (tables: readonly Table[]): ReadonlyMap<string, Table> =>
  new Map(tables.map((table) => [table.name, table]))

function tableOf(tables: ReadonlyMap<string, Table>, name: string): Table {
  const table = tables.get(name)
  if (table === undefined) throw new Error(`There is no table ${name} in this projection.`)
  return table
}

/** Collects changes in their order, at most one for each row. The changes of one call are added all or none. */
export function createChangeCollector(tables: readonly Table[]): {
  add(added: readonly RowChange[]): void
  readonly changes: NetChanges
} {
  const byName = named(tables)
  const changes = new Map<string, Map<string, NetChange>>()
  return {
    changes,
    add(added) {
      // Computes all keys first, so that a change without a key throws before anything is added.
      const keys: string[] = []
      for (const change of added)
        keys.push(rowKey(tableOf(byName, change.table), change.op === 'put' ? change.row : change.key))
      let at = 0
      for (const change of added) {
        let rows = changes.get(change.table)
        if (rows === undefined) changes.set(change.table, (rows = new Map<string, NetChange>()))
        const key = keys[at] ?? ''
        rows.set(key, merged(rows.get(key), change))
        at += 1
      }
    },
  }
}

/** Merges changes into their net effect. */
export function coalesce(tables: readonly Table[], changes: Iterable<RowChange>): NetChanges {
  const collector = createChangeCollector(tables)
  collector.add([...changes])
  return collector.changes
}

/** A key cell in comparable form: a database returns a large number as text. */
function comparable(type: ColumnType | undefined, cell: Cell | undefined): string | number {
  return type === 'int8' || type === 'int4' || type === 'float8' ? Number(cell) : String(cell)
}

/** Sorts rows by key, by code units and numbers: the same order on every machine, unlike a database's collation. */
export function inKeyOrder(table: Table, rows: Iterable<Row>): Row[] {
  return [...rows].toSorted((a, b) => {
    for (const column of table.key) {
      const [left, right] = [comparable(table.columns[column], a[column]), comparable(table.columns[column], b[column])]
      if (left !== right) return left < right ? -1 : 1
    }
    return 0
  })
}

export interface Fold {
  apply(changes: Iterable<RowChange>): void
  /** The rows of a table in the order of their key. Each has every column; a column without a value is null. */
  rows(table: string): Row[]
}

/** The rows of these tables, kept in memory. */
export function createFold(tables: readonly Table[]): Fold {
  const byName = named(tables)
  const rowsByTable = new Map<string, Map<string, Row>>(tables.map((table) => [table.name, new Map<string, Row>()]))

  return {
    apply(changes) {
      for (const change of changes) {
        const table = tableOf(byName, change.table)
        const rows = rowsByTable.get(change.table) ?? new Map<string, Row>()
        const key = rowKey(table, change.op === 'put' ? change.row : change.key)
        const before = rows.get(key)
        if (change.op === 'delete') rows.delete(key)
        else if (change.op === 'put') {
          requireKnownColumns(table, change.row)
          rows.set(
            key,
            Object.fromEntries(Object.keys(table.columns).map((column) => [column, change.row[column] ?? null])),
          )
        } else if (before !== undefined) rows.set(key, { ...before, ...requireKnownColumns(table, change.set) })
      }
    },
    rows: (name) => inKeyOrder(tableOf(byName, name), rowsByTable.get(name)?.values() ?? []),
  }
}

function requireKnownColumns(table: Table, cells: Row): Row {
  const unknown = Object.keys(cells).find((column) => !Object.hasOwn(table.columns, column))
  if (unknown !== undefined) throw new Error(`There is no column ${unknown} in ${table.name}.`)
  return cells
}

/** The rows that a projection must have after these events, which are in the order in which they were recorded. */
export function foldRows(projection: Projection, events: Iterable<RecordedEvent>): ReadonlyMap<string, readonly Row[]> {
  const fold = createFold(projection.tables)
  for (const event of events) fold.apply(changesOf(projection, event))
  return new Map(projection.tables.map((table) => [table.name, fold.rows(table.name)]))
}
