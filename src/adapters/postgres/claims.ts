/**
 * Claims in a table of the log's database. They expire by the database's clock, because the clocks of two machines may
 * differ by more than the lifetime of a claim.
 */
import type { Claims } from '../../ports/claims.js'
import type { Sql } from '../../ports/sql.js'

/** Claims in the table `compaction_claims`, which `migrateLog` creates. */
export function createPostgresClaims(db: Sql): Claims {
  return {
    async take(key, owner, ttlMs) {
      const [row] = await db.query<{ fence: string }>(TAKE, [key, owner, ttlMs])
      if (row === undefined) return undefined
      const fence = Number(row.fence)
      return {
        fence,
        extend: async () => (await db.query(EXTEND, [key, fence, ttlMs])).length > 0,
        release: async () => {
          await db.query(RELEASE, [key, fence])
        },
      }
    },
    async holder(key) {
      const [row] = await db.query<{ owner: string; fence: string }>(HOLDER, [key])
      return row === undefined ? undefined : { owner: row.owner, fence: Number(row.fence) }
    },
  }
}

// One statement decides: if two processes take a claim concurrently, the second waits for the first one's row and then
// finds it taken. The fence comes from a sequence by the default of its column, so it increases even though releasing a
// claim deletes its row.
const TAKE = `
  insert into compaction_claims as claim (key, owner, expires_at)
  values ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond')
  on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at, fence = excluded.fence
  where claim.owner = excluded.owner or claim.expires_at <= clock_timestamp()
  returning fence`

// Extends an expired claim too, as long as no other process has taken it; otherwise changes nothing.
const EXTEND = `
  update compaction_claims set expires_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where key = $1 and fence = $2
  returning key`

const RELEASE = 'delete from compaction_claims where key = $1 and fence = $2'

const HOLDER = 'select owner, fence from compaction_claims where key = $1 and expires_at > clock_timestamp()'
