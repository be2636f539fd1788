/**
 * The tables of projections, and the statements that write changes to them.
 *
 * A table `t` of a projection is a view `t` of the physical table `t_g<generation>`. Readers use only the view; a
 * rebuild fills the tables of the next generation and then points the views at them. `checkpoints.ts` stores which
 * generation is live.
 */
import type { Database, Sql } from '../../src/ports/sql.js'
import {
  addGeneration,
  createCheckpoints,
  liveOf,
  lockLayout,
  readGenerations,
  removeGeneration,
  type Generation,
} from './checkpoints.js'
import { coalesce, type NetChange, type NetChanges } from './fold.js'
import type { Cell, ColumnType, Projection, Row, RowChange, Table } from './projection.js'

export const physicalName = (table: string, generation: number): string => `${table}_g${String(generation)}`

const quoted = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`
const listOf = (columns: readonly string[]): string => columns.map(quoted).join(', ')

/**
 * Creates the tables of a generation, without their further indexes. Texts compare by bytes: a locale makes indexes
 * larger and slower, and ISO times need none.
 */
export async function createTables(sql: Sql, projection: Projection, generation: number): Promise<void> {
  for (const table of projection.tables) {
    const name = physicalName(table.name, generation)
    const columns = Object.entries(table.columns).map(
      ([column, type]) => `${quoted(column)} ${type}${type === 'text' ? ' collate "C"' : ''}`,
    )
    await sql.script(
      `drop table if exists ${quoted(name)}; create table ${quoted(name)} (${columns.join(', ')}, primary key (${listOf(table.key)})${table.keyIncludes === undefined ? '' : ` include (${listOf(table.keyIncludes)})`})`,
    )
  }
}

/**
 * Returns the live generation of each projection. Creates a missing one with empty tables at the start of the log.
 * @param partitions number of partitions of a new generation. Default: the largest number that another projection has.
 */
export async function openGenerations(
  db: Database,
  projections: readonly Projection[],
  partitions: number | undefined,
): Promise<Generation[]> {
  return await db.transaction(async (sql) => {
    await lockLayout(sql)
    await createCheckpoints(sql)
    const names = projections.map((projection) => projection.name)
    const known = await readGenerations(sql, names)
    const missing = projections.filter(({ name }) => liveOf(known, name) === undefined)
    const largest = known
      .filter(({ state }) => state === 'live')
      .reduce((most, { checkpoints }) => Math.max(most, checkpoints.length), 1)
    for (const projection of missing) {
      const generation = await nextGeneration(sql, known, projection)
      await createTables(sql, projection, generation)
      for (const statement of indexStatements(projection, generation)) await sql.script(statement)
      await pointViews(sql, projection, generation, [])
      await addGeneration(sql, projection, generation, 'live', partitions ?? largest)
    }
    return (missing.length === 0 ? known : await readGenerations(sql, names)).filter(({ state }) => state === 'live')
  })
}

/**
 * The number of the next generation. If no generation is known, drops views and tables that remain from before the
 * checkpoints were lost, since their position is unknown.
 */
export async function nextGeneration(
  sql: Sql,
  known: readonly Generation[],
  { name, tables }: Projection,
): Promise<number> {
  const existing = known.filter((generation) => generation.name === name)
  if (existing.length === 0) {
    await dropViews(sql, viewsOf(tables))
    const orphans = await sql.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = current_schema() and tablename ~ '_g[0-9]+$' and regexp_replace(tablename, '_g[0-9]+$', '') = any($1)`,
      [tables.map((table) => table.name)],
    )
    for (const table of orphans) await sql.script(`drop table ${quoted(table.name)}`)
  }
  return 1 + existing.reduce((last, { generation }) => Math.max(last, generation), 0)
}

/** Whether the database runs inside this process (PGlite), so that a statement blocks everything else. */
export async function runsInProcess(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ version: string }>('select version() as version')
  return row?.version.includes('emscripten') === true
}

/** The statements that build the further indexes of a generation. Each can be repeated. */
export function indexStatements(projection: Projection, generation: number): string[] {
  return projection.tables.flatMap((table) => {
    const name = physicalName(table.name, generation)
    return table.indexes.map(
      (index, at) => `create index if not exists ${quoted(`${name}_i${String(at)}`)} on ${quoted(name)} ${index}`,
    )
  })
}

/**
 * Gathers the planner's statistics of tables that were just filled; the embedded engine never does it automatically. It
 * uses a tenth of the usual sample, because an index on an expression computes it for every sampled row: that took 0.8 s
 * of a rebuild of 40,000 messages.
 */
export async function gatherStatistics(db: Database, projection: Projection, generation: number): Promise<void> {
  for (const table of projection.tables) {
    await db.transaction(
      async (sql) => {
        await sql.script(
          `set local default_statistics_target = 10; analyze ${quoted(physicalName(table.name, generation))}`,
        )
      },
      { isPatient: true },
    )
  }
}

/**
 * Points the views of a projection at the tables of a generation.
 * @param replaced tables of the previous generation; their views are dropped
 */
export async function pointViews(
  sql: Sql,
  projection: Projection,
  generation: number,
  replaced: readonly string[],
): Promise<void> {
  // Dropped and created, because `create or replace` refuses a view whose columns changed.
  await dropViews(sql, [...replaced, ...viewsOf(projection.tables)])
  for (const { name, columns, visible } of projection.tables) {
    const all = `select ${listOf(Object.keys(columns))} from ${quoted(physicalName(name, generation))}`
    await sql.script(`create view ${quoted(name)} as ${all}${visible === undefined ? '' : ` where ${visible.where}`}`)
    if (visible !== undefined) await sql.script(`create view ${quoted(visible.all)} as ${all}`)
  }
}

/** The names of the views of tables. */
export const viewsOf = (tables: readonly Pick<Table, 'name' | 'visible'>[]): readonly string[] =>
  tables.flatMap(({ name, visible }) => (visible === undefined ? [name] : [name, visible.all]))

/** Sorted by name, so that two concurrent calls cannot deadlock. */
async function dropViews(sql: Sql, names: readonly string[]): Promise<void> {
  for (const name of new Set(names.toSorted())) await sql.script(`drop view if exists ${quoted(name)}`)
}

/** Drops the tables of a generation and its checkpoints. */
export async function dropGeneration(
  sql: Sql,
  { name, generation, tables }: Pick<Generation, 'name' | 'generation' | 'tables'>,
): Promise<void> {
  for (const table of tables) await sql.script(`drop table if exists ${quoted(physicalName(table, generation))}`)
  await removeGeneration(sql, name, generation)
}

/** The planner's estimate of the rows of a generation, which costs nothing to read; undefined if there is none yet. */
export async function estimatedRows(sql: Sql, { tables, generation }: Generation): Promise<number | undefined> {
  const rows = await sql.query<{ rows: string | null }>(
    `select sum(greatest(c.reltuples, 0))::int8 as rows from unnest($1::text[]) as t(name) join pg_class c on c.oid = to_regclass(quote_ident(t.name)) having min(c.reltuples) >= 0`,
    [tables.map((table) => physicalName(table, generation))],
  )
  const count = rows[0]?.rows
  return count === undefined || count === null ? undefined : Number(count)
}

/** Limits of one statement. */
export interface StatementLimits {
  readonly rows: number
  readonly characters: number
  /** Whether timers and requests run between two statements. */
  readonly pauses: boolean
}

// A statement within these limits takes PGlite well below 100 ms, during which nothing else in the process runs. PGlite
// answers through microtasks only, so without pauses timers and requests would wait for the whole batch.
const IN_PROCESS: StatementLimits = { rows: 1_000, characters: 512 * 1024, pauses: true }
// A server is idle between two statements while this process decodes the next events, so statements are larger.
const ON_SERVER: StatementLimits = { rows: 4_000, characters: 2 * 1024 * 1024, pauses: false }

/** The limits of one statement for a database. */
export const statementLimits = ({ isServer }: Pick<Database, 'isServer'>): StatementLimits =>
  isServer ? ON_SERVER : IN_PROCESS

// `unnest` takes one array for each column. Types whose arrays not every driver supports are sent as text and then cast.
export const ELEMENT: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  int8: 'int8',
  int4: 'int4',
  float8: 'float8',
  boolean: 'boolean',
  jsonb: 'text',
  tsvector: 'text',
}
const CAST: Readonly<Partial<Record<ColumnType, string>>> = { jsonb: '::jsonb', tsvector: '::tsvector' }

function typeOf(table: Table, column: string): ColumnType {
  const type = table.columns[column]
  if (type === undefined) throw new Error(`There is no column ${column} in ${table.name}.`)
  return type
}

/** A query that returns the rows of a statement, with typed columns. */
type RowsQuery = (table: Table, columns: readonly string[]) => string

/** `select … from unnest(…)`: each parameter is a column, as an array with a value for each row. */
const manyRows: RowsQuery = (table, columns) => {
  const selected = columns.map((column) => `${quoted(column)}${CAST[typeOf(table, column)] ?? ''} as ${quoted(column)}`)
  const arrays = columns.map((column, at) => `$${String(at + 1)}::${ELEMENT[typeOf(table, column)]}[]`)
  return `select ${selected.join(', ')} from unnest(${arrays.join(', ')}) as u(${columns.map(quoted).join(', ')})`
}

/** `select …`: each parameter is a cell of a single row. */
const oneRow: RowsQuery = (table, columns) => {
  const cells = columns.map((column, at) => {
    const type = typeOf(table, column)
    return `$${String(at + 1)}::${ELEMENT[type]}${CAST[type] ?? ''} as ${quoted(column)}`
  })
  return `select ${cells.join(', ')}`
}

const onKey = (table: Table): string =>
  table.key.map((column) => `t.${quoted(column)} = n.${quoted(column)}`).join(' and ')

function putStatement(table: Table, physical: string, columns: readonly string[], query: RowsQuery): string {
  const rest = columns.filter((column) => !table.key.includes(column))
  const update =
    rest.length === 0
      ? 'nothing'
      : `update set ${rest.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(', ')}`
  const names = columns.map(quoted).join(', ')
  return `insert into ${quoted(physical)} (${names}) ${query(table, columns)} on conflict (${table.key.map(quoted).join(', ')}) do ${update}`
}

function patchStatement(table: Table, physical: string, set: readonly string[], query: RowsQuery): string {
  const cells = set.map((column) => `${quoted(column)} = n.${quoted(column)}`).join(', ')
  return `update ${quoted(physical)} as t set ${cells} from (${query(table, [...table.key, ...set])}) as n where ${onKey(table)}`
}

const deleteStatement = (table: Table, physical: string, query: RowsQuery): string =>
  `delete from ${quoted(physical)} as t using (${query(table, table.key)}) as n where ${onKey(table)}`

/**
 * A row with more characters is sent in its own statement, as single values. The text form of an array escapes quotes
 * and backslashes, so the driver and the database would copy a large value several times.
 */
const LARGE_ROW_CHARACTERS = 64 * 1024

/** Sends rows in statements of limited size, one array for each column. A large row gets its own statement. */
async function send(
  sql: Sql,
  statementFor: (query: RowsQuery) => string,
  columns: readonly string[],
  rows: readonly Row[],
  limits: StatementLimits,
): Promise<void> {
  const statement = statementFor(manyRows)
  let arrays: Cell[][] = columns.map(() => [])
  let characters = 0
  let count = 0
  const flush = async (): Promise<void> => {
    if (count === 0) return
    await sql.query(statement, arrays)
    arrays = columns.map(() => [])
    characters = 0
    count = 0
    if (limits.pauses) await new Promise(setImmediate)
  }
  for (const row of rows) {
    const cells = columns.map((column) => row[column] ?? null)
    const size = cells.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0), 0)
    if (size > LARGE_ROW_CHARACTERS) {
      await sql.query(statementFor(oneRow), cells)
      if (limits.pauses) await new Promise(setImmediate)
      continue
    }
    for (const [at, cell] of cells.entries()) arrays[at]?.push(cell)
    characters += size
    count += 1
    if (count >= limits.rows || characters >= limits.characters) await flush()
  }
  await flush()
}

/** Writes net changes to the tables of a generation, with few statements for each table. Requires a transaction. */
export async function writeNetChanges(
  sql: Sql,
  tables: readonly Table[],
  generation: number,
  net: NetChanges,
  limits = IN_PROCESS,
): Promise<void> {
  for (const table of tables) {
    const changes = net.get(table.name)
    if (changes === undefined) continue
    const physical = physicalName(table.name, generation)
    const puts: Row[] = []
    const deletes: Row[] = []
    // By set of columns: patches that set the same columns share a statement, and a projection has few such sets.
    const patches = new Map<string, { readonly set: readonly string[]; readonly rows: Row[] }>()
    for (const change of changes.values()) sortChange(change, puts, deletes, patches)

    // Each key is in one of the three, so their order does not matter.
    if (deletes.length > 0)
      await send(sql, (query) => deleteStatement(table, physical, query), table.key, deletes, limits)
    const columns = Object.keys(table.columns)
    if (puts.length > 0)
      await send(sql, (query) => putStatement(table, physical, columns, query), columns, puts, limits)
    for (const { set, rows } of patches.values())
      await send(sql, (query) => patchStatement(table, physical, set, query), [...table.key, ...set], rows, limits)
  }
}

function sortChange(
  change: NetChange,
  puts: Row[],
  deletes: Row[],
  patches: Map<string, { readonly set: readonly string[]; readonly rows: Row[] }>,
): void {
  switch (change.op) {
    case 'put':
      puts.push(change.row)
      return
    case 'delete':
      deletes.push(change.key)
      return
    case 'patch': {
      const set = Object.keys(change.set).toSorted()
      if (set.length === 0) return
      const name = set.join(' ')
      const same = patches.get(name) ?? { set, rows: [] }
      if (same.rows.length === 0) patches.set(name, same)
      same.rows.push({ ...change.key, ...change.set })
    }
  }
}

/** Writes the net effect of changes. Requires a transaction. */
export async function writeChanges(
  sql: Sql,
  tables: readonly Table[],
  generation: number,
  changes: Iterable<RowChange>,
): Promise<void> {
  await writeNetChanges(sql, tables, generation, coalesce(tables, changes))
}
