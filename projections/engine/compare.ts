/**
 * Verifies that the rows are what the events produce. The handlers that write the rows also fold the events in memory,
 * and the folded rows are compared with the stored ones.
 *
 * Memory does not grow with a conversation. A row that has not changed for a while is compared by its key; if it is
 * equal, it is dropped and only counted. A row that differs stays, because a later event may change it to what the
 * database already has. At the end every expected row was found equal, and the table has exactly as many rows as the
 * events produce, so no extra rows exist.
 *
 * Each comparison reads one snapshot. A concurrent append changes rows whose event was not folded yet, so rows that
 * still differ at the end are compared again: after the projections have caught up, with the events appended meanwhile.
 */
import { conversationStream } from '../../src/domain/values/ids.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import type { RowCheck, RowDifference } from '../../src/ports/row-check.js'
import type { Database } from '../../src/ports/sql.js'
import {
  comparedTables,
  ConversationRows,
  type ComparedTable,
  type ExpectedRow,
  type TableRows,
} from './expected-rows.js'
import { rowKey } from './fold.js'
import { partitionOf } from './partitions.js'
import { changesOf, type Cell, type ColumnType, type Projection, type Row } from './projection.js'
import { readSnapshot, type Range, type RowsByConversation, type StoredRows } from './stored-rows.js'

export interface RowCheckDependencies {
  readonly db: Database
  readonly projections: readonly Projection[]
  /**
   * Events of a conversation and its editions that were appended after those already folded; the editions' first.
   * @param lastRevision the last folded revision of a stream, -1 if there is none
   */
  readonly eventsFrom: (
    conversationId: string,
    lastRevision: (stream: string) => number,
  ) => AsyncIterable<RecordedEvent>
  /** Applies the log up to its head to the rows. */
  readonly catchUp: () => Promise<void>
  /** True if every conversation of the log is compared, so that rows of any other conversation are unexpected. */
  readonly everyConversation: boolean
}

/**
 * Number of rows that are folded before the older half of them is compared. While those are compared, as many are
 * folded again.
 */
const MAX_WAITING_ROWS = 3_000
/** Number of characters in the rows of ended conversations before they are compared. */
const MAX_WAITING_CHARACTERS = 8_000_000
/** If a range has this many rows more than expected, they are only counted, not read. */
const EXTRA_ROWS_READ = 100
/** How often events appended meanwhile are fetched before a difference is reported. */
const MAX_ATTEMPTS = 5
/** Number of differences that are listed one by one. */
const MAX_DIFFERENCES = 200
/** If a conversation has this many mismatched rows more than waiting ones, its rows are not worth comparing. */
const MAX_MISMATCHED = 20_000

const NO_COLUMNS: readonly string[] = []

/** The rows of one conversation and table that are compared now. */
interface ComparedRows {
  readonly conversation: ConversationRows
  readonly rows: TableRows
  readonly entries: readonly (readonly [key: string, expected: ExpectedRow])[]
}

/** A table that has rows of a conversation outside the compared ones. */
interface UnexpectedConversation {
  readonly compared: ComparedTable
  readonly conversationId: string
}

interface Comparison {
  /** Conversations with at least one difference. */
  readonly mismatched: ReadonlySet<ConversationRows>
  readonly unexpected: readonly UnexpectedConversation[]
}

/** Whether a stored cell equals an expected one: a database returns a number as a number or as text. */
const sameCell = (type: ColumnType | undefined, expected: Cell, found: Cell): boolean =>
  expected === found ||
  (type !== 'text' && type !== 'boolean' && expected !== null && found !== null && String(expected) === String(found))

/** The columns of a row that differ; undefined if the row is missing. */
function differingColumns(
  { table, columns }: ComparedTable,
  { row, partial }: ExpectedRow,
  found: Row | undefined,
): readonly string[] | undefined {
  // A patch of a missing row changes nothing. If a confirmed row has disappeared since, the row count shows it.
  if (found === undefined) return partial ? NO_COLUMNS : undefined
  const names = partial ? Object.keys(row) : columns
  let differing: string[] | undefined
  for (const column of names) {
    if (!sameCell(table.columns[column], row[column] ?? null, found[column] ?? null)) (differing ??= []).push(column)
  }
  return differing ?? NO_COLUMNS
}

const nameOf = ({ projection, table }: ComparedTable): string => `${projection.name}, table ${table.name}`

/** A cell of a key. The database returns an `int8` as text, so that numbers are compared as texts. */
const cellText = (cell: unknown): unknown => (typeof cell === 'number' ? String(cell) : (cell ?? null))

const keyText = ({ table }: ComparedTable, row: Row): string =>
  JSON.stringify(Object.fromEntries(table.key.map((column) => [column, cellText(row[column])])))

const revisionOf = (row: Row): number =>
  row['revision'] === undefined || row['revision'] === null ? -1 : Number(String(row['revision']))

/** The stored row for each compared row, in the same order. */
async function storedRowsFor(
  stored: StoredRows,
  compared: ComparedTable,
  batches: readonly ComparedRows[],
): Promise<readonly (Row | undefined)[]> {
  const expected = batches.flatMap(({ entries }) => entries.map(([, row]) => row))
  const [first] = batches
  return first !== undefined && batches.length === 1
    ? await stored.ofConversation(compared, first.conversation.conversationId, expected)
    : await stored.byKeys(compared, expected)
}

/**
 * Compares rows of one table and records the result in them.
 * @param loaded the rows of these conversations if they were already read; otherwise they are read by key
 */
async function compareTable(
  stored: StoredRows,
  compared: ComparedTable,
  batches: readonly ComparedRows[],
  loaded?: RowsByConversation,
): Promise<void> {
  const all = batches.flatMap(({ conversation, rows, entries }) =>
    entries.map(([key, expected]) => ({ conversationId: conversation.conversationId, rows, key, expected })),
  )
  if (all.length === 0) return
  const found =
    loaded === undefined
      ? await storedRowsFor(stored, compared, batches)
      : all.map(({ conversationId, key }) => loaded.get(conversationId)?.get(key))
  const printed = await stored.asPrinted(
    compared,
    all.map(({ expected }) => expected),
  )
  for (const [at, { rows, key, expected }] of all.entries()) {
    // A row that an event has changed meanwhile is compared later, in its new state.
    if (rows.find(key) !== expected) continue
    rows.remove(key)
    const differing = differingColumns(compared, printed[at] ?? expected, found[at])
    if (differing?.length !== 0) rows.mismatched.set(key, expected)
    else if (compared.single) rows.waiting.set(key, expected)
    else if (!expected.partial) rows.confirmed += 1
  }
}

/** Compares the older half of the conversation's waiting rows; equal ones are dropped. */
async function compareOldest(
  { db, projections }: RowCheckDependencies,
  conversation: ConversationRows,
): Promise<readonly RowDifference[]> {
  const batches = conversation.tables
    .filter(({ compared }) => !compared.single)
    .map((rows): ComparedRows => ({
      conversation,
      rows,
      entries: [...rows.waiting].slice(0, Math.ceil(rows.waiting.size / 2)),
    }))
  for (const { rows, entries } of batches) {
    for (const [key, expected] of entries) {
      rows.waiting.delete(key)
      rows.comparing.set(key, expected)
    }
  }
  conversation.characters = 0
  await readSnapshot(db, projections, async (stored) => {
    for (const batch of batches) await compareTable(stored, batch.rows.compared, [batch])
  })
  // Later events can still change the rows of live messages and of active batches.
  if (conversation.mismatched > MAX_MISMATCHED + conversation.waiting) conversation.abandoned = true
  return []
}

/** Collects differences in words. After `MAX_DIFFERENCES` it adds one last sentence and drops the rest. */
class DifferenceList {
  private reported = 0

  add(found: RowDifference[], conversationId: string, revision: number, detail: string): void {
    if (this.reported < MAX_DIFFERENCES) found.push({ conversationId, revision, detail })
    if (this.reported === MAX_DIFFERENCES)
      found.push({ conversationId, revision: -1, detail: 'more rows differ, which are not listed' })
    this.reported += 1
  }
}

class RowComparison implements RowCheck {
  private readonly tables: readonly ComparedTable[]
  private readonly differences = new DifferenceList()
  private current: ConversationRows | undefined
  private ended: ConversationRows[] = []
  /** The last conversation whose rows were counted: any stored row between it and the next one is unexpected. */
  private countedTo: string | undefined
  /** Conversations whose events are faulty, so that their rows do not count as unexpected. */
  private readonly untrusted = new Set<string>()
  /** Events that cannot be turned into rows. */
  private readonly failures: RowDifference[] = []
  /** The comparison that runs while further events are folded, so that the database and this process work in parallel. */
  private running: Promise<readonly RowDifference[]> = Promise.resolve([])

  constructor(private readonly dependencies: RowCheckDependencies) {
    this.tables = comparedTables(dependencies.projections)
  }

  begin(conversationId: string): void {
    this.current = new ConversationRows(conversationId, this.tables)
  }

  take(event: RecordedEvent): boolean {
    const { current } = this
    if (current === undefined || current.abandoned || current.failure !== undefined) return false
    try {
      current.apply(this.dependencies.projections, event)
    } catch (error) {
      const { stream, revision, type } = event
      current.failure = {
        revision,
        detail: `cannot make rows from ${type} at revision ${String(revision)} of ${stream}: ${thrownSentence(error)}`,
      }
    }
    return current.waiting >= MAX_WAITING_ROWS || current.characters >= MAX_WAITING_CHARACTERS
  }

  end(trusted: boolean): boolean {
    const { current } = this
    if (current !== undefined && trusted && current.failure !== undefined) {
      this.failures.push({ conversationId: current.conversationId, ...current.failure })
      this.untrusted.add(current.conversationId)
    } else if (current !== undefined && trusted) this.ended.push(current)
    else if (current !== undefined) this.untrusted.add(current.conversationId)
    this.current = undefined
    let rows = 0
    let characters = 0
    for (const conversation of this.ended) {
      rows += conversation.waiting + conversation.mismatched
      characters += conversation.characters
    }
    return rows >= MAX_WAITING_ROWS || characters >= MAX_WAITING_CHARACTERS
  }

  async compare(): Promise<readonly RowDifference[]> {
    const found = await this.running
    this.running =
      this.current === undefined ? this.compareEnded(false) : compareOldest(this.dependencies, this.current)
    // The next caller awaits this promise and gets its failure; until then it must not count as unhandled.
    this.running.catch(() => undefined)
    return found
  }

  async finish(): Promise<readonly RowDifference[]> {
    return [...(await this.running), ...(await this.compareEnded(true)), ...this.failures]
  }

  private async compareEnded(last: boolean): Promise<RowDifference[]> {
    const { everyConversation } = this.dependencies
    const group = this.ended
    this.ended = []
    const upTo = group.at(-1)?.conversationId
    if (group.length === 0 && !(last && everyConversation)) return []
    const range = everyConversation ? ([this.countedTo, last ? undefined : upTo] as const) : undefined
    const { mismatched, unexpected } = await this.compareGroup(group, range)
    this.countedTo = upTo ?? this.countedTo
    const found: RowDifference[] = []
    for (const conversation of mismatched) {
      if (conversation.abandoned)
        found.push({
          conversationId: conversation.conversationId,
          revision: -1,
          detail: `more than ${String(MAX_MISMATCHED)} rows differ, so the read models do not belong to this conversation`,
        })
      else found.push(...(await this.compareAgain(conversation)))
    }
    for (const each of unexpected) found.push(...(await this.describeUnexpected(each)))
    return found
  }

  /** Compares all rows of these conversations that are in memory, and counts the stored rows. */
  private async compareGroup(group: readonly ConversationRows[], range: Range | undefined): Promise<Comparison> {
    const { db, projections } = this.dependencies
    // If rows of a conversation were already confirmed, reading the range would read them a second time.
    const readsRange = group.every(({ tables }) => tables.every(({ confirmed }) => confirmed === 0))
    return await readSnapshot(db, projections, async (stored) => {
      const mismatched = new Set<ConversationRows>()
      const unexpected: UnexpectedConversation[] = []
      const ids = new Set(group.map(({ conversationId }) => conversationId))
      for (const [at, compared] of this.tables.entries()) {
        const batches = group.flatMap((conversation): ComparedRows[] => {
          const rows = conversation.tables[at]
          return rows === undefined ? [] : [{ conversation, rows, entries: [...rows.waiting, ...rows.mismatched] }]
        })
        const limit = batches.reduce((sum, { entries }) => sum + entries.length, EXTRA_ROWS_READ)
        const loaded = range !== undefined && readsRange ? await stored.inRange(compared, range, limit) : undefined
        await compareTable(stored, compared, batches, loaded)
        const counts =
          loaded === undefined
            ? await stored.counts(compared, range === undefined ? [...ids] : { range })
            : new Map([...loaded].map(([id, rows]) => [id, rows.size]))
        for (const { conversation, rows } of batches) {
          if (rows.mismatched.size > 0 || rows.expectedCount !== (counts.get(conversation.conversationId) ?? 0))
            mismatched.add(conversation)
        }
        for (const conversationId of counts.keys())
          if (!ids.has(conversationId)) unexpected.push({ compared, conversationId })
      }
      return { mismatched, unexpected }
    })
  }

  /** Compares a conversation again with the events that were appended meanwhile; describes what still differs. */
  private async compareAgain(conversation: ConversationRows): Promise<RowDifference[]> {
    const { catchUp, eventsFrom, projections } = this.dependencies
    for (let attempt = 1; ; attempt += 1) {
      await catchUp()
      for await (const event of eventsFrom(conversation.conversationId, conversation.lastRevision))
        conversation.apply(projections, event)
      const { mismatched } = await this.compareGroup([conversation], undefined)
      if (mismatched.size === 0) return []
      if (attempt < MAX_ATTEMPTS && (await this.hasNewEvents(conversation))) continue
      // The keys are folded before the snapshot begins, because the embedded engine has one connection.
      return await this.describe(conversation, await this.foldKeys(conversation))
    }
  }

  private async hasNewEvents({ conversationId, lastRevision }: ConversationRows): Promise<boolean> {
    for await (const _event of this.dependencies.eventsFrom(conversationId, lastRevision)) return true
    return false
  }

  /** Rows of a conversation that the log does not have. It may have begun after the list of conversations was read. */
  private async describeUnexpected({ compared, conversationId }: UnexpectedConversation): Promise<RowDifference[]> {
    if (this.untrusted.has(conversationId) || (await this.hasNewEvents(new ConversationRows(conversationId, []))))
      return []
    return [
      {
        conversationId,
        revision: -1,
        detail: `${nameOf(compared)} has rows of ${conversationStream(conversationId)}, which is not in the log`,
      },
    ]
  }

  /**
   * The keys of all rows that a conversation's events produce, by table. This is the only place where memory grows with
   * a conversation, so it runs only after a difference was found.
   */
  private async foldKeys(conversation: ConversationRows): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { eventsFrom, projections } = this.dependencies
    const keys = new Map(this.tables.map(({ table }) => [table.name, new Set<string>()]))
    const byName = new Map(this.tables.map(({ table }) => [table.name, table]))
    for await (const event of eventsFrom(conversation.conversationId, () => -1)) {
      if (event.revision > conversation.lastRevision(event.stream)) continue
      for (const change of projections.flatMap((projection) => changesOf(projection, event))) {
        const table = byName.get(change.table)
        if (table === undefined) continue
        if (change.op === 'put') keys.get(change.table)?.add(rowKey(table, change.row))
        else if (change.op === 'delete') keys.get(change.table)?.delete(rowKey(table, change.key))
      }
    }
    return keys
  }

  /** Describes the differences of a conversation, one sentence for each row. */
  private async describe(
    conversation: ConversationRows,
    keys: ReadonlyMap<string, ReadonlySet<string>>,
  ): Promise<RowDifference[]> {
    const { db, projections } = this.dependencies
    return await readSnapshot(db, projections, async (stored) => {
      const found: RowDifference[] = []
      const add = (revision: number, detail: string): void => {
        this.differences.add(found, conversation.conversationId, revision, detail)
      }
      for (const rows of conversation.tables) {
        const { compared } = rows
        const lag = lagOf(stored, compared, conversation)
        if (lag === undefined)
          await describeTable(stored, conversation, rows, keys.get(compared.table.name) ?? new Set<string>(), add)
        // Reported once for a read model, not once for each of its tables.
        else if (compared.table === compared.projection.tables[0]) add(-1, lag)
      }
      return found
    })
  }
}

/** A sentence if the table's rows are not as far as the conversation's events; undefined if they are. */
function lagOf(stored: StoredRows, compared: ComparedTable, conversation: ConversationRows): string | undefined {
  const { name } = compared.projection
  const live = stored.live(compared)
  const checkpoint = live?.checkpoints[partitionOf(conversation.conversationId, live.checkpoints.length)]
  if (checkpoint === undefined) return `${name} was never built`
  if (checkpoint.position >= conversation.position) return undefined
  return `${name} is at position ${String(checkpoint.position)}, but the conversation is at ${String(conversation.position)}`
}

async function describeTable(
  stored: StoredRows,
  conversation: ConversationRows,
  rows: TableRows,
  keys: ReadonlySet<string>,
  add: (revision: number, detail: string) => void,
): Promise<void> {
  const { compared } = rows
  const mismatched = [...rows.mismatched.values()]
  const found = await stored.byKeys(compared, mismatched)
  const printed = await stored.asPrinted(compared, mismatched)
  for (const [at, expected] of printed.entries()) {
    const differing = differingColumns(compared, expected, found[at])
    const row = `${nameOf(compared)}: the row ${keyText(compared, expected.row)}`
    if (differing === undefined) add(revisionOf(expected.row), `${row} is missing`)
    else if (differing.length > 0)
      add(revisionOf({ ...found[at], ...expected.row }), `${row} is different (${differing.join(', ')})`)
  }
  const counts = await stored.counts(compared, [conversation.conversationId])
  const missing = mismatched.filter(({ partial }, at) => !partial && found[at] === undefined).length
  if ((counts.get(conversation.conversationId) ?? 0) <= rows.expectedCount - missing) return
  for await (const row of stored.unexpected(compared, conversation.conversationId, keys))
    add(revisionOf(row), `${nameOf(compared)}: the row ${keyText(compared, row)} is unexpected`)
}

export function createRowCheck(dependencies: RowCheckDependencies): RowCheck {
  return new RowComparison(dependencies)
}
