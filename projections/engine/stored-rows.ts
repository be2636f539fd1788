/** Reads projected rows from the live tables in one snapshot of the database, in the form in which they are compared. */
import { codeOf } from '../../src/ports/store-error.js'
import type { Database, Sql } from '../../src/ports/sql.js'
import { hasCheckpoints, liveOf, readGenerations, type Generation } from './checkpoints.js'
import { keyWithin, type ComparedTable, type ExpectedRow } from './expected-rows.js'
import { rowKey } from './fold.js'
import type { Cell, Projection, Row } from './projection.js'
import { ELEMENT, physicalName } from './store.js'

/** How often a snapshot is tried if a rebuild drops the tables meanwhile. */
const SNAPSHOT_ATTEMPTS = 5
const UNEXPECTED_PAGE = 1_000

/** Rows of a table by conversation, and by their key within it. */
export type RowsByConversation = ReadonlyMap<string, ReadonlyMap<string, Row>>

/** Conversation ids greater than `after`, up to and including `upTo`; undefined means no bound. */
export type Range = readonly [after: string | undefined, upTo: string | undefined]

/** Bounds that are undefined are omitted from the condition, so that the database uses an index for the others. */
function rangeCondition([after, upTo]: Range): { readonly where: string; readonly values: readonly string[] } {
  const bounds = [
    ...(after === undefined ? [] : ['conversation_id > $1']),
    ...(upTo === undefined ? [] : [`conversation_id <= $${after === undefined ? '1' : '2'}`]),
  ]
  return {
    where: bounds.length === 0 ? 'true' : bounds.join(' and '),
    values: [after, upTo].filter((bound) => bound !== undefined),
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** The column list of a select; `jsonb` and `tsvector` are compared as text. */
const selectedColumns = ({ table, columns }: ComparedTable, alias: string): string =>
  columns
    .map((column) =>
      table.columns[column] === 'jsonb' || table.columns[column] === 'tsvector'
        ? `${alias}.${quoted(column)}::text as ${quoted(column)}`
        : `${alias}.${quoted(column)}`,
    )
    .join(', ')

/** Selects the rows with these keys by index, one lookup a key, each with the number of its key (from 1). */
function rowsByKeyQuery(compared: ComparedTable, generation: number): string {
  const { table } = compared
  const keys = table.key.map((column, at) => `$${String(at + 1)}::${ELEMENT[table.columns[column] ?? 'text']}[]`)
  const names = table.key.map((_column, at) => `k${String(at)}`)
  const where = table.key.map((column, at) => `t.${quoted(column)} = keys.k${String(at)}`).join(' and ')
  return `select keys.number::int4 as "key number", ${selectedColumns(compared, 'stored')}
    from unnest(${keys.join(', ')}) with ordinality as keys(${names.join(', ')}, number)
    cross join lateral (select * from ${quoted(physicalName(table.name, generation))} t where ${where} limit 1) stored`
}

/** The first and the last of the wanted keys. */
interface Span {
  readonly column: string
  readonly from: number
  readonly to: number
}

/**
 * The span of the wanted keys, if they are numbers that lie close together (as the messages of a long conversation do),
 * so that the span contains few other rows.
 */
function spanOf({ table }: ComparedTable, expected: readonly ExpectedRow[]): Span | undefined {
  const [, column, further] = table.key
  if (column === undefined || further !== undefined || table.columns[column] !== 'int8') return undefined
  let from: number | undefined
  let to: number | undefined
  for (const { row } of expected) {
    const key = Number(String(row[column]))
    if (from === undefined || key < from) from = key
    if (to === undefined || key > to) to = key
  }
  if (from === undefined || to === undefined || to - from >= 2 * expected.length) return undefined
  return { column, from, to }
}

/** True if a statement failed because a rebuild dropped its table. */
const isTableMissing = (error: unknown): boolean => codeOf(error) === '42P01'

/**
 * Runs `work` on the live tables in one snapshot. It reads the physical tables; if a rebuild drops them meanwhile, the
 * next attempt finds the new ones.
 */
export async function readSnapshot<T>(
  db: Database,
  projections: readonly Projection[],
  work: (stored: StoredRows) => Promise<T>,
): Promise<T> {
  const names = projections.map(({ name }) => name)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.snapshot([], async (sql) => {
        const generations = (await hasCheckpoints(sql)) ? await readGenerations(sql, names) : []
        return await work(new StoredRows(sql, generations))
      })
    } catch (error) {
      if (!isTableMissing(error) || attempt === SNAPSHOT_ATTEMPTS) throw error
    }
  }
}

/** The rows that one snapshot of the database contains. */
export class StoredRows {
  constructor(
    private readonly sql: Sql,
    private readonly generations: readonly Generation[],
  ) {}

  /** The live generation of a table's projection; undefined if it was never built. */
  live({ projection }: ComparedTable): Generation | undefined {
    return liveOf(this.generations, projection.name)
  }

  /** The rows of one conversation whose keys lie in a span, by key. */
  private async rowsInSpan(
    compared: ComparedTable,
    generation: number,
    conversationId: string,
    { column, from, to }: Span,
  ): Promise<ReadonlyMap<string, Row>> {
    const rows = await this.sql.query<Record<string, Cell>>(
      `select ${selectedColumns(compared, 't')} from ${quoted(physicalName(compared.table.name, generation))} t where conversation_id = $1 and ${quoted(column)} between $2 and $3`,
      [conversationId, from, to],
    )
    return new Map(rows.map((row) => [keyWithin(compared, row), row]))
  }

  /** The stored row for each expected row, in the same order. */
  async byKeys(compared: ComparedTable, expected: readonly ExpectedRow[]): Promise<readonly (Row | undefined)[]> {
    const live = this.live(compared)
    if (live === undefined) return []
    const rows = await this.sql.query<Record<string, Cell>>(
      rowsByKeyQuery(compared, live.generation),
      compared.table.key.map((column) => expected.map(({ row }) => row[column] ?? null)),
    )
    const found: (Row | undefined)[] = []
    for (const row of rows) found[Number(row['key number']) - 1] = row
    return found
  }

  /** Like `byKeys` for rows of one conversation; reads a span of keys if that is cheaper. */
  async ofConversation(
    compared: ComparedTable,
    conversationId: string,
    expected: readonly ExpectedRow[],
  ): Promise<readonly (Row | undefined)[]> {
    const live = this.live(compared)
    const span = live === undefined ? undefined : spanOf(compared, expected)
    if (live === undefined || span === undefined) return await this.byKeys(compared, expected)
    const rows = await this.rowsInSpan(compared, live.generation, conversationId, span)
    return expected.map(({ row }) => rows.get(keyWithin(compared, row)))
  }

  /** All rows of a table in a range of conversations; undefined if there are more than `limit`. */
  async inRange(compared: ComparedTable, range: Range, limit: number): Promise<RowsByConversation | undefined> {
    const live = this.live(compared)
    const byConversation = new Map<string, Map<string, Row>>()
    if (live === undefined) return byConversation
    const { where, values } = rangeCondition(range)
    const rows = await this.sql.query<Record<string, Cell>>(
      `select ${selectedColumns(compared, 't')} from ${quoted(physicalName(compared.table.name, live.generation))} t where ${where} limit ${String(limit + 1)}`,
      values,
    )
    if (rows.length > limit) return undefined
    for (const row of rows) {
      const id = String(row['conversation_id'])
      let ofConversation = byConversation.get(id)
      if (ofConversation === undefined) byConversation.set(id, (ofConversation = new Map<string, Row>()))
      ofConversation.set(keyWithin(compared, row), row)
    }
    return byConversation
  }

  /** How many rows each conversation has in a table: the given conversations, or all in a range. */
  async counts(
    compared: ComparedTable,
    selected: readonly string[] | { readonly range: Range },
  ): Promise<ReadonlyMap<string, number>> {
    const live = this.live(compared)
    if (live === undefined) return new Map()
    const { where, values } =
      'range' in selected
        ? rangeCondition(selected.range)
        : { where: 'conversation_id = any($1::text[])', values: [selected] }
    const rows = await this.sql.query<{ id: string; rows: string | number }>(
      `select conversation_id as id, count(*) as rows from ${quoted(physicalName(compared.table.name, live.generation))} where ${where} group by conversation_id`,
      values,
    )
    return new Map(rows.map(({ id, rows: count }) => [id, Number(count)]))
  }

  /** The rows of a conversation whose key is not among `keys`. Pages by key, so memory does not grow with the table. */
  async *unexpected(compared: ComparedTable, conversationId: string, keys: ReadonlySet<string>): AsyncIterable<Row> {
    const live = this.live(compared)
    if (live === undefined) return
    const { table, columns } = compared
    const key = table.key.map(quoted).join(', ')
    let last: Row | undefined
    for (;;) {
      const values: Cell[] = [
        conversationId,
        ...(last === undefined ? [] : table.key.map((column) => last?.[column] ?? null)),
      ]
      const afterLast =
        last === undefined ? '' : ` and (${key}) > (${table.key.map((_column, at) => `$${String(at + 2)}`).join(', ')})`
      const rows = await this.sql.query<Record<string, Cell>>(
        `select ${columns.map(quoted).join(', ')} from ${quoted(physicalName(table.name, live.generation))} where conversation_id = $1${afterLast} order by ${key} limit ${String(UNEXPECTED_PAGE)}`,
        values,
      )
      for (const row of rows) if (!keys.has(rowKey(table, row))) yield row
      last = rows.at(-1)
      if (rows.length < UNEXPECTED_PAGE) return
    }
  }

  /**
   * Expected rows with their `jsonb` and `tsvector` cells as the database prints them: it reorders the keys of a `jsonb`
   * and the words of a `tsvector`.
   */
  async asPrinted({ table }: ComparedTable, expected: readonly ExpectedRow[]): Promise<readonly ExpectedRow[]> {
    const reordered = Object.entries(table.columns).filter(([, type]) => type === 'jsonb' || type === 'tsvector')
    let printed = expected
    for (const [column, type] of reordered) {
      const texts = await this.sql.query<{ text: string | null }>(
        `select t::${type}::text as text from unnest($1::text[]) with ordinality as u(t, number) order by number`,
        [printed.map(({ row }) => row[column] ?? null)],
      )
      printed = printed.map(({ row, partial }, at) => ({
        row: { ...row, ...(partial && !Object.hasOwn(row, column) ? {} : { [column]: texts[at]?.text ?? null }) },
        partial,
      }))
    }
    return printed
  }
}
