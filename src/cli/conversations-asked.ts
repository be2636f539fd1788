/** Which conversations a command is for: those that were named, or all. */
import { InputError } from './errors.js'

/** Either conversations or all, and not both. */
export function conversationsAsked(
  { conversations, all }: { readonly conversations: readonly string[]; readonly all: boolean },
  allOfThem: string,
): readonly string[] | 'all' {
  if (all && conversations.length > 0) throw new InputError('Usage', '--all goes without ids of conversations')
  if (!all && conversations.length === 0)
    throw new InputError('Usage', `name conversations, or give --all for ${allOfThem}`)
  return all ? 'all' : conversations
}
