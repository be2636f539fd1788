/**
 * The rows that the events of one conversation produce, folded in memory, and how far each has been compared.
 *
 * A row is `waiting` (not compared since it last changed), `comparing` (a comparison is running), `mismatched` (compared
 * and different so far) or confirmed (compared, equal and dropped from memory: only counted).
 */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { rowKey } from './fold.js'
import { changesOf, type Projection, type Row, type RowChange, type Table } from './projection.js'

export interface ComparedTable {
  readonly projection: Projection
  readonly table: Table
  readonly columns: readonly string[]
  /** True if a conversation has one row in this table. That row stays in memory until the end. */
  readonly single: boolean
}

export const comparedTables = (projections: readonly Projection[]): readonly ComparedTable[] =>
  projections.flatMap((projection) =>
    projection.tables.map((table): ComparedTable => {
      if (table.key[0] !== 'conversation_id')
        throw new Error(`The key of table ${table.name} must begin with conversation_id.`)
      return { projection, table, columns: Object.keys(table.columns), single: table.key.length === 1 }
    }),
  )

/**
 * A row as the events produce it. `partial`: the row was confirmed and dropped, and only these cells changed since
 * then.
 */
export interface ExpectedRow {
  readonly row: Row
  readonly partial: boolean
}

/** The rows of one conversation in one table. */
export class TableRows {
  /** By key, in the order of the last change. */
  readonly waiting = new Map<string, ExpectedRow>()
  /** A change moves a row from here back to `waiting`. */
  readonly comparing = new Map<string, ExpectedRow>()
  readonly mismatched = new Map<string, ExpectedRow>()
  /** Number of rows that were equal and are no longer in memory. */
  confirmed = 0

  constructor(readonly compared: ComparedTable) {}

  find(key: string): ExpectedRow | undefined {
    return this.waiting.get(key) ?? this.comparing.get(key) ?? this.mismatched.get(key)
  }

  remove(key: string): void {
    this.waiting.delete(key)
    this.comparing.delete(key)
    this.mismatched.delete(key)
  }

  apply(change: RowChange): void {
    const key = keyWithin(this.compared, change.op === 'put' ? change.row : change.key)
    const before = this.find(key)
    this.remove(key)
    if (change.op === 'put') this.waiting.set(key, { row: change.row, partial: false })
    else if (change.op === 'delete') {
      // Sound events delete only rows that they created, so a row that is not in memory was confirmed.
      if (this.confirmed > 0 && (before === undefined || before.partial)) this.confirmed -= 1
    } else if (before !== undefined)
      this.waiting.set(key, { row: { ...before.row, ...change.set }, partial: before.partial })
    else if (this.confirmed > 0) this.waiting.set(key, { row: { ...change.key, ...change.set }, partial: true })
  }

  /** How many rows the events produce. `confirmed` already includes the partial rows. */
  get expectedCount(): number {
    let count = this.confirmed
    for (const rows of [this.waiting, this.mismatched])
      for (const { partial } of rows.values()) if (!partial) count += 1
    return count
  }
}

/**
 * A row's key among the rows of one conversation. Usually that is one cell, which is used without encoding: building a
 * text from several cells costs more than the rest of the comparison.
 */
export function keyWithin({ table }: ComparedTable, row: Row): string {
  const [, only, further] = table.key
  if (only === undefined) return ''
  const cell = row[only]
  return further !== undefined || cell === undefined || cell === null ? rowKey(table, row) : String(cell)
}

export class ConversationRows {
  /** Position of the last event that was applied. */
  position = -1
  private readonly revisions = new Map<string, number>()
  characters = 0
  /** True if so many rows differ that folding the rest is pointless. */
  abandoned = false
  /** The event that cannot be turned into rows, and the error. The conversation's other rows are then not reported. */
  failure: { readonly revision: number; readonly detail: string } | undefined
  readonly tables: readonly TableRows[]

  constructor(
    readonly conversationId: string,
    tables: readonly ComparedTable[],
  ) {
    this.tables = tables.map((compared) => new TableRows(compared))
  }

  /** The last revision of a stream that was applied; -1 before the first. */
  readonly lastRevision = (stream: string): number => this.revisions.get(stream) ?? -1

  /**
   * Number of rows that wait for a comparison. Rows that are being compared do not count; otherwise the next event would
   * have to wait for them.
   */
  get waiting(): number {
    return this.tables.reduce((sum, { waiting }) => sum + waiting.size, 0)
  }

  get mismatched(): number {
    return this.tables.reduce((sum, { mismatched }) => sum + mismatched.size, 0)
  }

  apply(projections: readonly Projection[], event: RecordedEvent): void {
    this.revisions.set(event.stream, event.revision)
    if (event.position > this.position) this.position = event.position
    let from = 0
    for (const projection of projections) {
      for (const change of changesOf(projection, event)) {
        const rows = this.tables
          .slice(from, from + projection.tables.length)
          .find(({ compared }) => compared.table.name === change.table)
        if (rows === undefined) throw new Error(`There is no table ${change.table} in ${projection.name}.`)
        rows.apply(change)
        if (change.op === 'put' && !rows.compared.single)
          this.characters += 200 + charactersOf(change.row, rows.compared.columns)
      }
      from += projection.tables.length
    }
  }
}

function charactersOf(row: Row, columns: readonly string[]): number {
  let sum = 0
  for (const column of columns) {
    const cell = row[column]
    sum += typeof cell === 'string' ? cell.length : 8
  }
  return sum
}
