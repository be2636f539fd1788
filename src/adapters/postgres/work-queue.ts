/** The work queue in a table, for any number of workers. The log itself may be in another store. */
import type { Sql } from '../../ports/sql.js'
import type { LogCheckpoint, WorkQueue } from '../../ports/work-queue.js'

/** The queue in the tables that `migrateLog` creates. */
export function createPostgresWorkQueue(db: Sql): WorkQueue {
  async function checkpoint(): Promise<LogCheckpoint | undefined> {
    const [row] = await db.query<{ position: string; event_id: string }>(
      'select position, event_id from compaction_checkpoint',
    )
    return row === undefined ? undefined : { position: Number(row.position), eventId: row.event_id }
  }

  return {
    checkpoint,
    async note(conversationIds, move) {
      if (move === undefined) {
        await db.query(NOTE, [conversationIds])
        return true
      }
      const { from, to } = move
      return await db.transaction(async (sql) => {
        const moved = await (from === undefined
          ? sql.query(FIRST_CHECKPOINT, [to.position, to.eventId])
          : sql.query(MOVE_CHECKPOINT, [to.position, to.eventId, from.position, from.eventId]))
        if (moved.length > 0 && conversationIds.length > 0) await sql.query(NOTE, [conversationIds])
        return moved.length > 0
      })
    },
    async noteBacklog(conversationIds) {
      await db.query(NOTE_BACKLOG, [conversationIds])
    },
    async take({ leaseMs, except, tokensPerDay }) {
      let [row] = await db.query<TakenRow>(TAKE_READY, [leaseMs, except])
      if (row === undefined) [row] = await db.query<TakenRow>(TAKE_BACKLOG, [leaseMs, except])
      if (row === undefined) [row] = await db.query<TakenRow>(TAKE_RESTING, [leaseMs, except, tokensPerDay ?? null])
      return row === undefined
        ? undefined
        : { conversationId: row.conversation_id, lease: row.lease, failures: row.failures, resting: row.resting }
    },
    extend: async ({ conversationId, lease }, leaseMs) =>
      (await db.query(EXTEND, [conversationId, lease, leaseMs])).length > 0,
    async finish({ conversationId, lease }) {
      const deleted = await db.query(DELETE_FINISHED, [conversationId, lease])
      if (deleted.length === 0) await db.query(REQUEUE, [conversationId, lease])
    },
    async backOff({ conversationId, lease }, { ms, failures, tokensPerDay }) {
      await db.query(BACK_OFF, [conversationId, lease, ms, failures, tokensPerDay ?? null])
    },
    async release({ conversationId, lease }) {
      await db.query(RELEASE, [conversationId, lease])
    },
    async status() {
      const [row] = await db.query<{ waiting: number; running: number; resting: number }>(STATUS)
      return { waiting: row?.waiting ?? 0, running: row?.running ?? 0, resting: row?.resting ?? 0 }
    },
  }
}

// A process that is suspended inside the transaction blocks the others no longer than these milliseconds.
const IDLE = `set_config('idle_in_transaction_session_timeout', '3000', true)`
const FIRST_CHECKPOINT = `insert into compaction_checkpoint (position, event_id) values ($1, $2) on conflict (one) do nothing returning ${IDLE}`
const MOVE_CHECKPOINT = `update compaction_checkpoint set position = $1, event_id = $2 where position = $3 and event_id = $4 returning ${IDLE}`

// In the order of their ids, so that concurrent calls cannot deadlock.
const NOTE = `
  insert into compaction_queue as queue (conversation_id)
  select distinct id from unnest($1::text[]) id order by id
  on conflict (conversation_id) do update set noted = queue.noted + 1, backlog = false`
const NOTE_BACKLOG = `
  insert into compaction_queue as queue (conversation_id, backlog)
  select distinct id, true from unnest($1::text[]) id order by id
  on conflict (conversation_id) do update set noted = queue.noted + 1, ready_at = clock_timestamp() where queue.backlog`

interface TakenRow {
  readonly conversation_id: string
  readonly lease: string
  readonly failures: number
  readonly resting: boolean
}

// Skips rows that another worker is taking now. The lease is a new number each time.
const take = (resting: string, condition: string, order: 'asc' | 'desc' = 'asc'): string => `
  with picked as (
    select conversation_id, ${resting} as resting from compaction_queue
    where ${condition} and (lease_until is null or lease_until <= now()) and conversation_id <> all ($2::text[])
    order by 2, ready_at ${order} limit 1
    for update skip locked
  )
  update compaction_queue queue
  set lease = nextval('compaction_leases'), lease_until = now() + $1::float8 * interval '1 millisecond', looked = queue.noted
  from picked where queue.conversation_id = picked.conversation_id
  returning queue.conversation_id, queue.lease::text, queue.failures, picked.resting`

// Statements of their own, so that an index finds the next one among many thousands. A conversation that rests because of a
// lower limit than this worker's (null is no limit) can be taken.
const TAKE_READY = take('false', 'not backlog and ready_at <= now()')
const TAKE_BACKLOG = take('false', 'backlog and ready_at <= now()', 'desc')
const LIMIT_IS_HIGHER = '(tokens_per_day is not null and ($3::bigint is null or tokens_per_day < $3::bigint))'
const TAKE_RESTING = take(
  `not ${LIMIT_IS_HIGHER}`,
  `not backlog and ready_at > now() and (noted > looked or ${LIMIT_IS_HIGHER})`,
)

const EXTEND = `
  update compaction_queue set lease_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where conversation_id = $1 and lease = $2::bigint returning conversation_id`

const DELETE_FINISHED =
  'delete from compaction_queue where conversation_id = $1 and lease = $2::bigint and noted = looked returning conversation_id'
const REQUEUE = `
  update compaction_queue set lease = null, lease_until = null, failures = 0, tokens_per_day = null, backlog = false, ready_at = clock_timestamp()
  where conversation_id = $1 and lease = $2::bigint`
const BACK_OFF = `
  update compaction_queue
  set lease = null, lease_until = null, failures = $4, tokens_per_day = $5::bigint, backlog = false, ready_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where conversation_id = $1 and lease = $2::bigint`
const RELEASE =
  'update compaction_queue set lease = null, lease_until = null where conversation_id = $1 and lease = $2::bigint'

const STATUS = `
  select count(*) filter (where not running and ready_at <= clock_timestamp())::int as waiting,
    count(*) filter (where running)::int as running,
    count(*) filter (where not running and ready_at > clock_timestamp())::int as resting
  from (select ready_at, coalesce(lease_until > clock_timestamp(), false) as running from compaction_queue) queue`
