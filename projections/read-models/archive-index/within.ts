/** SQL conditions that restrict a search to its conversations. */
import type { Within } from '../../../src/ports/archive-index.js'
import type { Sql } from '../../../src/ports/sql.js'

/**
 * Up to this number of messages a search reads all of them, so its cost depends only on the searched conversations.
 * Above it the indexes over all messages are faster.
 */
export const FEW = 10_000

/**
 * The condition that restricts a query, with the parameter `$<at>`. A conversation without a scope has a row without one.
 *
 * The scope is checked for each row found. As a join (to which a plain `exists` or `in` is converted), a planner without
 * statistics read the index of terms once for each conversation of the scope: 24 ms compared with 10 ms, with 30
 * conversations on the embedded engine. The inner columns are renamed, so that `conversation_id` is the outer one.
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
 * The rows of a table in the searched conversations, as `m`. Reads each conversation by key, and no other rows.
 */
export function rowsWithin(
  table: 'archive_messages' | 'archive_batches',
  within: Within,
  at: number,
): { readonly source: string; readonly value: string | null } {
  // The limit prevents the planner from reordering the join: without statistics it would start with all messages.
  const source = `${conversationsWithin(within, `$${String(at)}::text`)} as selected
    cross join lateral (select * from ${table} t where t.conversation_id = selected.id limit 2147483647) m`
  return { source, value: valueOf(within) }
}

export const messagesWithin = (within: Within, at: number): ReturnType<typeof rowsWithin> =>
  rowsWithin('archive_messages', within, at)

/** Whether the searched conversations have at most `few` messages. */
export async function isSmall(sql: Sql, within: Within, few = FEW): Promise<boolean> {
  if ('everywhere' in within) return false
  const [counted] = await sql.query<{ messages: number }>(
    `select count(*)::int4 as messages from (
       select 1 from ${conversationsWithin(within, '$1::text')} as selected
       cross join lateral (select 1 from archive_messages t where t.conversation_id = selected.id limit ${String(few + 1)}) m limit ${String(few + 1)}
     ) as found`,
    [valueOf(within)],
  )
  return (counted?.messages ?? 0) <= few
}
