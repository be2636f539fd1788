/** The tool calls that the messages of a context answer. */
import { answeredCalls, type AnsweredCall } from '../../../domain/conversation/call-groups.js'
import type { ChatMessage } from '../../../domain/values/chat-message.js'
import type { ToolCall } from '../../../domain/values/message.js'

/** The call that each result answers, with the index of its message, by the index of the result. */
export const chatCalls = (messages: readonly ChatMessage[]): ReadonlyMap<number, AnsweredCall<ToolCall, number>> =>
  answeredCalls(
    messages.map(({ role, tool_calls: toolCalls, tool_call_id: toolCallId }) => ({ role, toolCalls, toolCallId })),
  )
