/** What editions have cost, in a table beside the log: a row for each edition, shared by all who make it. */
import type { Sql } from '../../ports/sql.js'
import type { Amount, Spending } from '../../ports/spending.js'

interface Row {
  readonly tokens: string
  readonly cost_micros: string
}

const amountOf = (row: Row | undefined): Amount => ({ tokens: Number(row?.tokens ?? 0), costMicros: Number(row?.cost_micros ?? 0) })

/** Spending in the table `edition_spending`, which `migrateLog` creates. */
export function createPostgresSpending(db: Sql): Spending {
  const spentOn = async (editionId: string): Promise<Amount> => amountOf((await db.query<Row>(SPENT, [editionId]))[0])
  return {
    async setAside(editionId, { tokens, costMicros }, bound) {
      const [room] = await db.query(SET_ASIDE, [editionId, tokens, costMicros, bound.tokens ?? null, bound.costMicros ?? null])
      if (room === undefined) {
        const spent = await spentOn(editionId)
        const byTokens = bound.tokens !== undefined && spent.tokens + tokens > bound.tokens
        // Between the two statements another call may have been settled for less; it is a no all the same, and the tokens are told only where they are why.
        return byTokens || bound.costMicros === undefined
          ? { kind: 'no-room', of: 'tokens', bound: bound.tokens ?? 0, spent: spent.tokens }
          : { kind: 'no-room', of: 'cost', bound: bound.costMicros, spent: spent.costMicros }
      }
      return {
        kind: 'set-aside',
        async settle(took) {
          await db.query(SETTLE, [editionId, took.tokens - tokens, took.costMicros - costMicros])
        },
      }
    },
    spentOn,
  }
}

// One statement decides: of two who ask for the last tokens the second waits for the first one's row, and then finds it full. The first call
// of all makes the row, and is held to the bound as well.
const SET_ASIDE = `
  insert into edition_spending as s (edition_id, tokens, cost_micros)
  select $1, $2::bigint, $3::bigint
  where ($4::bigint is null or $2::bigint <= $4::bigint) and ($5::bigint is null or $3::bigint <= $5::bigint)
  on conflict (edition_id) do update set tokens = s.tokens + excluded.tokens, cost_micros = s.cost_micros + excluded.cost_micros
  where ($4::bigint is null or s.tokens + excluded.tokens <= $4::bigint) and ($5::bigint is null or s.cost_micros + excluded.cost_micros <= $5::bigint)
  returning edition_id`

const SETTLE = 'update edition_spending set tokens = greatest(0, tokens + $2::bigint), cost_micros = greatest(0, cost_micros + $3::bigint) where edition_id = $1'

const SPENT = 'select tokens, cost_micros from edition_spending where edition_id = $1'
