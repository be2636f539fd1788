/** The conversations that a command is for: named ids, or all. */
import { LedgerError } from '../lib/ledger-error.js'

/** Returns the ids or `all`. Throws if both or neither are given. */
export function requestedConversations(
  { conversations, all }: { readonly conversations: readonly string[]; readonly all: boolean },
  allOfThem: string,
): readonly string[] | 'all' {
  if (all && conversations.length > 0) throw new LedgerError('Usage', '--all cannot be combined with conversation ids')
  if (!all && conversations.length === 0)
    throw new LedgerError('Usage', `name conversations, or pass --all for ${allOfThem}`)
  return all ? 'all' : conversations
}
