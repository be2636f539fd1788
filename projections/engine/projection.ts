/**
 * The contract of a read model: a name, a version, its tables, and pure handlers of event types.
 *
 * A handler turns one recorded event into row changes by key, and reads nothing. So the same code updates the rows in
 * Postgres (`runner.ts`), fills a new generation (`rebuild.ts`), and computes the expected rows in memory (`fold.ts`, for
 * `verify` and the property tests). An event type without a handler changes nothing, unless the projection
 * has an `otherHandler`. If a table or a handler changes, increment `version`; the runner then rebuilds the rows.
 */
import { LedgerError } from '../../src/lib/ledger-error.js'
import type { EventType, RecordedEvent } from '../../src/domain/events/index.js'

/**
 * The value of a cell. Times are ISO 8601 texts in UTC, which sort correctly as text. JSON is stored as text. A text
 * with NUL or a lone surrogate is refused and stops its conversation, since Postgres would refuse or alter it; pass
 * text that can contain them through `JSON.stringify`, which escapes both. A `tsvector` cell is text in the syntax of
 * that type (`'word':1,4 'other':2`).
 */
export type Cell = string | number | boolean | null

export type ColumnType = 'text' | 'int8' | 'int4' | 'float8' | 'boolean' | 'jsonb' | 'tsvector'

export interface Table {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The columns of the primary key. The first must be `conversation_id`, by which `compare.ts` finds rows. */
  readonly key: readonly string[]
  /**
   * Further indexes: the part after `create index … on <table>`, for example `(conversation_id, revision)` or
   * `using gin (terms)`. Built at the end of a rebuild.
   */
  readonly indexes: readonly string[]
  /** Columns that the index of the primary key has in addition, so that a sum over them need not read the rows. */
  readonly keyIncludes?: readonly string[]
  /**
   * If readers shall not see all rows: the view of the table has the rows that fulfil the condition `where`, and a view
   * named `all` has all rows. Default: the view of the table has all rows.
   */
  readonly visible?: { readonly where: string; readonly all: string }
}

export type Row = Readonly<Record<string, Cell>>

export type RowChange =
  /** Inserts the row or replaces the one with the same key. */
  | { readonly op: 'put'; readonly table: string; readonly row: Row }
  /** Sets cells of the row with this key, if it exists. */
  | { readonly op: 'patch'; readonly table: string; readonly key: Row; readonly set: Row }
  /** Deletes the row with this key, if it exists. */
  | { readonly op: 'delete'; readonly table: string; readonly key: Row }

type Handler<Type extends EventType> = (event: RecordedEvent<Type>) => readonly RowChange[]

export interface Projection {
  readonly name: string
  readonly version: number
  readonly tables: readonly Table[]
  readonly handlers: { readonly [Type in EventType]?: Handler<Type> }
  /** Applied to event types that have no handler of their own. */
  readonly otherHandler?: Handler<EventType>
}

const INTEGERS = { int4: [-(2 ** 31), 2 ** 31 - 1], int8: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] } as const

/** Why a column cannot store a cell; undefined if it can. */
function refusalOf(type: ColumnType, cell: Cell): string | undefined {
  if (typeof cell === 'string') {
    // Postgres refuses NUL in a text. A driver replaces a lone surrogate by U+FFFD, so that two keys could become equal.
    if (cell.includes('\0')) return 'contains NUL, which Postgres cannot store in a text'
    return cell.isWellFormed() ? undefined : 'contains a lone surrogate, which UTF-8 cannot encode'
  }
  if (cell === null || typeof cell === 'boolean' || (type !== 'int4' && type !== 'int8')) return undefined
  if (typeof cell === 'number' && !Number.isSafeInteger(cell)) return `is ${String(cell)}, which is not a safe integer`
  const [smallest, largest] = INTEGERS[type]
  return cell < smallest || cell > largest ? `is ${String(cell)}, which is out of range for ${type}` : undefined
}

function checkCells(tables: readonly Table[], name: string, row: Row): void {
  const columns = tables.find((table) => table.name === name)?.columns
  for (const column of Object.keys(row)) {
    const type = columns?.[column]
    if (type === undefined) throw new Error(`There is no column ${column} in ${name}.`)
    const refusal = refusalOf(type, row[column] ?? null)
    if (refusal !== undefined) throw new LedgerError('CellRefused', `${name}.${column} ${refusal}`)
  }
}

/**
 * The changes that an event makes to a read model. Throws if Postgres could not store them. The check runs for each
 * event, so the same event is refused in every batch, and also when rows are computed in memory.
 */
export function changesOf<Type extends EventType>(
  projection: Projection,
  event: RecordedEvent<Type>,
): readonly RowChange[] {
  const changes = (projection.handlers[event.type] ?? projection.otherHandler)?.(event) ?? []
  for (const change of changes) {
    if (change.op !== 'put') checkCells(projection.tables, change.table, change.key)
    if (change.op !== 'delete')
      checkCells(projection.tables, change.table, change.op === 'put' ? change.row : change.set)
  }
  return changes
}
