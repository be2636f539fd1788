/** Tokens spent by editions, in a table of the log's database: one row for each edition, shared by all processes. */
import type { TokenSums } from '../../domain/reports/prices.js'
import type { Sql } from '../../ports/sql.js'
import type { Spending } from '../../ports/spending.js'
import { refusalFor } from '../spending-bound.js'

interface Row {
  readonly prompt_tokens: string
  readonly completion_tokens: string
}

/** Spending in the table `edition_spending`, which `migrateLog` creates. */
export function createPostgresSpending(db: Sql): Spending {
  async function spentOn(editionId: string): Promise<TokenSums> {
    const [row] = await db.query<Row>(SPENT, [editionId])
    return { promptTokens: Number(row?.prompt_tokens ?? 0), completionTokens: Number(row?.completion_tokens ?? 0) }
  }
  return {
    async reserve(editionId, requested, bound) {
      const { tokens, cost } = bound
      for (;;) {
        const [reserved] = await db.query(SET_ASIDE, [
          editionId,
          requested.promptTokens,
          requested.completionTokens,
          tokens ?? null,
          cost?.micros ?? null,
          cost?.price.promptPerMillion ?? null,
          cost?.price.completionPerMillion ?? null,
        ])
        if (reserved !== undefined) break
        const refusal = refusalFor(requested, await spentOn(editionId), bound)
        if (refusal !== undefined) return refusal
        // Between the two statements another call was settled for less, so the reservation may succeed now.
      }
      return {
        kind: 'set-aside',
        async settle(took) {
          await db.query(SETTLE, [
            editionId,
            took.promptTokens - requested.promptTokens,
            took.completionTokens - requested.completionTokens,
          ])
        },
      }
    },
    spentOn,
  }
}

/** Whether the tokens are within the bound. The cost uses double precision, with the same steps as `costMicros`. */
const isWithin = (prompt: string, completion: string): string => `
  ($4::bigint is null or ${prompt} + ${completion} <= $4::bigint)
  and ($5::float8 is null or ceil((${prompt})::float8 * $6::float8 + (${completion})::float8 * $7::float8) <= $5::float8)`

// One statement decides: of two processes that reserve the last tokens, the second waits for the first one's row and then
// exceeds the bound. The first reservation creates the row and is checked too.
const SET_ASIDE = `
  insert into edition_spending as s (edition_id, prompt_tokens, completion_tokens)
  select $1, $2::bigint, $3::bigint
  where ${isWithin('$2::bigint', '$3::bigint')}
  on conflict (edition_id) do update set prompt_tokens = s.prompt_tokens + excluded.prompt_tokens, completion_tokens = s.completion_tokens + excluded.completion_tokens
  where ${isWithin('s.prompt_tokens + excluded.prompt_tokens', 's.completion_tokens + excluded.completion_tokens')}
  returning edition_id`

const SETTLE =
  'update edition_spending set prompt_tokens = greatest(0, prompt_tokens + $2::bigint), completion_tokens = greatest(0, completion_tokens + $3::bigint) where edition_id = $1'

const SPENT = 'select prompt_tokens, completion_tokens from edition_spending where edition_id = $1'
