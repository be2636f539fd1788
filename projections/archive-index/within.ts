/** The bounds of a search as a condition of SQL. */
import type { Within } from '../../src/ports/archive-index.js'

/** The condition that keeps a query within its bounds, for the parameter `$<at>`. A conversation that names no scope has no row. */
export function withinCondition(within: Within, at: number): { readonly condition: string; readonly value: string | null } {
  const $at = `$${String(at)}::text`
  if ('conversationId' in within) return { condition: `conversation_id = ${$at}`, value: within.conversationId }
  if ('everywhere' in within) return { condition: `${$at} is null`, value: null }
  if (within.scope === null) return { condition: `${$at} is null and conversation_id not in (select conversation_id from archive_conversations)`, value: null }
  return { condition: `conversation_id in (select conversation_id from archive_conversations where scope = ${$at})`, value: within.scope }
}
