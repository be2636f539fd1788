/**
 * Claims in a table beside the log. They expire by the database's clock, because the clocks of two machines may differ
 * by more than a claim lasts.
 */
import type { Claims } from '../../ports/claims.js'
import type { Sql } from '../../ports/sql.js'

/** Claims in the table `compaction_claims`, which `migrateLog` creates. */
export function createPostgresClaims(db: Sql): Claims {
  return {
    async take(key, owner, ttlMs) {
      const [taken] = await db.query<{ fence: string }>(TAKE, [key, owner, ttlMs])
      if (taken === undefined) return undefined
      const fence = BigInt(taken.fence)
      return {
        fence,
        extend: async () => (await db.query(EXTEND, [key, fence, ttlMs])).length > 0,
        release: async () => {
          await db.query(RELEASE, [key, fence])
        },
      }
    },
    async holder(key) {
      const [held] = await db.query<{ owner: string; fence: string }>(HOLDER, [key])
      return held === undefined ? undefined : { owner: held.owner, fence: BigInt(held.fence) }
    },
  }
}

// One statement decides: where two take at once, the second waits for the first one's row and then finds it held.
// The fence is the default of its column, from a sequence: a claim that is released leaves no row behind, and the next
// fence is larger all the same.
const TAKE = `
  insert into compaction_claims as held (key, owner, expires_at)
  values ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond')
  on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at, fence = excluded.fence
  where held.owner = excluded.owner or held.expires_at <= clock_timestamp()
  returning fence`

// One whose claim ran out and was taken again changes nothing. One that ran out and that nobody took is still ours.
const EXTEND = `
  update compaction_claims set expires_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where key = $1 and fence = $2
  returning key`

const RELEASE = 'delete from compaction_claims where key = $1 and fence = $2'

const HOLDER = 'select owner, fence from compaction_claims where key = $1 and expires_at > clock_timestamp()'
