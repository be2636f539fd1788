/**
 * Token limits that all workers of a database share: one row for each minute and each day with spending.
 */
import type { Sql } from '../../ports/sql.js'
import type { TokenBudget, TokenLimits } from '../../ports/token-budget.js'

interface WindowRow {
  readonly period: 'day' | 'minute'
  readonly starts_at: string
  readonly used: string
  readonly opens_in_ms: number
}

/** The budget in the table that `migrateLog` creates; the limits are this process's own. */
export function createPostgresTokenBudget(db: Sql, limits: TokenLimits): TokenBudget {
  const limitOf = { day: limits.tokensPerDay, minute: limits.tokensPerMinute }
  return {
    limits,
    reserve: (tokens) =>
      db.transaction(async (sql) => {
        // The rows stay locked until the commit, so that only one of two workers gets the last tokens.
        await sql.query(OPEN, [String(IDLE_MS)])
        const windows = await sql.query<WindowRow>(WINDOWS)
        for (const { period, used, opens_in_ms } of windows) {
          const limit = limitOf[period]
          if (limit !== undefined && Number(used) + tokens > limit)
            return { kind: 'refused', period, limit, used: Number(used), opensInMs: opens_in_ms }
        }
        for (const { period, starts_at } of windows) await sql.query(SPEND, [period, starts_at, tokens])
        return {
          kind: 'reserved',
          async settle(spent) {
            // One statement for each row, so that no transaction locks two rows, which could cause a deadlock.
            for (const { period, starts_at } of windows) await db.query(SPEND, [period, starts_at, spent - tokens])
          },
        }
      }),
  }
}

/**
 * Time limit for an idle transaction: a process that is suspended inside one blocks the others no longer than this.
 */
const IDLE_MS = 3_000

// Days and minutes in UTC, whatever the session's time zone. Times are passed as text, so that no driver rounds them.
const OPEN = `
  with stale as (delete from compaction_tokens where starts_at < now() - interval '2 days' or (period = 'minute' and starts_at < now() - interval '1 hour'))
  insert into compaction_tokens (period, starts_at)
  select period, date_trunc(period, now(), 'UTC')
  from unnest(array['day', 'minute']) period, set_config('idle_in_transaction_session_timeout', $1, true) idle where idle <> ''
  on conflict do nothing`
const WINDOWS = `
  select period, starts_at::text, used, ceil(extract(epoch from starts_at + ('1 ' || period)::interval - now()) * 1000)::float8 as opens_in_ms
  from compaction_tokens where starts_at = date_trunc(period, now(), 'UTC') order by period for update`
const SPEND =
  'update compaction_tokens set used = greatest(0, used + $3::bigint) where period = $1 and starts_at = $2::timestamptz'
