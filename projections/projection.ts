/**
 * The contract of a read model: a name, a version, its tables, and a pure answer for every type of fact.
 *
 * A handler turns one recorded fact into changes of rows that are named by their key, and reads nothing. So the same code keeps the
 * rows in Postgres (`runner.ts`), fills them anew beside the old ones (`rebuild.ts`), and computes in memory what they must be
 * (`fold.ts`, which `verify` and the laws compare with). A type that a projection does not care for says 'ignore': silence is written down.
 * A changed table or handler is `version + 1`; the runner then rebuilds beside.
 */
import type { FactType, RecordedFact } from '../src/domain/events.js'

/**
 * What a cell holds. Times are ISO 8601 texts in UTC, which sort as they are; JSON is kept as the text that was given.
 * A text with NUL or a lone surrogate is refused (the projection stops there, since Postgres would refuse or alter it): text that may hold
 * them goes through `JSON.stringify`, which escapes both. A `tsvector` cell is text in that type's own syntax (`'word':1,4 'other':2`).
 */
export type Cell = string | number | bigint | boolean | null

export type ColumnType = 'text' | 'int8' | 'int4' | 'float8' | 'boolean' | 'jsonb' | 'tsvector'

export interface Table {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The columns of the primary key; the first is `conversation_id`, by which `compare.ts` finds the rows of a conversation. */
  readonly key: readonly string[]
  /** Further indexes: what stands behind `create index … on <table>`, for example `(conversation_id, revision)` or `using gin (terms)`. Built last in a rebuild. */
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

export type Handler<Type extends FactType> = (fact: RecordedFact<Type>) => readonly RowChange[]

export interface Projection {
  readonly name: string
  readonly version: number
  readonly tables: readonly Table[]
  readonly handlers: { readonly [Type in FactType]: Handler<Type> | 'ignore' }
}

/** The changes that a fact makes to a read model. */
export function changesOf<Type extends FactType>(projection: Projection, fact: RecordedFact<Type>): readonly RowChange[] {
  const handler: Handler<Type> | 'ignore' = projection.handlers[fact.type]
  return handler === 'ignore' ? [] : handler(fact)
}
