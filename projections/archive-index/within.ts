/** The bounds of a search as a condition of SQL. */
import type { Within } from '../../src/ports/archive-index.js'

/**
 * The condition that keeps a query within its bounds, for the parameter `$<at>`. A conversation that names no scope has no row.
 *
 * A scope is asked of each row that was found. As a join (which a bare `exists` or `in` becomes), a planner without statistics went through the index
 * of terms once for each conversation of the scope: 24 ms against 10 with 30 conversations on the embedded engine. The inner columns have names of
 * their own, so that `conversation_id` is the outer one.
 */
export function withinCondition(within: Within, at: number): { readonly condition: string; readonly value: string | null } {
  const $at = `$${String(at)}::text`
  const named = 'select from archive_conversations as named (its_id, its_scope) where its_id = conversation_id'
  if ('conversationId' in within) return { condition: `conversation_id = ${$at}`, value: within.conversationId }
  if ('everywhere' in within) return { condition: `${$at} is null`, value: null }
  if (within.scope === null) return { condition: `${$at} is null and exists (${named}) is not true`, value: null }
  return { condition: `exists (${named} and its_scope = ${$at}) is true`, value: within.scope }
}
