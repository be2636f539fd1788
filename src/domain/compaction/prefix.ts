/** The beginning of a context, up to the last of some messages: the part that later requests share with it. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { ChatMessage } from '../values/message.js'
import { contextOf } from './context.js'

/**
 * The context up to the last of these messages. It does not change between two cycles, whatever is appended later.
 * Undefined if the messages are not consecutive at its end, or if the context does not show them in full.
 */
export function prefixUpTo(state: Conversation, messageIds: readonly string[]): readonly ChatMessage[] | undefined {
  const context = contextOf(state)
  if (E.isLeft(context)) return undefined
  const { messages, messageIds: ids, shortened } = context.right
  const requested = new Set(messageIds)
  if (shortened?.some(({ id }) => requested.has(id)) === true) return undefined
  const first = ids.findIndex((id) => id !== undefined && requested.has(id))
  const end = first + requested.size
  const idsInPrefix = ids.slice(first, end)
  return first !== -1 && idsInPrefix.every((id) => id !== undefined && requested.has(id))
    ? messages.slice(0, end)
    : undefined
}
