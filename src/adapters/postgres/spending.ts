/** What editions have taken, in a table beside the log: a row for each edition, shared by all who make it. */
import type { TokenUsage } from '../../domain/reports/prices.js'
import type { Sql } from '../../ports/sql.js'
import type { Spending } from '../../ports/spending.js'
import { noRoomFor } from '../spending-bound.js'

interface Row {
  readonly prompt_tokens: string
  readonly completion_tokens: string
}

/** Spending in the table `edition_spending`, which `migrateLog` creates. */
export function createPostgresSpending(db: Sql): Spending {
  async function spentOn(editionId: string): Promise<TokenUsage> {
    const [row] = await db.query<Row>(SPENT, [editionId])
    return { promptTokens: Number(row?.prompt_tokens ?? 0), completionTokens: Number(row?.completion_tokens ?? 0) }
  }
  return {
    async setAside(editionId, asked, bound) {
      const { tokens, cost } = bound
      for (;;) {
        const [room] = await db.query(SET_ASIDE, [
          editionId,
          asked.promptTokens,
          asked.completionTokens,
          tokens ?? null,
          cost?.micros ?? null,
          cost?.price.promptPerMillion ?? null,
          cost?.price.completionPerMillion ?? null,
        ])
        if (room !== undefined) break
        const noRoom = noRoomFor(asked, await spentOn(editionId), bound)
        if (noRoom !== undefined) return noRoom
        // Between the two statements another call was settled for less: there is room after all.
      }
      return {
        kind: 'set-aside',
        async settle(took) {
          await db.query(SETTLE, [
            editionId,
            took.promptTokens - asked.promptTokens,
            took.completionTokens - asked.completionTokens,
          ])
        },
      }
    },
    spentOn,
  }
}

/**
 * Whether so many tokens are within the bound; the cost in double precision, step by step as `costMicros` reckons it.
 */
const isWithin = (prompt: string, completion: string): string => `
  ($4::bigint is null or ${prompt} + ${completion} <= $4::bigint)
  and ($5::float8 is null or ceil((${prompt})::float8 * $6::float8 + (${completion})::float8 * $7::float8) <= $5::float8)`

// One statement decides: of two who ask for the last tokens the second waits for the first one's row, and then finds it
// full. The first call of all makes the row, and is held to the bound as well.
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
