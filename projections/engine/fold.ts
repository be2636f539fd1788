/**
 * Changes of rows, applied in memory: what the rows must be (`createFold`, `foldRows`), and the net effect of many
 * changes (`createNet`, `coalesce`).
 *
 * `verify` compares the SQL rows with the first; the writer sends the second, so that a message which came and left
 * within one batch costs no statement at all.
 */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { Cell, ColumnType, Projection, Row, RowChange, Table } from './projection.js'
import { changesOf } from './projection.js'

/**
 * A text that two rows share only where they share their key: the cells with their lengths, so that no two lists of
 * cells run together.
 */
export function rowKey(table: Table, row: Row): string {
  let key = ''
  for (const column of table.key) {
    const cell = row[column]
    if (cell === undefined || cell === null)
      throw new Error(`A row of ${table.name} has no ${column}, which belongs to its key.`)
    const text = String(cell)
    key += `${String(text.length)}:${text}`
  }
  return key
}

/**
 * What is left of several changes under one key. A patch is only sent where the row may be there: behind a `put` it is
 * part of it, behind a `delete` it is nothing.
 */
export type NetChange =
  | { readonly op: 'put'; readonly row: Row }
  | { readonly op: 'patch'; readonly key: Row; readonly set: Row }
  | { readonly op: 'delete'; readonly key: Row }

function joined(before: NetChange | undefined, change: RowChange): NetChange {
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

/**
 * Collects changes, in the order in which they happened, as at most one change a row; those that are added together are
 * added all or not at all.
 */
export function createNet(tables: readonly Table[]): {
  add(changes: readonly RowChange[]): void
  readonly net: NetChanges
} {
  const byName = named(tables)
  const net = new Map<string, Map<string, NetChange>>()
  return {
    net,
    add(changes) {
      // All keys first: changes of which one has none leave nothing behind.
      const keys: string[] = []
      for (const change of changes)
        keys.push(rowKey(tableOf(byName, change.table), change.op === 'put' ? change.row : change.key))
      let at = 0
      for (const change of changes) {
        let rows = net.get(change.table)
        if (rows === undefined) net.set(change.table, (rows = new Map<string, NetChange>()))
        const key = keys[at] ?? ''
        rows.set(key, joined(rows.get(key), change))
        at += 1
      }
    },
  }
}

/** Many changes as their net effect. */
export function coalesce(tables: readonly Table[], changes: Iterable<RowChange>): NetChanges {
  const collected = createNet(tables)
  collected.add([...changes])
  return collected.net
}

/** A cell of a key so that it compares: a large number comes back from a database as text. */
function comparable(type: ColumnType | undefined, cell: Cell | undefined): string | number | bigint {
  if (type === 'int8') return BigInt(String(cell))
  return type === 'int4' || type === 'float8' ? Number(cell) : String(cell)
}

/**
 * Rows in the order of their key, by code units and numbers: the same on every machine, where a database goes by its
 * collation.
 */
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
  /** The rows of a table in the order of their key; each has every column, null where nothing was said. */
  rows(table: string): Row[]
}

/** The rows of these tables, kept in memory. */
export function createFold(tables: readonly Table[]): Fold {
  const byName = named(tables)
  const kept = new Map<string, Map<string, Row>>(tables.map((table) => [table.name, new Map<string, Row>()]))

  return {
    apply(changes) {
      for (const change of changes) {
        const table = tableOf(byName, change.table)
        const rows = kept.get(change.table) ?? new Map<string, Row>()
        const key = rowKey(table, change.op === 'put' ? change.row : change.key)
        const before = rows.get(key)
        if (change.op === 'delete') rows.delete(key)
        else if (change.op === 'put') {
          checked(table, change.row)
          rows.set(
            key,
            Object.fromEntries(Object.keys(table.columns).map((column) => [column, change.row[column] ?? null])),
          )
        } else if (before !== undefined) rows.set(key, { ...before, ...checked(table, change.set) })
      }
    },
    rows: (name) => inKeyOrder(tableOf(byName, name), kept.get(name)?.values() ?? []),
  }
}

function checked(table: Table, cells: Row): Row {
  const unknown = Object.keys(cells).find((column) => !Object.hasOwn(table.columns, column))
  if (unknown !== undefined) throw new Error(`There is no column ${unknown} in ${table.name}.`)
  return cells
}

/** What a projection's rows must be after these facts, in the order in which they were recorded. */
export function foldRows(projection: Projection, events: Iterable<RecordedEvent>): ReadonlyMap<string, readonly Row[]> {
  const fold = createFold(projection.tables)
  for (const event of events) fold.apply(changesOf(projection, event))
  return new Map(projection.tables.map((table) => [table.name, fold.rows(table.name)]))
}
