/** The live messages that a command names. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { messageWith } from '../conversation/message-positions.js'

/** The message was never appended, was withdrawn, or is covered by a batch. */
export type MessageNotLive = { readonly kind: 'MessageNotLive'; readonly messageId: string; readonly nearest?: string }

/** The live message with this id. */
export const liveMessageWith = (
  { window, retained, leading }: Conversation,
  messageId: string,
): LiveMessage | undefined =>
  messageWith(window, messageId) ?? messageWith(retained, messageId) ?? messageWith(leading, messageId)

/** The live messages with these ids, without leading ones; or the first id that is not live. */
export function liveMessagesWith(
  state: Conversation,
  messageIds: readonly string[],
): E.Either<MessageNotLive, LiveMessage[]> {
  const live = new Map([...state.retained, ...state.window].map((message) => [message.messageId, message]))
  const missing = messageIds.find((id) => !live.has(id))
  return missing === undefined
    ? E.right(messageIds.flatMap((id) => live.get(id) ?? []))
    : E.left({ kind: 'MessageNotLive', messageId: missing })
}
