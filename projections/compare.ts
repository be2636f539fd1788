/**
 * Are the rows what the facts say? One conversation's facts are folded in memory by the same handlers, and compared with its rows.
 *
 * Only as far as the rows have come: facts behind the checkpoint are counted and not held against them.
 */
import type { RecordedFact } from '../src/domain/events.js'
import type { Database, Sql } from '../src/ports/sql.js'
import { foldRows, inKeyOrder, rowKey } from './fold.js'
import type { Cell, ColumnType, Projection, Row, Table } from './projection.js'
import { hasCheckpoints, liveOf, readGenerations } from './checkpoints.js'
import { partitionOf } from './partitions.js'
import { physicalName } from './store.js'

export interface Difference {
  readonly projection: string
  readonly table: string
  readonly key: Row
  /** 'missing': the facts say that there is such a row. 'unexpected': they do not. 'different': these cells are others. */
  readonly kind: 'missing' | 'unexpected' | 'different'
  readonly columns: readonly { readonly column: string; readonly expected: Cell; readonly found: Cell }[]
}

export interface Comparison {
  readonly projection: string
  /** The rows were compared as of here; undefined where the projection was never built. */
  readonly position?: bigint
  /** Facts that the rows do not show yet. */
  readonly factsBehind: number
  readonly rows: number
  readonly differences: readonly Difference[]
}

/** Compares the rows of a conversation with its facts, which are given in the order in which they were recorded. */
export async function compareRows(db: Database, projections: readonly Projection[], conversationId: string, facts: readonly RecordedFact[]): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const projection of projections) comparisons.push(await compared(db, projection, conversationId, facts))
  return comparisons
}

async function compared(db: Database, projection: Projection, conversationId: string, facts: readonly RecordedFact[]): Promise<Comparison> {
  const found = await readRows(db, projection, conversationId)
  if (found === undefined) return { projection: projection.name, factsBehind: facts.length, rows: 0, differences: [] }
  const shown = facts.filter((fact) => fact.position <= found.position)
  const expected = foldRows(projection, shown)
  const differences: Difference[] = []
  let count = 0
  for (const table of projection.tables) {
    const rows = found.rows.get(table.name) ?? []
    count += rows.length
    const wanted = await asDatabaseSees(db, table, expected.get(table.name) ?? [])
    differences.push(...differencesOf(projection, table, wanted, rows))
  }
  return { projection: projection.name, position: found.position, factsBehind: facts.length - shown.length, rows: count, differences }
}

function differencesOf(projection: Projection, table: Table, expected: readonly Row[], found: readonly Row[]): Difference[] {
  const wanted = new Map(expected.map((row) => [rowKey(table, row), row]))
  const there = new Map(found.map((row) => [rowKey(table, row), row]))
  const differences: Difference[] = []
  for (const row of inKeyOrder(table, new Map([...there, ...wanted]).values())) {
    const key = rowKey(table, row)
    const [want, have] = [wanted.get(key), there.get(key)]
    const columns = Object.keys(table.columns)
      .map((column) => ({ column, expected: want?.[column] ?? null, found: have?.[column] ?? null }))
      .filter((cell) => cell.expected !== cell.found)
    const kind = have === undefined ? 'missing' : want === undefined ? 'unexpected' : 'different'
    if (kind === 'different' && columns.length === 0) continue
    differences.push({ projection: projection.name, table: table.name, key: keyOf(table, row), kind, columns: kind === 'different' ? columns : [] })
  }
  return differences
}

const keyOf = (table: Table, row: Row): Row => Object.fromEntries(table.key.map((column) => [column, row[column] ?? null]))

// Checkpoint and rows as of one moment, hence the isolation level; from the physical tables, because a view could be swapped in between and
// then show a table whose rows this snapshot does not see. A swap may drop the tables instead, and then the next try finds the new ones.
async function readRows(db: Database, projection: Projection, conversationId: string): Promise<{ position: bigint; rows: Map<string, Row[]> } | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction(async (sql) => {
        await sql.script('set transaction isolation level repeatable read')
        if (!(await hasCheckpoints(sql))) return undefined
        const live = liveOf(await readGenerations(sql, [projection.name]), projection.name)
        const checkpoint = live?.checkpoints[partitionOf(conversationId, live.checkpoints.length)]
        if (live === undefined || checkpoint === undefined) return undefined
        const rows = new Map<string, Row[]>()
        for (const table of projection.tables) rows.set(table.name, await rowsOf(sql, table, live.generation, conversationId))
        return { position: checkpoint.position, rows }
      })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === '42P01') || attempt === 5) throw error
    }
  }
}

const asText = (column: string, type: ColumnType): string => (type === 'jsonb' || type === 'tsvector' ? `"${column}"::text as "${column}"` : `"${column}"`)

async function rowsOf(sql: Sql, table: Table, generation: number, conversationId: string): Promise<Row[]> {
  const columns = Object.entries(table.columns).map(([column, type]) => asText(column, type))
  const [first] = table.key
  if (first !== 'conversation_id') throw new Error(`The key of ${table.name} does not begin with conversation_id.`)
  const rows = await sql.query<Record<string, Cell>>(
    `select ${columns.join(', ')} from "${physicalName(table.name, generation)}" where conversation_id = $1`,
    [conversationId],
  )
  return rows.map((row) => canonical(table, row))
}

/** A row with its numbers as the texts that a database gives for large ones. */
function canonical(table: Table, row: Row): Row {
  return Object.fromEntries(
    Object.entries(table.columns).map(([column, type]) => {
      const cell = row[column] ?? null
      return [column, cell === null || type === 'text' || type === 'boolean' ? cell : String(cell)]
    }),
  )
}

/** Rows as they come back from the database, which orders the keys of a `jsonb` and the words of a `tsvector` in its own way. */
async function asDatabaseSees(sql: Sql, table: Table, rows: readonly Row[]): Promise<Row[]> {
  const reordered = Object.entries(table.columns).filter(([, type]) => type === 'jsonb' || type === 'tsvector')
  let seen = rows.map((row) => canonical(table, row))
  for (const [column, type] of reordered) {
    const texts = await sql.query<{ text: string | null }>(`select t::${type}::text as text from unnest($1::text[]) with ordinality as u(t, place) order by place`, [
      seen.map((row) => row[column] ?? null),
    ])
    seen = seen.map((row, place) => ({ ...row, [column]: texts[place]?.text ?? null }))
  }
  return seen
}
