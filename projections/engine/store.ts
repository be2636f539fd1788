/**
 * Where the rows lie, and how changes get there.
 *
 * A table `t` of a projection is a view `t` upon a physical table `t_g<generation>`. Readers know the view alone; a
 * rebuild fills the tables of the next generation and then points the views at them. `checkpoints.ts` says which
 * generation readers see, and how far each has come.
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

/**
 * Creates the tables of a generation, without their further indexes. Texts compare by their bytes: a locale's order
 * makes indexes larger and slower, and ISO times need none.
 */
export async function createTables(sql: Sql, projection: Projection, generation: number): Promise<void> {
  for (const table of projection.tables) {
    const name = physicalName(table.name, generation)
    const columns = Object.entries(table.columns).map(
      ([column, type]) => `${quoted(column)} ${type}${type === 'text' ? ' collate "C"' : ''}`,
    )
    await sql.script(
      `drop table if exists ${quoted(name)}; create table ${quoted(name)} (${columns.join(', ')}, primary key (${table.key.map(quoted).join(', ')}))`,
    )
  }
}

/**
 * The live generation of each projection; one that has none yet gets its tables, empty, at the start of the log, in so
 * many partitions; where no number is given, in as many as the others have.
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
    const alike = known
      .filter(({ state }) => state === 'live')
      .reduce((most, { checkpoints }) => Math.max(most, checkpoints.length), 1)
    for (const projection of missing) {
      const generation = await beginGeneration(sql, known, projection)
      await createTables(sql, projection, generation)
      for (const statement of indexStatements(projection, generation)) await sql.script(statement)
      await pointViews(sql, projection, generation, [])
      await addGeneration(sql, projection, generation, 'live', partitions ?? alike)
    }
    return (missing.length === 0 ? known : await readGenerations(sql, names)).filter(({ state }) => state === 'live')
  })
}

/**
 * The number of a generation that is not there yet. Where none is known, but views and tables stand from before the
 * checkpoints were lost, those go: nobody can say how far they are.
 */
export async function beginGeneration(
  sql: Sql,
  known: readonly Generation[],
  { name, tables }: Projection,
): Promise<number> {
  const mine = known.filter((one) => one.name === name)
  if (mine.length === 0) {
    await dropViews(
      sql,
      tables.map((table) => table.name),
    )
    const left = await sql.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = current_schema() and tablename ~ '_g[0-9]+$' and regexp_replace(tablename, '_g[0-9]+$', '') = any($1)`,
      [tables.map((table) => table.name)],
    )
    for (const table of left) await sql.script(`drop table ${quoted(table.name)}`)
  }
  return 1 + mine.reduce((most, one) => Math.max(most, one.generation), 0)
}

/** Whether the database runs inside this process (PGlite), where nothing else runs for as long as a statement does. */
export async function runsInProcess(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ version: string }>('select version() as version')
  return row?.version.includes('emscripten') === true
}

/** The statements that build the further indexes of a generation; each may be repeated. */
export function indexStatements(projection: Projection, generation: number): string[] {
  return projection.tables.flatMap((table) => {
    const name = physicalName(table.name, generation)
    return table.indexes.map(
      (index, at) => `create index if not exists ${quoted(`${name}_i${String(at)}`)} on ${quoted(name)} ${index}`,
    )
  })
}

/**
 * Gathers the planner's statistics of a table that was just filled; on the embedded engine nothing ever does that by
 * itself. From a tenth of the usual sample: an index on an expression has it computed for every row of the sample,
 * which took 0.8 s of a rebuild of 40,000 messages.
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
 * Points the views of a projection at the tables of a generation. `gone` are tables of the generation before, whose
 * views go too.
 */
export async function pointViews(
  sql: Sql,
  projection: Projection,
  generation: number,
  gone: readonly string[],
): Promise<void> {
  // Dropped and made anew, because `create or replace` refuses a view whose columns changed.
  await dropViews(sql, [...gone, ...projection.tables.map((table) => table.name)])
  for (const table of projection.tables) {
    const columns = Object.keys(table.columns).map(quoted).join(', ')
    await sql.script(
      `create view ${quoted(table.name)} as select ${columns} from ${quoted(physicalName(table.name, generation))}`,
    )
  }
}

/** In one order, so that two who do it wait and do not deadlock. */
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

/**
 * About how many rows the tables of a generation have: the planner's own numbers, which cost nothing, or undefined
 * where it has none yet.
 */
export async function estimatedRows(sql: Sql, { tables, generation }: Generation): Promise<number | undefined> {
  const rows = await sql.query<{ rows: string | null }>(
    `select sum(greatest(c.reltuples, 0))::int8 as rows from unnest($1::text[]) as t(name) join pg_class c on c.oid = to_regclass(quote_ident(t.name)) having min(c.reltuples) >= 0`,
    [tables.map((table) => physicalName(table, generation))],
  )
  const count = rows[0]?.rows
  return count === undefined || count === null ? undefined : Number(count)
}

/** How much one statement may write. */
export interface Statements {
  readonly rows: number
  readonly characters: number
  /** Whether timers and requests get a turn between two of them. */
  readonly pauses: boolean
}

// A statement of at most so many rows and characters takes PGlite well below 100 ms, for which long nothing else in the
// process runs. It answers without ever leaving the queue of promises, so timers and requests would wait for the whole
// batch.
const IN_PROCESS: Statements = { rows: 1_000, characters: 512 * 1024, pauses: true }
// A server stands idle between two statements, for as long as this process decodes what comes next.
const ON_SERVER: Statements = { rows: 4_000, characters: 2 * 1024 * 1024, pauses: false }

/** How much one statement may write to a database. */
export const statementsOf = ({ isServer }: Pick<Database, 'isServer'>): Statements =>
  isServer ? ON_SERVER : IN_PROCESS

// `unnest` takes one array a column. Types without an array form that every driver knows go as text and are cast behind
// it.
const ELEMENT: Readonly<Record<ColumnType, string>> = {
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

/** `(select … from unnest(…))` with typed columns: the rows of a statement as a table. */
function given(table: Table, columns: readonly string[]): string {
  const shown = columns.map((column) => `${quoted(column)}${CAST[typeOf(table, column)] ?? ''} as ${quoted(column)}`)
  const arrays = columns.map((column, at) => `$${String(at + 1)}::${ELEMENT[typeOf(table, column)]}[]`)
  return `select ${shown.join(', ')} from unnest(${arrays.join(', ')}) as u(${columns.map(quoted).join(', ')})`
}

const onKey = (table: Table): string =>
  table.key.map((column) => `t.${quoted(column)} = n.${quoted(column)}`).join(' and ')

function putStatement(table: Table, physical: string, columns: readonly string[]): string {
  const rest = columns.filter((column) => !table.key.includes(column))
  const update =
    rest.length === 0
      ? 'nothing'
      : `update set ${rest.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(', ')}`
  const names = columns.map(quoted).join(', ')
  return `insert into ${quoted(physical)} (${names}) ${given(table, columns)} on conflict (${table.key.map(quoted).join(', ')}) do ${update}`
}

function patchStatement(table: Table, physical: string, set: readonly string[]): string {
  const cells = set.map((column) => `${quoted(column)} = n.${quoted(column)}`).join(', ')
  return `update ${quoted(physical)} as t set ${cells} from (${given(table, [...table.key, ...set])}) as n where ${onKey(table)}`
}

const deleteStatement = (table: Table, physical: string): string =>
  `delete from ${quoted(physical)} as t using (${given(table, table.key)}) as n where ${onKey(table)}`

/** Sends rows in statements of bounded size, one array a column. */
async function send(
  sql: Sql,
  table: Table,
  statement: string,
  columns: readonly string[],
  rows: readonly Row[],
  most: Statements,
): Promise<void> {
  let arrays: Cell[][] = columns.map(() => [])
  let characters = 0
  let count = 0
  const flush = async (): Promise<void> => {
    if (count === 0) return
    await sql.query(statement, arrays)
    arrays = columns.map(() => [])
    characters = 0
    count = 0
    if (most.pauses) await new Promise(setImmediate)
  }
  for (const row of rows) {
    for (let at = 0; at < columns.length; at += 1) {
      const column = columns[at] ?? ''
      const cell = row[column] ?? null
      arrays[at]?.push(cell)
      if (typeof cell === 'string') characters += cell.length
    }
    count += 1
    if (count >= most.rows || characters >= most.characters) await flush()
  }
  await flush()
}

/**
 * Writes net changes to the tables of a generation: a few statements a table, whatever the number of rows. Inside a
 * transaction.
 */
export async function writeNet(
  sql: Sql,
  tables: readonly Table[],
  generation: number,
  net: NetChanges,
  most = IN_PROCESS,
): Promise<void> {
  for (const table of tables) {
    const changes = net.get(table.name)
    if (changes === undefined) continue
    const physical = physicalName(table.name, generation)
    const puts: Row[] = []
    const deletes: Row[] = []
    // Patches that set the same columns share a statement; a projection has few such sets.
    const patches = new Map<string, { readonly set: readonly string[]; readonly rows: Row[] }>()
    for (const change of changes.values()) sortChange(change, puts, deletes, patches)

    // Each key stands in one of the three, so their order is free.
    if (deletes.length > 0) await send(sql, table, deleteStatement(table, physical), table.key, deletes, most)
    const columns = Object.keys(table.columns)
    if (puts.length > 0) await send(sql, table, putStatement(table, physical, columns), columns, puts, most)
    for (const { set, rows } of patches.values())
      await send(sql, table, patchStatement(table, physical, set), [...table.key, ...set], rows, most)
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

/** Writes changes in their order, by way of their net effect. Inside a transaction. */
export async function writeChanges(
  sql: Sql,
  tables: readonly Table[],
  generation: number,
  changes: Iterable<RowChange>,
): Promise<void> {
  await writeNet(sql, tables, generation, coalesce(tables, changes))
}
