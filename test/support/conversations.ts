/**
 * Conversations for tests, described by their content: talk, calls with results, and the messages that a host keeps.
 */
import type { MessageInput } from '../../src/domain/values/message.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'

/** A small window, so that a few messages make a cycle: the soft limit is 800 tokens. */
export const SMALL: PolicySettings = {
  modelMaxTokens: 1_000,
  chunkSize: 3,
  chunkMinTokens: 0,
  keepRecent: 2,
  maxSummaryTokens: 16,
}

/** A message of about 40 tokens; user and assistant take turns. */
export const say = (number: number, some: Partial<MessageInput> = {}): MessageInput => ({
  id: `m${String(number)}`,
  role: number % 2 === 0 ? 'user' : 'assistant',
  content: `Message ${String(number)}: `.padEnd(150, 'the berth of the harbour is booked twice, '),
  ...some,
})

/** A run of this number of messages. */
export const talk = (count: number, from = 0): MessageInput[] =>
  Array.from({ length: count }, (_, at) => say(from + at))

/** A message that calls a tool, once for each id. */
export const calling = (id: string, callIds: readonly string[], args = '{}'): MessageInput => ({
  id,
  role: 'assistant',
  content: null,
  tool_calls: callIds.map((callId) => ({
    id: callId,
    type: 'function',
    function: { name: `tool_${callId}`, arguments: args },
  })),
})

export const answering = (id: string, callId: string, content = `result of ${callId}`): MessageInput => ({
  id,
  role: 'tool',
  tool_call_id: callId,
  content,
})

/** The same message without its id, as a host of the chat API has it. */
export const nameless = ({ id: _id, ...message }: MessageInput): MessageInput => message
