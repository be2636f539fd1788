/** The beginning of a context, up to the last of some messages: what a request behind it has in common with it. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { ChatMessage } from '../values/message.js'
import { contextOf } from './context.js'

/**
 * The context up to the last of these messages. Between two cycles it stays what it is, whatever is said behind it.
 * Undefined where they do not stand at its end together, or where it does not show them whole.
 */
export function prefixUpTo(state: Conversation, messageIds: readonly string[]): readonly ChatMessage[] | undefined {
  const shown = contextOf(state)
  if (E.isLeft(shown)) return undefined
  const { messages, messageIds: ids, shortened } = shown.right
  const wanted = new Set(messageIds)
  if (shortened?.some(({ id }) => wanted.has(id)) === true) return undefined
  const first = ids.findIndex((id) => id !== undefined && wanted.has(id))
  const end = first + wanted.size
  const own = ids.slice(first, end)
  return first !== -1 && own.every((id) => id !== undefined && wanted.has(id)) ? messages.slice(0, end) : undefined
}
