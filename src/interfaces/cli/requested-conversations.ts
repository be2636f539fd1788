/** The conversations that a command is for: named ones, or all. */
import { conversationsNamed, type SearchedLedger } from './find-conversation.js'
import { LedgerError } from '../../lib/ledger-error.js'

/** Returns the names or `all`. Throws if both or neither are given. */
export function requestedConversations(
  { conversations, all }: { readonly conversations: readonly string[]; readonly all: boolean },
  allOfThem: string,
): readonly string[] | 'all' {
  if (all && conversations.length > 0) throw new LedgerError('Usage', '--all cannot be combined with conversation ids')
  if (!all && conversations.length === 0)
    throw new LedgerError('Usage', `name conversations, or pass --all for ${allOfThem}`)
  return all ? 'all' : conversations
}

/** The ids of the requested conversations, or `all`. */
export const requestedIds = async (
  ledger: SearchedLedger,
  requested: readonly string[] | 'all',
): Promise<readonly string[] | 'all'> => (requested === 'all' ? requested : await conversationsNamed(ledger, requested))
