/**
 * The service's jobs, in the table that `migrateLog` creates. Any process can report a job; a job whose process has ended
 * is reported as lost.
 */
import type { Sql } from '../../ports/sql.js'
import type { JobRecord, JobState, JobStore } from '../../ports/service-state.js'

interface JobRow {
  readonly id: string
  readonly kind: string
  readonly key_id: string | null
  readonly conversation_id: string | null
  readonly state: JobState
  readonly progress: string | null
  readonly result: string | null
  readonly problem: string | null
  readonly created_at: string
  readonly ended_at: string | null
}

const time = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ${column}`
// A process extends `alive_until` every second; after that time it counts as ended.
const job = (result: string): string => `select id, kind, key_id, conversation_id,
  case when state = 'running' and alive_until < clock_timestamp() then 'lost' else state end as state,
  progress, ${result} as result, problem, ${time('created_at')}, ${time('ended_at')} from service_jobs`

const jobOf = (row: JobRow): JobRecord => ({
  id: row.id,
  kind: row.kind,
  keyId: row.key_id ?? undefined,
  conversationId: row.conversation_id ?? undefined,
  state: row.state,
  progress: row.progress ?? undefined,
  result: row.result ?? undefined,
  problem: row.problem ?? undefined,
  createdAt: row.created_at,
  endedAt: row.ended_at ?? undefined,
})

/** Jobs in a database. */
export function createPostgresJobStore(db: Sql): JobStore {
  return {
    async add({ id, kind, keyId, conversationId }, aliveForMs) {
      await db.query(
        `insert into service_jobs (id, kind, key_id, conversation_id, alive_until)
         values ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')`,
        [id, kind, keyId ?? null, conversationId ?? null, aliveForMs],
      )
    },
    async beat(id, progress, aliveForMs) {
      const [row] = await db.query<{ cancelled: boolean }>(
        `update service_jobs set progress = coalesce($2, progress), alive_until = clock_timestamp() + $3 * interval '1 millisecond'
         where id = $1 returning cancelled`,
        [id, progress ?? null, aliveForMs],
      )
      return { isCancelled: row?.cancelled === true }
    },
    async end(id, { state, result, problem, progress }) {
      await db.query(
        `update service_jobs set state = $2, result = $3, problem = $4, progress = coalesce($5, progress), ended_at = clock_timestamp()
         where id = $1 and state = 'running'`,
        [id, state, result ?? null, problem ?? null, progress ?? null],
      )
    },
    async find(id) {
      const [row] = await db.query<JobRow>(`${job('result')} where id = $1`, [id])
      return row === undefined ? undefined : jobOf(row)
    },
    async list({ limit, keyId }) {
      const rows = await db.query<JobRow>(
        `${job('null::text')} where $2::text is null or key_id = $2 order by service_jobs.created_at desc, id limit $1`,
        [limit, keyId ?? null],
      )
      return rows.map(jobOf)
    },
    async cancel(id) {
      const rows = await db.query(
        `update service_jobs set cancelled = true
         where id = $1 and state = 'running' and alive_until >= clock_timestamp() returning id`,
        [id],
      )
      return rows.length > 0
    },
    async forget(limit) {
      await db.query(
        `delete from service_jobs where (state <> 'running' or alive_until < clock_timestamp()) and id not in
           (select id from service_jobs order by created_at desc limit $1)`,
        [limit],
      )
    },
  }
}
