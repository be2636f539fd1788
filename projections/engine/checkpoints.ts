/**
 * How far the rows have come: a row for each generation and partition in `projection_checkpoints`.
 *
 * A checkpoint moves in the transaction that writes the rows, which is what makes delivery exactly once. It also keeps
 * what other processes have to know: which event was applied last (so that another log is noticed), why a projection
 * stopped, and the fence of the process that keeps it.
 */
import { storable } from '../../src/domain/text-search/terms.js'
import type { Sql } from '../../src/ports/sql.js'
import type { Projection } from './projection.js'

/** Why a projection does not go on: a sentence, with the stream, revision and type where one fact is the reason. */
export interface Stop {
  readonly reason: string
  /**
   * What may be done about it, for who wants the rows. Who proves the log is not told: to make rows anew is to lose
   * what they witness.
   */
  readonly advice?: string
  readonly stream?: string
  readonly revision?: bigint
  readonly type?: string
}

/**
 * Why the rows of one conversation, its editions' included, do not go on: they show everything before `position`, and
 * nothing from there on.
 */
export interface ConversationStop extends Stop {
  /** The conversation; of a stream that is of none, the stream's name. */
  readonly conversationId: string
  /** Of the first fact that could not be applied. */
  readonly position: bigint
}

/** An event by its place and its id, which together belong to one log alone. */
export interface EventMark {
  readonly position: bigint
  readonly id: string
}

/**
 * `building` is filled beside the live one and resumed after a crash; `retired` was live, and its tables wait to be
 * dropped.
 */
export type GenerationState = 'building' | 'live' | 'retired'

interface Checkpoint {
  readonly partition: number
  /** The last position that its rows show; -1n before the first. */
  readonly position: bigint
  /** The last event among those that it has applied; undefined before the first. */
  readonly event?: EventMark
  readonly stop?: Stop
  /** Of the claim under which it was moved last; 0n where none was needed. */
  readonly fence: bigint
  readonly updatedAt: string
}

export interface Generation {
  readonly name: string
  readonly generation: number
  readonly version: number
  readonly state: GenerationState
  /**
   * The names of its tables, without the generation. A later version may have others, and these must still be found to
   * be dropped.
   */
  readonly tables: readonly string[]
  /** One a partition, in their order. */
  readonly checkpoints: readonly Checkpoint[]
  /** Conversations whose rows do not go on. Empty where it was not asked for. */
  readonly stopped: readonly ConversationStop[]
}

/** The place that all rows of a generation have come to. */
export const leastPosition = (checkpoints: readonly { readonly position: bigint }[]): bigint =>
  checkpoints.reduce((least, { position }) => (position < least ? position : least), checkpoints[0]?.position ?? -1n)

/** The place that the rows furthest ahead have come to. */
export const mostPosition = (checkpoints: readonly { readonly position: bigint }[]): bigint =>
  checkpoints.reduce((most, { position }) => (position > most ? position : most), -1n)

const CHECKPOINTS = 'projection_checkpoints'
/**
 * The conversations at which a generation stopped. A row comes and goes in a transaction that holds the checkpoint of
 * its conversation's partition.
 */
const STOPS = 'projection_stops'

// The first statement is the table as it was before there were partitions; what follows brings it, new or old, to what
// it is now. One live generation a name is a rule of the database, so that no mistake here can show readers two.
const CHECKPOINTS_SQL = `
  create table if not exists ${CHECKPOINTS} (
    name text not null,
    generation int4 not null,
    version int4 not null,
    position int8 not null,
    state text not null check (state in ('building', 'live', 'retired')),
    tables text not null,
    updated_at timestamptz not null default clock_timestamp(),
    primary key (name, generation)
  );
  alter table ${CHECKPOINTS}
    add column if not exists partition int4 not null default 0,
    add column if not exists partitions int4 not null default 1,
    add column if not exists event_position int8,
    add column if not exists event_id text,
    add column if not exists stop text,
    add column if not exists fence int8 not null default 0,
    drop constraint if exists ${CHECKPOINTS}_pkey,
    add constraint ${CHECKPOINTS}_pkey primary key (name, generation, partition);
  drop index if exists ${CHECKPOINTS}_live;
  create unique index ${CHECKPOINTS}_live on ${CHECKPOINTS} (name, partition) where state = 'live';
  create table if not exists ${STOPS} (
    name text not null,
    generation int4 not null,
    conversation_id text collate "C" not null,
    position int8 not null,
    stop text not null,
    primary key (name, generation, conversation_id)
  )`

/**
 * Waits until nobody else lays out tables in this schema; two processes that create the same table at once make one of
 * them fail. Held until the transaction ends.
 */
export async function lockLayout(sql: Sql): Promise<void> {
  await sql.query(
    `select pg_advisory_xact_lock(hashtextextended('context_ledger.projections.' || current_schema(), 0))`,
  )
}

/**
 * Waits until nobody else builds indexes for a rebuild in this schema: two that build the same index at once make one
 * of them fail. Held until the transaction ends.
 */
export async function lockIndexes(sql: Sql): Promise<void> {
  await sql.query(`select pg_advisory_xact_lock(hashtextextended('context_ledger.indexes.' || current_schema(), 0))`)
}

/**
 * Creates the table of checkpoints where it is missing, and brings one of an older program up to date. Wants
 * `lockLayout`.
 */
export async function createCheckpoints(sql: Sql): Promise<void> {
  // Altering a table waits for everybody who uses it, also where there is nothing to alter.
  if (!(await hasCheckpoints(sql))) await sql.script(CHECKPOINTS_SQL)
}

/** False where nothing was ever projected into this database, or an older program did. What was made last tells. */
export async function hasCheckpoints(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ exists: boolean }>(
    `select to_regclass('${STOPS}') is not null and exists (select from pg_attribute where attrelid = to_regclass('${CHECKPOINTS}') and attname = 'fence' and not attisdropped) as exists`,
  )
  return row?.exists === true
}

interface CheckpointRow {
  name: string
  generation: number
  version: number
  position: string
  state: GenerationState
  tables: string
  updatedAt: string
  partition: number
  eventPosition: string | null
  eventId: string | null
  stop: string | null
  fence: string
  stopped: string | null
}

/**
 * The generations of these projections, by name and number, with their checkpoints. With `lock` they stand still until
 * the transaction ends; without `stops` they do not say which conversations are stopped, which who looks again and
 * again need not know.
 */
export async function readGenerations(
  sql: Sql,
  names: readonly string[],
  options: { readonly lock?: boolean; readonly stops?: boolean } = {},
): Promise<Generation[]> {
  const stopped = `(select json_agg(json_build_array(s.conversation_id, s.position::text, s.stop) order by s.position)::text from ${STOPS} s where s.name = c.name and s.generation = c.generation)`
  const rows = await sql.query<CheckpointRow>(
    `select name, generation, version, position, state, tables, to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
       partition, event_position as "eventPosition", event_id as "eventId", stop, fence, ${options.stops === false ? 'null' : `case when partition = 0 then ${stopped} end`} as stopped
     from ${CHECKPOINTS} c where name = any($1::text[]) order by name, generation, partition${options.lock === true ? ' for update' : ''}`,
    [names],
  )
  const generations: (Generation & { readonly checkpoints: Checkpoint[] })[] = []
  for (const row of rows) {
    const { name, generation, version, state } = row
    const last = generations.at(-1)
    if (last?.name === name && last.generation === generation) last.checkpoints.push(checkpointOf(row))
    else
      generations.push({
        name,
        generation,
        version,
        state,
        tables: row.tables.split(' '),
        checkpoints: [checkpointOf(row)],
        stopped: stopsOf(row.stopped),
      })
  }
  return generations
}

function checkpointOf({
  partition,
  position,
  eventPosition,
  eventId,
  stop,
  fence,
  updatedAt,
}: CheckpointRow): Checkpoint {
  return {
    partition,
    position: BigInt(position),
    ...(eventPosition === null || eventId === null ? {} : { event: { position: BigInt(eventPosition), id: eventId } }),
    ...(stop === null ? {} : { stop: parseStop(stop) }),
    fence: BigInt(fence),
    updatedAt,
  }
}

function stopsOf(text: string | null): ConversationStop[] {
  if (text === null) return []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the query that asked for it
  const rows = JSON.parse(text) as [conversationId: string, position: string, stop: string][]
  return rows.map(([conversationId, position, stop]) => ({
    ...parseStop(stop),
    conversationId,
    position: BigInt(position),
  }))
}

function parseStop(text: string): Stop {
  // We wrote it: see `recordStop`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { revision, ...stop } = JSON.parse(text) as Omit<Stop, 'revision'> & { readonly revision?: string }
  return revision === undefined ? stop : { ...stop, revision: BigInt(revision) }
}

/** The live generation among several. */
export const liveOf = (generations: readonly Generation[], name: string): Generation | undefined =>
  generations.find((generation) => generation.name === name && generation.state === 'live')

/** Adds the checkpoints of a new generation, at the start of the log. */
export async function addGeneration(
  sql: Sql,
  projection: Projection,
  generation: number,
  state: GenerationState,
  partitions: number,
): Promise<void> {
  await sql.query(
    `insert into ${CHECKPOINTS} (name, generation, version, position, state, tables, partition, partitions)
     select $1, $2::int4, $3::int4, -1, $4, $5, partition, $6::int4 from generate_series(0, $6::int4 - 1) as p(partition)`,
    [
      projection.name,
      generation,
      projection.version,
      state,
      projection.tables.map((table) => table.name).join(' '),
      partitions,
    ],
  )
}

/**
 * What a swap changes of a generation: its state, and the fence, which must not fall behind that of the rows it takes
 * the place of.
 */
export async function setState(
  sql: Sql,
  name: string,
  generation: number,
  state: GenerationState,
  fence = 0n,
): Promise<void> {
  await sql.query(
    `update ${CHECKPOINTS} set state = $3, fence = greatest(fence, $4::int8), updated_at = clock_timestamp() where name = $1 and generation = $2`,
    [name, generation, state, fence],
  )
}

export async function removeGeneration(sql: Sql, name: string, generation: number): Promise<void> {
  await sql.query(`delete from ${CHECKPOINTS} where name = $1 and generation = $2`, [name, generation])
  await sql.query(`delete from ${STOPS} where name = $1 and generation = $2`, [name, generation])
}

/** A checkpoint by its name, as a worker has it in mind. */
export interface CheckpointPlace {
  readonly name: string
  readonly generation: number
  readonly partition: number
  readonly partitions: number
  readonly position: bigint
}

/**
 * How long a transaction that is fenced may stand idle: a process that was stopped in the middle of one holds its rows
 * no longer than that.
 */
const IDLE_MS = 3_000

// Where it still stands, and nobody with a larger fence has come since.
const STANDS = 'name = $1 and generation = $2 and partition = $3 and partitions = $4 and position = $5'

/**
 * Moves a checkpoint on, where it still stands at its place; false where somebody else was faster, the generation is
 * gone or divided anew, or the fence is an old one. The first statement of a transaction that writes rows: the row lock
 * that it takes makes a second runner wait, and then see that it lost.
 */
export async function advance(
  sql: Sql,
  from: CheckpointPlace,
  to: bigint,
  event: EventMark | undefined,
  fence: bigint | undefined,
): Promise<boolean> {
  const moved = await sql.query(
    `update ${CHECKPOINTS} set position = $6, event_position = coalesce($7::int8, event_position), event_id = coalesce($8, event_id), stop = null, updated_at = clock_timestamp()
     where ${STANDS} and state <> 'retired' and ($9::int8 is null or fence <= $9::int8)
     returning case when $9::int8 is not null then set_config('idle_in_transaction_session_timeout', '${String(IDLE_MS)}', true) end`,
    [
      from.name,
      from.generation,
      from.partition,
      from.partitions,
      from.position,
      to,
      event?.position ?? null,
      event?.id ?? null,
      fence ?? null,
    ],
  )
  return moved.length === 1
}

// A reason quotes what could not be read, and a list reads it by SQL: there NUL and half a letter would be an error of
// everybody's list.
const stopText = ({ reason, advice, stream, revision, type }: Stop): string =>
  JSON.stringify({ reason, advice, stream, revision: revision?.toString(), type }, (_key, value: unknown) =>
    typeof value === 'string' ? storable(value) : value,
  )

/** Notes that rows of these conversations do not go on. Wants the transaction that moves the checkpoint past them. */
export async function recordStopped(
  sql: Sql,
  { name, generation }: Pick<CheckpointPlace, 'name' | 'generation'>,
  stopped: readonly ConversationStop[],
): Promise<void> {
  if (stopped.length === 0) return
  await sql.query(
    `insert into ${STOPS} (name, generation, conversation_id, position, stop)
     select $1, $2::int4, id, position, stop from unnest($3::text[], $4::int8[], $5::text[]) as s(id, position, stop) on conflict do nothing`,
    [
      name,
      generation,
      stopped.map(({ conversationId }) => conversationId),
      stopped.map(({ position }) => position),
      stopped.map(stopText),
    ],
  )
}

/** How many of these conversations are stopped, as the transaction sees it. */
export async function countStopped(
  sql: Sql,
  { name, generation }: Pick<CheckpointPlace, 'name' | 'generation'>,
  conversationIds: readonly string[],
): Promise<number> {
  const [row] = await sql.query<{ count: string }>(
    `select count(*) as count from ${STOPS} where name = $1 and generation = $2 and conversation_id = any($3::text[])`,
    [name, generation, conversationIds],
  )
  return Number(row?.count ?? 0)
}

/**
 * Forgets that a conversation is stopped, because its rows are complete again. False where somebody else was faster.
 * Wants the transaction that completes them.
 */
export async function forgetStopped(
  sql: Sql,
  { name, generation }: Pick<CheckpointPlace, 'name' | 'generation'>,
  conversationId: string,
): Promise<boolean> {
  return (
    (
      await sql.query(`delete from ${STOPS} where name = $1 and generation = $2 and conversation_id = $3 returning 1`, [
        name,
        generation,
        conversationId,
      ])
    ).length === 1
  )
}

/** Notes why a checkpoint does not move, for `status` in any process; not where somebody has moved it since. */
export async function recordStop(sql: Sql, at: CheckpointPlace, stop: Stop): Promise<void> {
  await sql.query(`update ${CHECKPOINTS} set stop = $6, updated_at = clock_timestamp() where ${STANDS}`, [
    at.name,
    at.generation,
    at.partition,
    at.partitions,
    at.position,
    stopText(stop),
  ])
}

/** Forgets why these stopped, because they are tried again. */
export async function clearStops(sql: Sql, names: readonly string[]): Promise<void> {
  await sql.query(`update ${CHECKPOINTS} set stop = null where name = any($1::text[]) and stop is not null`, [names])
}

/** Another process has the claim by now: its fence is on the checkpoints. */
export class Fenced extends Error {
  constructor() {
    super('another process keeps the read models by now')
    this.name = 'Fenced'
  }
}

/**
 * Puts a fence on all checkpoints of these projections. From then on nobody with a smaller one moves them; throws
 * `Fenced` where a larger one is there.
 */
export async function raiseFence(sql: Sql, names: readonly string[], fence: bigint): Promise<void> {
  await sql.query(
    `update ${CHECKPOINTS} set fence = $2 where name = any($1::text[]) and state <> 'retired' and fence < $2`,
    [names, fence],
  )
  const larger = await sql.query(
    `select 1 from ${CHECKPOINTS} where name = any($1::text[]) and state <> 'retired' and fence > $2 limit 1`,
    [names, fence],
  )
  if (larger.length > 0) throw new Fenced()
}

/**
 * Divides a generation anew: so many checkpoints, all at one place, in place of those it has. False where these do not
 * all stand at one place (then they have to be brought there first) or one of them is stopped. Wants a transaction.
 */
export async function divide(sql: Sql, name: string, generation: number, partitions: number): Promise<boolean> {
  const found = (await readGenerations(sql, [name], { lock: true })).find((one) => one.generation === generation)
  if (found === undefined) return false
  const { checkpoints } = found
  const position = mostPosition(checkpoints)
  if (checkpoints.some((checkpoint) => checkpoint.stop !== undefined || checkpoint.position !== position)) return false
  const event = checkpoints
    .flatMap((checkpoint) => checkpoint.event ?? [])
    .reduce<EventMark | undefined>(
      (last, mark) => (last === undefined || mark.position > last.position ? mark : last),
      undefined,
    )
  const fence = checkpoints.reduce((most, checkpoint) => (checkpoint.fence > most ? checkpoint.fence : most), 0n)
  await sql.query(`delete from ${CHECKPOINTS} where name = $1 and generation = $2`, [name, generation])
  await sql.query(
    `insert into ${CHECKPOINTS} (name, generation, version, position, state, tables, partition, partitions, event_position, event_id, fence)
     select $1, $2::int4, $3::int4, $4::int8, $5, $6, partition, $7::int4, $8::int8, $9, $10::int8 from generate_series(0, $7::int4 - 1) as p(partition)`,
    [
      name,
      generation,
      found.version,
      position,
      found.state,
      found.tables.join(' '),
      partitions,
      event?.position ?? null,
      event?.id ?? null,
      fence,
    ],
  )
  return true
}
