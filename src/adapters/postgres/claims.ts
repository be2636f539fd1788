/**
 * Claims in a table beside the log. They expire by the database's clock, because the clocks of two machines may differ by more than a claim lasts.
 */
import type { Claims } from '../../ports/claims.js'
import type { Sql } from '../../ports/sql.js'

/** Claims in the table `compaction_claims`, which `migrateLog` creates. */
export function createPostgresClaims(db: Sql): Claims {
  return {
    async take(key, owner, ttlMs) {
      const taken = await db.query(TAKE, [key, owner, ttlMs])
      if (taken.length === 0) return undefined
      return {
        extend: async () => (await db.query(EXTEND, [key, owner, ttlMs])).length > 0,
        release: async () => {
          await db.query(RELEASE, [key, owner])
        },
      }
    },
  }
}

// One statement decides: where two take at once, the second waits for the first one's row and then finds it held.
const TAKE = `
  insert into compaction_claims as held (key, owner, expires_at)
  values ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond')
  on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at
  where held.owner = excluded.owner or held.expires_at <= clock_timestamp()
  returning key`

// The owner fences: one whose claim ran out and went to another changes nothing. One that ran out and that nobody took is still ours.
const EXTEND = `
  update compaction_claims set expires_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where key = $1 and owner = $2
  returning key`

const RELEASE = 'delete from compaction_claims where key = $1 and owner = $2'
