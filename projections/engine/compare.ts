/**
 * Are the rows what the facts say? The same handlers that keep the rows fold the facts in memory, and what is folded is
 * held against the rows.
 *
 * In memory that does not grow with a conversation: a row that nothing changed for a while is compared by its key and,
 * where it is the same, forgotten but counted. One that differs is kept, since a later fact may change it to what the
 * database has by now. In the end every row that the facts make was found equal, and as many rows are there as they
 * make, so none is there beside them.
 *
 * As of one moment: each comparison is a transaction with a snapshot. Whoever appends meanwhile changes rows before we
 * have read why; so what differs in the end is looked at again, with the facts that came since, once the rows have come
 * to the end of the log.
 */
import { conversationStream } from '../../src/domain/values/ids.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import type { RowCheck, RowDifference } from '../../src/ports/row-check.js'
import type { Database, Sql } from '../../src/ports/sql.js'
import { hasCheckpoints, liveOf, readGenerations } from './checkpoints.js'
import { rowKey } from './fold.js'
import { partitionOf } from './partitions.js'
import {
  changesOf,
  type Cell,
  type ColumnType,
  type Projection,
  type Row,
  type RowChange,
  type Table,
} from './projection.js'
import { physicalName } from './store.js'

export interface RowCheckDependencies {
  readonly db: Database
  readonly projections: readonly Projection[]
  /**
   * Facts of a conversation and its editions behind those that were seen, for what was appended meanwhile; those of the
   * editions first.
   * @param seen the last revision of a stream that was seen, -1n where none was
   */
  readonly eventsFrom: (conversationId: string, seen: (stream: string) => bigint) => AsyncIterable<RecordedEvent>
  /** Brings the rows to the head of the log. */
  readonly catchUp: () => Promise<void>
  /** True where every conversation of the log is given, so that a row of any other is one too many. */
  readonly everyConversation: boolean
}

/** Rows that are folded before the older half of them is compared; while those are compared, as many are folded again. */
const ROWS_HELD = 3_000
/** Characters that the rows of ended conversations may have before they are compared. */
const CHARACTERS_HELD = 8_000_000
/** Rows beside those that the facts make before they are no longer read, and only counted. */
const ROWS_TOO_MANY = 100
/** How often the facts that came meanwhile are fetched before a difference is told. */
const TRIES = 5
/** Differences that are told one by one. */
const MOST_DIFFERENCES = 200
/**
 * Rows of a conversation that differ so far, beyond those that are held, before it is plain that they do not belong to
 * it.
 */
const MOST_PENDING = 20_000

/** A table with what a comparison of its rows asks again and again. */
interface KeptRow {
  readonly projection: Projection
  readonly table: Table
  readonly columns: readonly string[]
  /** A conversation has one row in it, which is held until the end. */
  readonly single: boolean
}

/**
 * A row as the facts make it. `partial`: it was found equal before and forgotten, and these cells of it changed since.
 */
interface Expected {
  readonly row: Row
  readonly partial: boolean
}

interface Rows {
  readonly kept: KeptRow
  /** By key, the one that changed last at the end. */
  readonly held: Map<string, Expected>
  /** Being compared just now; a change takes a row out. */
  readonly comparing: Map<string, Expected>
  /** Compared, and not equal so far. */
  readonly pending: Map<string, Expected>
  /** Found equal and forgotten. */
  settled: number
}

/**
 * A row's key among the rows of one conversation. Mostly that is one cell, which is a key as it is: to make a text of
 * several costs more than all else that is done with it.
 */
function keyWithin({ table }: KeptRow, row: Row): string {
  const [, only, further] = table.key
  if (only === undefined) return ''
  const cell = row[only]
  return further !== undefined || cell === undefined || cell === null ? rowKey(table, row) : String(cell)
}

class ConversationRows {
  position = -1n
  private readonly revisions = new Map<string, bigint>()
  characters = 0
  /** True where so much differs that the rest is not worth folding. */
  abandoned = false
  /** The fact that no rows can be made of, and why: then nothing is said of the others. */
  refused: { readonly revision: bigint; readonly detail: string } | undefined
  readonly tables: readonly Rows[]

  constructor(
    readonly conversationId: string,
    tables: readonly KeptRow[],
  ) {
    this.tables = tables.map((kept) => ({
      kept,
      held: new Map<string, Expected>(),
      comparing: new Map<string, Expected>(),
      pending: new Map<string, Expected>(),
      settled: 0,
    }))
  }

  /** The last revision of a stream that it has taken. */
  readonly seen = (stream: string): bigint => this.revisions.get(stream) ?? -1n

  /** Rows that wait to be compared. Those that are being compared do not count: else the next fact would wait for them. */
  get held(): number {
    let rows = 0
    for (const { held } of this.tables) rows += held.size
    return rows
  }

  get pending(): number {
    return this.tables.reduce((sum, { pending }) => sum + pending.size, 0)
  }

  private change(rows: Rows, change: RowChange): void {
    const key = keyWithin(rows.kept, change.op === 'put' ? change.row : change.key)
    const before = rows.held.get(key) ?? rows.comparing.get(key) ?? rows.pending.get(key)
    rows.held.delete(key)
    rows.comparing.delete(key)
    rows.pending.delete(key)
    if (change.op === 'put') rows.held.set(key, { row: change.row, partial: false })
    else if (change.op === 'delete') {
      // Facts that were found sound delete what they made before: where it is not held, it was found equal and
      // forgotten.
      if (rows.settled > 0 && (before === undefined || before.partial)) rows.settled -= 1
    } else if (before !== undefined)
      rows.held.set(key, { row: { ...before.row, ...change.set }, partial: before.partial })
    else if (rows.settled > 0) rows.held.set(key, { row: { ...change.key, ...change.set }, partial: true })
  }

  take(projections: readonly Projection[], event: RecordedEvent): void {
    this.revisions.set(event.stream, event.revision)
    if (event.position > this.position) this.position = event.position
    let from = 0
    for (const projection of projections) {
      for (const change of changesOf(projection, event)) {
        let at = from
        while (this.tables[at]?.kept.table.name !== change.table) at += 1
        const rows = this.tables[at]
        if (rows === undefined) throw new Error(`There is no table ${change.table} in ${projection.name}.`)
        this.change(rows, change)
        if (change.op === 'put' && !rows.kept.single)
          this.characters += 200 + charactersOf(change.row, rows.kept.columns)
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

/**
 * How many rows the facts make in a table. A row of which only changed cells are known is counted as settled already.
 */
const madeBy = ({ held, pending, settled }: Rows): number => {
  let count = settled
  for (const rows of [held, pending]) for (const { partial } of rows.values()) if (!partial) count += 1
  return count
}

/** The rows of one conversation and table that are to be compared now. */
interface AskedRows {
  readonly of: ConversationRows
  readonly rows: Rows
  readonly entries: readonly (readonly [key: string, expected: Expected])[]
}

/** Whether a cell is the one that the facts make: a number comes back from a database as a number or as text. */
const sameCell = (type: ColumnType | undefined, expected: Cell, found: Cell): boolean =>
  expected === found ||
  (type !== 'text' && type !== 'boolean' && expected !== null && found !== null && String(expected) === String(found))

/** The columns of a row that are others than the facts make; undefined where there is no such row. */
function othersIn(
  { table, columns }: KeptRow,
  { row, partial }: Expected,
  found: Row | undefined,
): readonly string[] | undefined {
  // A change of a row that is not there changes nothing; that a row is missing which was there, its count tells.
  if (found === undefined) return partial ? NONE : undefined
  const names = partial ? Object.keys(row) : columns
  let others: string[] | undefined
  for (const column of names) {
    if (!sameCell(table.columns[column], row[column] ?? null, found[column] ?? null)) (others ??= []).push(column)
  }
  return others ?? NONE
}

const NONE: readonly string[] = []

/** Rows of a table as they lie in the database, by conversation and by their key among its rows. */
type RowsThere = ReadonlyMap<string, ReadonlyMap<string, Row>>

/** Conversations behind one id, up to and with another; undefined where there is no such bound. */
type Range = readonly [after: string | undefined, upTo: string | undefined]

/** The condition of a range. Bounds that are not there are left out: an index is used for what is asked plainly. */
function within([after, upTo]: Range): { readonly where: string; readonly values: readonly string[] } {
  const bounds = [
    ...(after === undefined ? [] : ['conversation_id > $1']),
    ...(upTo === undefined ? [] : [`conversation_id <= $${after === undefined ? '1' : '2'}`]),
  ]
  return {
    where: bounds.length === 0 ? 'true' : bounds.join(' and '),
    values: [after, upTo].filter((bound) => bound !== undefined),
  }
}

/** The live tables in one snapshot: the generation of each projection, and where its checkpoints stand. */
type Generations = ReadonlyMap<
  string,
  { readonly generation: number; readonly checkpoints: readonly { readonly position: bigint }[] }
>

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const ELEMENT: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  int8: 'int8',
  int4: 'int4',
  float8: 'float8',
  boolean: 'boolean',
  jsonb: 'text',
  tsvector: 'text',
}

/** The columns of a row, as they are compared. */
const shownColumns = ({ table, columns }: KeptRow, of: string): string =>
  columns
    .map((column) =>
      table.columns[column] === 'jsonb' || table.columns[column] === 'tsvector'
        ? `${of}.${quoted(column)}::text as ${quoted(column)}`
        : `${of}.${quoted(column)}`,
    )
    .join(', ')

/**
 * Finds the rows under these keys, each with its place in the list. Each is looked up by itself, by the index of the
 * key, in a table of any size.
 */
function rowsByKey(kept: KeptRow, generation: number): string {
  const { table } = kept
  const keys = table.key.map((column, at) => `$${String(at + 1)}::${ELEMENT[table.columns[column] ?? 'text']}[]`)
  const names = table.key.map((_column, at) => `k${String(at)}`)
  const where = table.key.map((column, at) => `t.${quoted(column)} = asked.k${String(at)}`).join(' and ')
  return `select asked.place::int4 as "asked place", ${shownColumns(kept, 'there')}
    from unnest(${keys.join(', ')}) with ordinality as asked(${names.join(', ')}, place)
    cross join lateral (select * from ${quoted(physicalName(table.name, generation))} t where ${where} limit 1) there`
}

/** The first and the last of the keys that are asked for. */
interface Span {
  readonly column: string
  readonly from: bigint
  readonly to: bigint
}

/**
 * Where the rows of one conversation have numbers for keys that lie close together, as the messages of a long one have:
 * their span, which holds few others.
 */
function spanOf({ table }: KeptRow, expected: readonly Expected[]): Span | undefined {
  const [, column, further] = table.key
  if (column === undefined || further !== undefined || table.columns[column] !== 'int8') return undefined
  let from: bigint | undefined
  let to: bigint | undefined
  for (const { row } of expected) {
    const key = BigInt(String(row[column]))
    if (from === undefined || key < from) from = key
    if (to === undefined || key > to) to = key
  }
  if (from === undefined || to === undefined || to - from >= 2n * BigInt(expected.length)) return undefined
  return { column, from, to }
}

/**
 * Cells as they come back from the database, which orders the keys of a `jsonb` and the words of a `tsvector` in its
 * own way.
 */
async function asDatabaseSees(
  sql: Sql,
  { table }: KeptRow,
  expected: readonly Expected[],
): Promise<readonly Expected[]> {
  const reordered = Object.entries(table.columns).filter(([, type]) => type === 'jsonb' || type === 'tsvector')
  let seen = expected
  for (const [column, type] of reordered) {
    const texts = await sql.query<{ text: string | null }>(
      `select t::${type}::text as text from unnest($1::text[]) with ordinality as u(t, place) order by place`,
      [seen.map(({ row }) => row[column] ?? null)],
    )
    seen = seen.map(({ row, partial }, at) => ({
      row: { ...row, ...(partial && !Object.hasOwn(row, column) ? {} : { [column]: texts[at]?.text ?? null }) },
      partial,
    }))
  }
  return seen
}

/** A failure of a statement on a table that a swap has dropped. */
const isTableGone = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '42P01'

export function createRowCheck({
  db,
  projections,
  eventsFrom,
  catchUp,
  everyConversation,
}: RowCheckDependencies): RowCheck {
  const tables: readonly KeptRow[] = projections.flatMap((projection) =>
    projection.tables.map((table): KeptRow => {
      if (table.key[0] !== 'conversation_id')
        throw new Error(`The key of ${table.name} does not begin with conversation_id.`)
      return { projection, table, columns: Object.keys(table.columns), single: table.key.length === 1 }
    }),
  )
  let current: ConversationRows | undefined
  let ended: ConversationRows[] = []
  /**
   * The last conversation whose rows were counted: whatever stands behind it and before the next one is one too many.
   */
  let countedTo: string | undefined
  let told = 0

  /**
   * Work on the live tables as of one moment; from the physical tables, because a swap may drop them, and then the next
   * try finds the new ones.
   */
  async function snapshot<T>(work: (sql: Sql, generations: Generations) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await db.snapshot([], async (sql) => {
          const names = projections.map(({ name }) => name)
          const found = (await hasCheckpoints(sql)) ? await readGenerations(sql, names) : []
          return await work(
            sql,
            new Map(
              names.flatMap((name) => {
                const live = liveOf(found, name)
                return live === undefined ? [] : [[name, live] as const]
              }),
            ),
          )
        })
      } catch (error) {
        if (!isTableGone(error) || attempt === TRIES) throw error
      }
    }
  }

  /** The rows of a conversation from one key to another, by their keys. */
  async function rowsBetween(
    sql: Sql,
    kept: KeptRow,
    generation: number,
    conversationId: string,
    { column, from, to }: Span,
  ): Promise<ReadonlyMap<string, Row>> {
    const rows = await sql.query<Record<string, Cell>>(
      `select ${shownColumns(kept, 't')} from ${quoted(physicalName(kept.table.name, generation))} t where conversation_id = $1 and ${quoted(column)} between $2 and $3`,
      [conversationId, from, to],
    )
    return new Map(rows.map((row) => [keyWithin(kept, row), row]))
  }

  /** @param there the rows of these conversations, where they were read; else they are asked for by their keys */
  async function comparedTable(
    sql: Sql,
    generations: Generations,
    kept: KeptRow,
    asked: readonly AskedRows[],
    there?: RowsThere,
  ): Promise<void> {
    const live = generations.get(kept.projection.name)
    const all = asked.flatMap(({ of, rows, entries }) =>
      entries.map(([key, expected]) => ({ of, rows, key, expected })),
    )
    if (all.length === 0) return
    let found: (Row | undefined)[] = []
    if (there !== undefined) found = all.map(({ of, key }) => there.get(of.conversationId)?.get(key))
    else if (live !== undefined) {
      const [first] = asked
      const span =
        first !== undefined && asked.length === 1
          ? spanOf(
              kept,
              all.map((each) => each.expected),
            )
          : undefined
      if (first !== undefined && span !== undefined) {
        const its = await rowsBetween(sql, kept, live.generation, first.of.conversationId, span)
        found = all.map(({ key }) => its.get(key))
      } else {
        const rows = await sql.query<Record<string, Cell>>(
          rowsByKey(kept, live.generation),
          kept.table.key.map((column) => all.map(({ expected }) => expected.row[column] ?? null)),
        )
        for (const row of rows) found[Number(row['asked place']) - 1] = row
      }
    }
    const expected = await asDatabaseSees(
      sql,
      kept,
      all.map((each) => each.expected),
    )
    for (const [at, { rows, key, expected: folded }] of all.entries()) {
      // What a fact changed meanwhile is compared as it is now, later.
      if ((rows.held.get(key) ?? rows.comparing.get(key) ?? rows.pending.get(key)) !== folded) continue
      rows.held.delete(key)
      rows.comparing.delete(key)
      rows.pending.delete(key)
      const others = othersIn(kept, expected[at] ?? folded, found[at])
      if (others?.length !== 0) rows.pending.set(key, folded)
      else if (kept.single) rows.held.set(key, folded)
      else if (!folded.partial) rows.settled += 1
    }
  }

  /** Compares the oldest rows of the conversation that is being folded; those that are the same are forgotten. */
  async function relieve(of: ConversationRows): Promise<void> {
    const asked = of.tables
      .filter(({ kept }) => !kept.single)
      .map((rows): AskedRows => ({ of, rows, entries: [...rows.held].slice(0, Math.ceil(rows.held.size / 2)) }))
    for (const { rows, entries } of asked) {
      for (const [key, expected] of entries) {
        rows.held.delete(key)
        rows.comparing.set(key, expected)
      }
    }
    of.characters = 0
    await snapshot(async (sql, generations) => {
      for (const each of asked) await comparedTable(sql, generations, each.rows.kept, [each])
    })
    // What may still change are the rows of live messages and active batches.
    if (of.pending > MOST_PENDING + of.held) of.abandoned = true
  }

  /**
   * The rows of a table that the conversations of a range have, at one go and without sending the keys of all that is
   * expected. Undefined where there are many more rows than the facts make; then only those that are expected are read,
   * and the others counted.
   */
  async function rowsWithin(
    sql: Sql,
    generations: Generations,
    kept: KeptRow,
    range: Range,
    made: number,
  ): Promise<RowsThere | undefined> {
    const live = generations.get(kept.projection.name)
    const there = new Map<string, Map<string, Row>>()
    if (live === undefined) return there
    const { where, values } = within(range)
    const most = made + ROWS_TOO_MANY
    const rows = await sql.query<Record<string, Cell>>(
      `select ${shownColumns(kept, 't')} from ${quoted(physicalName(kept.table.name, live.generation))} t where ${where} limit ${String(most + 1)}`,
      values,
    )
    if (rows.length > most) return undefined
    for (const row of rows) {
      const id = String(row['conversation_id'])
      let its = there.get(id)
      if (its === undefined) there.set(id, (its = new Map<string, Row>()))
      its.set(keyWithin(kept, row), row)
    }
    return there
  }

  /** How many rows of a table each conversation has: of these, or of all between two. */
  async function counts(
    sql: Sql,
    generations: Generations,
    kept: KeptRow,
    ids: readonly string[],
    range: Range | undefined,
  ): Promise<ReadonlyMap<string, number>> {
    const live = generations.get(kept.projection.name)
    if (live === undefined) return new Map()
    const { where, values } =
      range === undefined ? { where: 'conversation_id = any($1::text[])', values: [ids] } : within(range)
    const rows = await sql.query<{ id: string; rows: string | number }>(
      `select conversation_id as id, count(*) as rows from ${quoted(physicalName(kept.table.name, live.generation))} where ${where} group by conversation_id`,
      values,
    )
    return new Map(rows.map(({ id, rows: count }) => [id, Number(count)]))
  }

  interface Counted {
    /** Conversations of which something differs. */
    readonly suspects: ReadonlySet<ConversationRows>
    /** Rows of conversations that are not among these. */
    readonly strangers: readonly { readonly kept: KeptRow; readonly conversationId: string }[]
  }

  /** Compares everything that is held of these conversations, and counts their rows. */
  async function compareAll(group: readonly ConversationRows[], range: Range | undefined): Promise<Counted> {
    // Of a conversation whose rows were forgotten, a range would read again what was found equal.
    const isWhole = group.every((of) => of.tables.every(({ settled }) => settled === 0))
    return await snapshot(async (sql, generations) => {
      const suspects = new Set<ConversationRows>()
      const strangers: { kept: KeptRow; conversationId: string }[] = []
      const byId = new Map(group.map((of) => [of.conversationId, of]))
      for (const [place, kept] of tables.entries()) {
        const asked = group.flatMap((of): AskedRows[] => {
          const rows = of.tables[place]
          return rows === undefined ? [] : [{ of, rows, entries: [...rows.held, ...rows.pending] }]
        })
        const made = asked.reduce((sum, { entries }) => sum + entries.length, 0)
        const there = range !== undefined && isWhole ? await rowsWithin(sql, generations, kept, range, made) : undefined
        await comparedTable(sql, generations, kept, asked, there)
        const found =
          there === undefined
            ? await counts(sql, generations, kept, [...byId.keys()], range)
            : new Map([...there].map(([id, its]) => [id, its.size]))
        for (const of of group) {
          const rows = of.tables[place]
          if (rows !== undefined && (rows.pending.size > 0 || madeBy(rows) !== (found.get(of.conversationId) ?? 0)))
            suspects.add(of)
        }
        for (const conversationId of found.keys())
          if (!byId.has(conversationId)) strangers.push({ kept, conversationId })
      }
      return { suspects, strangers }
    })
  }

  const nameOf = ({ projection, table }: KeptRow): string => `${projection.name}, table ${table.name}`
  const keyOf = ({ table }: KeptRow, row: Row): string =>
    JSON.stringify(
      Object.fromEntries(
        table.key.map((column) => [
          column,
          typeof row[column] === 'bigint' ? String(row[column]) : (row[column] ?? null),
        ]),
      ),
    )
  const revisionOf = (row: Row): bigint =>
    row['revision'] === undefined || row['revision'] === null ? -1n : BigInt(String(row['revision']))

  /** What differs of a conversation, in words, one sentence a row. */
  async function describe(of: ConversationRows): Promise<RowDifference[]> {
    return await snapshot(async (sql, generations) => {
      const found: RowDifference[] = []
      const say = (revision: bigint, detail: string): void => {
        if (told < MOST_DIFFERENCES) found.push({ conversationId: of.conversationId, revision, detail })
        if (told === MOST_DIFFERENCES)
          found.push({
            conversationId: of.conversationId,
            revision: -1n,
            detail: 'more rows differ, which are not listed',
          })
        told += 1
      }
      for (const rows of of.tables) {
        const { kept } = rows
        const live = generations.get(kept.projection.name)
        const at = live?.checkpoints[partitionOf(of.conversationId, live.checkpoints.length)]
        if (live === undefined || at === undefined || at.position < of.position) {
          // Said once for a read model, whatever tables it has.
          if (kept.table === kept.projection.tables[0])
            say(
              -1n,
              live === undefined || at === undefined
                ? `${kept.projection.name} was never built`
                : `${kept.projection.name} has come to position ${at.position.toString()}, and the conversation to ${of.position.toString()}`,
            )
          continue
        }
        const pending = [...rows.pending.values()]
        const there: (Row | undefined)[] = []
        const asked = await sql.query<Record<string, Cell>>(
          rowsByKey(kept, live.generation),
          kept.table.key.map((column) => pending.map(({ row }) => row[column] ?? null)),
        )
        for (const row of asked) there[Number(row['asked place']) - 1] = row
        const seen = await asDatabaseSees(sql, kept, pending)
        for (const [place, expected] of seen.entries()) {
          const others = othersIn(kept, expected, there[place])
          const row = `${nameOf(kept)}: the row ${keyOf(kept, expected.row)}`
          if (others === undefined) say(revisionOf(expected.row), `${row} is missing`)
          else if (others.length > 0)
            say(revisionOf({ ...there[place], ...expected.row }), `${row} is different (${others.join(', ')})`)
        }
        const counted = await counts(sql, generations, kept, [of.conversationId], undefined)
        const missing = pending.filter(({ partial }, place) => !partial && there[place] === undefined).length
        if ((counted.get(of.conversationId) ?? 0) > madeBy(rows) - missing)
          for await (const row of unexpected(sql, kept, live.generation, of))
            say(revisionOf(row), `${nameOf(kept)}: the row ${keyOf(kept, row)} is unexpected`)
      }
      return found
    })
  }

  /**
   * Rows that no fact makes. Only asked where there are some: their keys are found by folding the conversation once
   * more with all its keys in memory, which is the one place where memory grows with it.
   */
  async function* unexpected(sql: Sql, kept: KeptRow, generation: number, of: ConversationRows): AsyncIterable<Row> {
    const keys = keysOf.get(of)?.get(kept.table.name) ?? new Set<string>()
    let after: Row | undefined
    const key = kept.table.key.map(quoted).join(', ')
    for (;;) {
      const values: Cell[] = [
        of.conversationId,
        ...(after === undefined ? [] : kept.table.key.map((column) => after?.[column] ?? null)),
      ]
      const behind =
        after === undefined
          ? ''
          : ` and (${key}) > (${kept.table.key.map((_column, at) => `$${String(at + 2)}`).join(', ')})`
      const rows = await sql.query<Record<string, Cell>>(
        `select ${kept.columns.map(quoted).join(', ')} from ${quoted(physicalName(kept.table.name, generation))} where conversation_id = $1${behind} order by ${key} limit 1000`,
        values,
      )
      for (const row of rows) if (!keys.has(rowKey(kept.table, row))) yield row
      after = rows.at(-1)
      if (rows.length < 1_000) return
    }
  }

  /**
   * The keys that the facts of a conversation make, by table; found before the snapshot, because an embedded engine has
   * one connection.
   */
  const keysOf = new WeakMap<ConversationRows, ReadonlyMap<string, ReadonlySet<string>>>()

  async function foldKeys(of: ConversationRows): Promise<void> {
    const keys = new Map(tables.map(({ table }) => [table.name, new Set<string>()]))
    const byName = new Map(tables.map(({ table }) => [table.name, table]))
    for await (const event of eventsFrom(of.conversationId, () => -1n)) {
      if (event.revision > of.seen(event.stream)) continue
      for (const change of projections.flatMap((projection) => changesOf(projection, event))) {
        const table = byName.get(change.table)
        if (table === undefined) continue
        if (change.op === 'put') keys.get(change.table)?.add(rowKey(table, change.row))
        else if (change.op === 'delete') keys.get(change.table)?.delete(rowKey(table, change.key))
      }
    }
    keysOf.set(of, keys)
  }

  /** Looks again at what differs, with the facts that came meanwhile; tells what differs still. */
  async function settle(of: ConversationRows): Promise<RowDifference[]> {
    for (let attempt = 1; ; attempt += 1) {
      await catchUp()
      for await (const event of eventsFrom(of.conversationId, of.seen)) of.take(projections, event)
      const { suspects } = await compareAll([of], undefined)
      if (suspects.size === 0) return []
      if (attempt < TRIES && (await movedOn(of))) continue
      await foldKeys(of)
      return await describe(of)
    }
  }

  async function movedOn({ conversationId, seen }: ConversationRows): Promise<boolean> {
    for await (const _fact of eventsFrom(conversationId, seen)) return true
    return false
  }

  async function compareEnded(last: boolean): Promise<RowDifference[]> {
    const group = ended
    ended = []
    const upTo = group.at(-1)?.conversationId
    if (group.length === 0 && !(last && everyConversation)) return []
    const range = everyConversation ? ([countedTo, last ? undefined : upTo] as const) : undefined
    const { suspects, strangers } = await compareAll(group, range)
    countedTo = upTo ?? countedTo
    const found: RowDifference[] = []
    for (const of of suspects) {
      if (of.abandoned)
        found.push({
          conversationId: of.conversationId,
          revision: -1n,
          detail: `more than ${String(MOST_PENDING)} rows differ, so the read models do not belong to this conversation`,
        })
      else found.push(...(await settle(of)))
    }
    for (const { kept, conversationId } of strangers) {
      if (distrusted.has(conversationId)) continue
      // It may have begun since the list of conversations was read.
      if (!(await movedOn(new ConversationRows(conversationId, []))))
        found.push({
          conversationId,
          revision: -1n,
          detail: `${nameOf(kept)} has rows of ${conversationStream(conversationId)}, which is not in the log`,
        })
    }
    return found
  }

  /** Conversations whose facts have problems of their own, so that their rows are no strangers. */
  const distrusted = new Set<string>()
  /** Facts that no rows can be made of. */
  const refusals: RowDifference[] = []
  /**
   * The comparison that runs while further facts are taken: the database works meanwhile, and one that waits for it
   * would do nothing.
   */
  let running: Promise<readonly RowDifference[]> = Promise.resolve([])

  async function relieved(of: ConversationRows): Promise<readonly RowDifference[]> {
    await relieve(of)
    return []
  }

  return {
    begin(conversationId) {
      current = new ConversationRows(conversationId, tables)
    },
    take(event) {
      if (current === undefined || current.abandoned || current.refused !== undefined) return false
      try {
        current.take(projections, event)
      } catch (error) {
        const { stream, revision, type } = event
        current.refused = {
          revision,
          detail: `no rows can be made of ${type} at revision ${String(revision)} of ${stream}: ${thrownSentence(error)}`,
        }
      }
      return current.held >= ROWS_HELD || current.characters >= CHARACTERS_HELD
    },
    end(trusted) {
      if (current !== undefined && trusted && current.refused !== undefined) {
        refusals.push({ conversationId: current.conversationId, ...current.refused })
        distrusted.add(current.conversationId)
      } else if (current !== undefined && trusted) ended.push(current)
      else if (current !== undefined) distrusted.add(current.conversationId)
      current = undefined
      let held = 0
      let characters = 0
      for (const of of ended) {
        held += of.held + of.pending
        characters += of.characters
      }
      return held >= ROWS_HELD || characters >= CHARACTERS_HELD
    },
    async compare() {
      const found = await running
      running = current === undefined ? compareEnded(false) : relieved(current)
      // Whoever waits for it next hears of a failure; until then it is nobody's.
      running.catch(() => undefined)
      return found
    },
    finish: async () => [...(await running), ...(await compareEnded(true)), ...refusals],
  }
}
