/** The bounds of a search in SQL. */
import type { Within } from '../../../src/ports/archive-index.js'
import type { Sql } from '../../../src/ports/sql.js'

/**
 * Within so many messages each of them is looked at: that costs what the bounds hold, and nothing of what others have.
 * Beyond it the indexes over all messages are quicker: then the bounds hold a share of all that is worth it.
 */
export const FEW = 10_000

/**
 * The condition that keeps a query within its bounds, for the parameter `$<at>`. A conversation that names no scope has
 * a row without one.
 *
 * A scope is asked of each row that was found. As a join (which a bare `exists` or `in` becomes), a planner without
 * statistics went through the index of terms once for each conversation of the scope: 24 ms against 10 with 30
 * conversations on the embedded engine. The inner columns have names of their own, so that `conversation_id` is the
 * outer one.
 */
export function withinCondition(
  within: Within,
  at: number,
): { readonly condition: string; readonly value: string | null } {
  const $at = `$${String(at)}::text`
  const named = 'select from archive_conversations as named (its_id, its_scope) where its_id = conversation_id'
  if ('conversationId' in within) return { condition: `conversation_id = ${$at}`, value: within.conversationId }
  if ('everywhere' in within) return { condition: `${$at} is null`, value: null }
  return { condition: `exists (${named} and its_scope is not distinct from ${$at}) is true`, value: within.scope }
}

const conversationsWithin = (within: Within, $at: string): string => {
  if ('conversationId' in within) return `(select ${$at} as id)`
  if ('everywhere' in within) return `(select conversation_id as id from archive_conversations where ${$at} is null)`
  return `(select conversation_id as id from archive_conversations where scope ${within.scope === null ? `is null and ${$at} is null` : `= ${$at}`})`
}

const valueOf = (within: Within): string | null =>
  'conversationId' in within ? within.conversationId : 'everywhere' in within ? null : within.scope

/**
 * The rows of a table that are within the bounds, as `m`, conversation by conversation: by the key, and no further than
 * these reach.
 */
export function rowsWithin(
  table: 'archive_messages' | 'archive_batches',
  within: Within,
  at: number,
): { readonly source: string; readonly value: string | null } {
  // The limit keeps a planner from turning it round: without statistics it would begin with all messages.
  const source = `${conversationsWithin(within, `$${String(at)}::text`)} as mine
    cross join lateral (select * from ${table} t where t.conversation_id = mine.id limit 2147483647) m`
  return { source, value: valueOf(within) }
}

export const messagesWithin = (within: Within, at: number): ReturnType<typeof rowsWithin> =>
  rowsWithin('archive_messages', within, at)

/** Whether so few messages are within the bounds that each may be looked at. */
export async function isSmall(sql: Sql, within: Within, few = FEW): Promise<boolean> {
  if ('everywhere' in within) return false
  const [counted] = await sql.query<{ messages: number }>(
    `select count(*)::int4 as messages from (
       select 1 from ${conversationsWithin(within, '$1::text')} as mine
       cross join lateral (select 1 from archive_messages t where t.conversation_id = mine.id limit ${String(few + 1)}) m limit ${String(few + 1)}
     ) as found`,
    [valueOf(within)],
  )
  return (counted?.messages ?? 0) <= few
}
