/**
 * The contract of a read model: a name, a version, its tables, and a pure answer for every type of fact.
 *
 * A handler turns one recorded fact into changes of rows that are named by their key, and reads nothing. So the same
 * code keeps the rows in Postgres (`runner.ts`), fills them anew beside the old ones (`rebuild.ts`), and computes in
 * memory what they must be (`fold.ts`, which `verify` and the laws compare with). A type that a projection does not
 * care for says 'ignore': silence is written down. A changed table or handler is `version + 1`; the runner then
 * rebuilds beside.
 */
import type { EventType, RecordedEvent } from '../../src/domain/events/index.js'

/**
 * What a cell holds. Times are ISO 8601 texts in UTC, which sort as they are; JSON is kept as the text that was given.
 * A text with NUL or a lone surrogate is refused (its conversation stops there, since Postgres would refuse or alter
 * it): text that may hold them goes through `JSON.stringify`, which escapes both. A `tsvector` cell is text in that
 * type's own syntax (`'word':1,4 'other':2`).
 */
export type Cell = string | number | bigint | boolean | null

export type ColumnType = 'text' | 'int8' | 'int4' | 'float8' | 'boolean' | 'jsonb' | 'tsvector'

export interface Table {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /**
   * The columns of the primary key; the first is `conversation_id`, by which `compare.ts` finds the rows of a
   * conversation.
   */
  readonly key: readonly string[]
  /**
   * Further indexes: what stands behind `create index … on <table>`, for example `(conversation_id, revision)` or
   * `using gin (terms)`. Built last in a rebuild.
   */
  readonly indexes: readonly string[]
}

export type Row = Readonly<Record<string, Cell>>

export type RowChange =
  /** This row is there, whatever was there under its key before. */
  | { readonly op: 'put'; readonly table: string; readonly row: Row }
  /** These cells of the row under this key change, where there is such a row. */
  | { readonly op: 'patch'; readonly table: string; readonly key: Row; readonly set: Row }
  /** No row is under this key. */
  | { readonly op: 'delete'; readonly table: string; readonly key: Row }

type Handler<Type extends EventType> = (event: RecordedEvent<Type>) => readonly RowChange[]

export interface Projection {
  readonly name: string
  readonly version: number
  readonly tables: readonly Table[]
  readonly handlers: { readonly [Type in EventType]: Handler<Type> | 'ignore' }
}

/** A cell that Postgres would refuse, or that would come back as another text. */
export class CellRefused extends Error {
  constructor(table: string, column: string, detail: string) {
    super(`${table}.${column} ${detail}`)
    this.name = 'CellRefused'
  }
}

const INTEGERS = { int4: [-(2n ** 31n), 2n ** 31n - 1n], int8: [-(2n ** 63n), 2n ** 63n - 1n] } as const

/** Why a column cannot hold a cell, or undefined. */
function refusedBy(type: ColumnType, cell: Cell): string | undefined {
  if (typeof cell === 'string') {
    // Postgres refuses NUL in a text, and a driver turns a lone surrogate into U+FFFD, so that two keys could become
    // one.
    if (cell.includes('\0')) return 'holds NUL, which a text of Postgres cannot'
    return cell.isWellFormed() ? undefined : 'holds a lone surrogate, which UTF-8 cannot'
  }
  if (cell === null || typeof cell === 'boolean' || (type !== 'int4' && type !== 'int8')) return undefined
  if (typeof cell === 'number' && !Number.isSafeInteger(cell)) return `holds ${String(cell)}, which is no whole number`
  const [least, most] = INTEGERS[type]
  return cell < least || cell > most ? `holds ${String(cell)}, which ${type} cannot` : undefined
}

function checkCells(tables: readonly Table[], name: string, row: Row): void {
  const columns = tables.find((table) => table.name === name)?.columns
  for (const column of Object.keys(row)) {
    const type = columns?.[column]
    if (type === undefined) throw new Error(`There is no column ${column} in ${name}.`)
    const refused = refusedBy(type, row[column] ?? null)
    if (refused !== undefined) throw new CellRefused(name, column, refused)
  }
}

/**
 * The changes that a fact makes to a read model. Throws where no database could keep them: fact by fact, so that the
 * same one is refused however many are written together, and whoever computes the rows in memory meets the same.
 */
export function changesOf<Type extends EventType>(
  projection: Projection,
  event: RecordedEvent<Type>,
): readonly RowChange[] {
  const handler: Handler<Type> | 'ignore' = projection.handlers[event.type]
  if (handler === 'ignore') return []
  const changes = handler(event)
  for (const change of changes) {
    if (change.op !== 'put') checkCells(projection.tables, change.table, change.key)
    if (change.op !== 'delete')
      checkCells(projection.tables, change.table, change.op === 'put' ? change.row : change.set)
  }
  return changes
}
