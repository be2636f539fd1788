/**
 * Checkpoints: the table `projection_checkpoints` has one row for each generation and partition.
 *
 * A checkpoint moves in the transaction that writes the rows, so each event is applied exactly once. It also stores what
 * other processes need to know: the last applied event (to detect another log), why a projection stopped, and the fence
 * of the process that applies events.
 */
import { storable } from '../../src/domain/text/terms.js'
import { LedgerError } from '../../src/lib/ledger-error.js'
import type { Sql } from '../../src/ports/sql.js'
import type { Projection } from './projection.js'

/** Why a projection stopped: a sentence, with the stream, revision and type if one event is the reason. */
export interface Stop {
  readonly reason: string
  /**
   * Advice for a user who needs the rows. `verify` does not print it: a rebuild would destroy evidence in the rows.
   */
  readonly advice?: string
  readonly stream?: string
  readonly revision?: number
  readonly type?: string
}

/** Why the rows of one conversation and its editions stopped. They show all events before `position` and none after. */
export interface ConversationStop extends Stop {
  /** The conversation, or the stream's name if the stream belongs to no conversation. */
  readonly conversationId: string
  /** Position of the first event that could not be applied. */
  readonly position: number
}

/** Position and id of an event, which together identify the log. */
export interface EventMark {
  readonly position: number
  readonly id: string
}

/**
 * `building`: a rebuild fills it while the live one is in use, and resumes it after a crash. `retired`: it was live, and
 * its tables are to be dropped.
 */
export type GenerationState = 'building' | 'live' | 'retired'

interface Checkpoint {
  readonly partition: number
  /** Position up to which all events are applied; -1 at the start. */
  readonly position: number
  /** The last applied event; undefined if there is none. */
  readonly event?: EventMark
  /** Its rows were made from another log. An event that cannot be applied stops only its conversation (`stopped`). */
  readonly stop?: Stop
  /** Fence of the claim under which it last moved; 0 if there was no claim. */
  readonly fence: number
  readonly updatedAt: string
}

export interface Generation {
  readonly name: string
  readonly generation: number
  readonly version: number
  readonly state: GenerationState
  /** Names of its tables, without the generation. Stored, so that a version with other tables can still drop these. */
  readonly tables: readonly string[]
  /** One for each partition, in order. */
  readonly checkpoints: readonly Checkpoint[]
  /** Stopped conversations. Empty if they were not read. */
  readonly stopped: readonly ConversationStop[]
}

/** The position up to which all of these checkpoints have applied the log; -1 if there are none. */
export const leastPosition = (checkpoints: readonly { readonly position: number }[]): number =>
  checkpoints.reduce((least, { position }) => (position < least ? position : least), checkpoints[0]?.position ?? -1)

/** The position of the checkpoint that is furthest; -1 if there are none. */
export const mostPosition = (checkpoints: readonly { readonly position: number }[]): number =>
  checkpoints.reduce((most, { position }) => (position > most ? position : most), -1)

const CHECKPOINTS = 'projection_checkpoints'
/**
 * The stopped conversations of each generation. A row is inserted or deleted in a transaction that locks the checkpoint
 * of the conversation's partition.
 */
const STOPS = 'projection_stops'

// The first statement creates the table as it was before partitions; the following ones upgrade a new or an old table.
// The unique index ensures that a projection has only one live generation.
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
 * Locks table changes in this schema until the transaction ends. Without it, one of two processes that create the same
 * table concurrently would fail.
 */
export async function lockLayout(sql: Sql): Promise<void> {
  await sql.query(
    `select pg_advisory_xact_lock(hashtextextended('context_ledger.projections.' || current_schema(), 0))`,
  )
}

/**
 * Locks index builds of rebuilds in this schema until the transaction ends. Without it, one of two processes that build
 * the same index concurrently would fail.
 */
export async function lockIndexes(sql: Sql): Promise<void> {
  await sql.query(`select pg_advisory_xact_lock(hashtextextended('context_ledger.indexes.' || current_schema(), 0))`)
}

/** Creates the table of checkpoints, or upgrades one of an older program. Requires `lockLayout`. */
export async function createCheckpoints(sql: Sql): Promise<void> {
  // `alter table` waits for all users of the table even if it changes nothing, so it runs only if necessary.
  if (!(await hasCheckpoints(sql))) await sql.script(CHECKPOINTS_SQL)
}

/** True if the tables exist in their current form. Checks the parts that were added last. */
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
 * Reads the generations of these projections, sorted by name and number, with their checkpoints. `lock` locks the
 * checkpoints until the transaction ends. `stops: false` does not read the stopped conversations, for callers that poll.
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
    position: Number(position),
    ...(eventPosition === null || eventId === null ? {} : { event: { position: Number(eventPosition), id: eventId } }),
    ...(stop === null ? {} : { stop: parseStop(stop) }),
    fence: Number(fence),
    updatedAt,
  }
}

function stopsOf(text: string | null): ConversationStop[] {
  if (text === null) return []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape that the query builds
  const rows = JSON.parse(text) as [conversationId: string, position: string, stop: string][]
  return rows.map(([conversationId, position, stop]) => ({
    ...parseStop(stop),
    conversationId,
    position: Number(position),
  }))
}

function parseStop(text: string): Stop {
  // Written by `recordStop`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { revision, ...stop } = JSON.parse(text) as Omit<Stop, 'revision'> & { readonly revision?: string }
  return revision === undefined ? stop : { ...stop, revision: Number(revision) }
}

/** The live generation of a projection. */
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

/** Sets the state of a generation, and raises its fence to at least that of the generation that it replaces. */
export async function setState(
  sql: Sql,
  name: string,
  generation: number,
  state: GenerationState,
  fence = 0,
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

/** A checkpoint, and the position at which the caller expects it. */
export interface ExpectedCheckpoint {
  readonly name: string
  readonly generation: number
  readonly partition: number
  readonly partitions: number
  readonly position: number
}

/** Idle timeout of a fenced transaction: a process that is suspended within one releases its row locks after it. */
const IDLE_MS = 3_000

const AT_EXPECTED_POSITION = 'name = $1 and generation = $2 and partition = $3 and partitions = $4 and position = $5'

/**
 * Moves a checkpoint if it is still at the expected position. Returns false if another process has moved it, the
 * generation was dropped or repartitioned, or the checkpoint has a larger fence. Must be the first statement of a
 * transaction that writes rows: a second runner waits for its row lock and then gets false.
 */
export async function advance(
  sql: Sql,
  from: ExpectedCheckpoint,
  to: number,
  event: EventMark | undefined,
  fence: number | undefined,
): Promise<boolean> {
  const moved = await sql.query(
    `update ${CHECKPOINTS} set position = $6, event_position = coalesce($7::int8, event_position), event_id = coalesce($8, event_id), stop = null, updated_at = clock_timestamp()
     where ${AT_EXPECTED_POSITION} and state <> 'retired' and ($9::int8 is null or fence <= $9::int8)
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

// A reason can quote unreadable text. SQL parses this JSON, and NUL or a lone surrogate in it would make every query of
// the stops fail.
const stopText = ({ reason, advice, stream, revision, type }: Stop): string =>
  JSON.stringify({ reason, advice, stream, revision: revision?.toString(), type }, (_key, value: unknown) =>
    typeof value === 'string' ? storable(value) : value,
  )

/** Records that these conversations stopped. Requires the transaction that moves the checkpoint past their events. */
export async function recordStopped(
  sql: Sql,
  { name, generation }: Pick<ExpectedCheckpoint, 'name' | 'generation'>,
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

/** How many of these conversations are recorded as stopped. */
export async function countStopped(
  sql: Sql,
  { name, generation }: Pick<ExpectedCheckpoint, 'name' | 'generation'>,
  conversationIds: readonly string[],
): Promise<number> {
  const [row] = await sql.query<{ count: string }>(
    `select count(*) as count from ${STOPS} where name = $1 and generation = $2 and conversation_id = any($3::text[])`,
    [name, generation, conversationIds],
  )
  return Number(row?.count ?? 0)
}

/**
 * Removes a conversation from the stopped ones. Returns false if another process has already done so. Requires the
 * transaction that completes the conversation's rows.
 */
export async function removeStopped(
  sql: Sql,
  { name, generation }: Pick<ExpectedCheckpoint, 'name' | 'generation'>,
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

/**
 * Records that the rows of a checkpoint were made from another log, for `status` in any process. Does nothing if the
 * checkpoint has moved.
 */
export async function recordStop(sql: Sql, at: ExpectedCheckpoint, stop: Stop): Promise<void> {
  await sql.query(`update ${CHECKPOINTS} set stop = $6, updated_at = clock_timestamp() where ${AT_EXPECTED_POSITION}`, [
    at.name,
    at.generation,
    at.partition,
    at.partitions,
    at.position,
    stopText(stop),
  ])
}

/** Removes the recorded reasons of these projections before they are retried. */
export async function clearStops(sql: Sql, names: readonly string[]): Promise<void> {
  await sql.query(`update ${CHECKPOINTS} set stop = null where name = any($1::text[]) and stop is not null`, [names])
}

/** The checkpoints have a larger fence: another process has the claim. */
export const fenced = (): LedgerError => new LedgerError('Fenced', 'another process has taken over the read models')

/**
 * Raises the fence of all checkpoints of these projections, so that a process with a smaller fence can no longer move
 * them. Throws `Fenced` if one has a larger fence.
 */
export async function raiseFence(sql: Sql, names: readonly string[], fence: number): Promise<void> {
  await sql.query(
    `update ${CHECKPOINTS} set fence = $2 where name = any($1::text[]) and state <> 'retired' and fence < $2`,
    [names, fence],
  )
  const larger = await sql.query(
    `select 1 from ${CHECKPOINTS} where name = any($1::text[]) and state <> 'retired' and fence > $2 limit 1`,
    [names, fence],
  )
  if (larger.length > 0) throw fenced()
}

/**
 * Replaces the checkpoints of a generation by this number of checkpoints at the same position. Returns false if its
 * checkpoints are not all at one position or one of them is stopped. Requires a transaction.
 */
export async function repartition(sql: Sql, name: string, generation: number, partitions: number): Promise<boolean> {
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
  const fence = checkpoints.reduce((most, checkpoint) => (checkpoint.fence > most ? checkpoint.fence : most), 0)
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
