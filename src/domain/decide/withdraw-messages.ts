/** Withdraws messages from the conversation. They stay in the log. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData } from '../events/index.js'
import type { Decision } from './decision.js'
import type { MessageNotLive } from './live-messages.js'

export interface WithdrawMessages {
  readonly type: 'WithdrawMessages'
  readonly messageIds: readonly string[]
  readonly why: EventData<'MessagesWithdrawn'>['why']
}

export function withdrawMessages(state: Conversation, { messageIds, why }: WithdrawMessages): Decision<MessageNotLive> {
  const live = new Map(
    [...state.leading, ...state.retained, ...state.window].map((message) => [message.messageId, message]),
  )
  const missing = messageIds.find((id) => !live.has(id))
  if (missing !== undefined) return E.left({ kind: 'MessageNotLive', messageId: missing })
  const messages = [...new Set(messageIds)]
    .flatMap((id) => live.get(id) ?? [])
    .map(({ messageId, revision }) => ({ messageId, revision }))
  return E.right(messages.length === 0 ? [] : [{ type: 'MessagesWithdrawn', data: { messages, why } }])
}
