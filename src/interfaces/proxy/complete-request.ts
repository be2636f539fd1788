/**
 * Completes the list of a request before it is compared with the conversation: with the messages that the client cleared
 * or omitted, and with those that upstream holds.
 */
import type { ProxyRequest, SourceMessage } from '../../application/model-apis/api.js'
import { omittedTailIndex } from './match-request.js'
import type { Entry, TrackedConversation } from './tracked-conversation.js'

/** A recorded message in a list. It is only compared, and never recorded a second time. */
export const asSourceMessage = ({ hash, role, callId }: Entry): SourceMessage => ({
  input: {
    role: role === 'tool' ? 'tool' : 'user',
    content: '',
    ...(callId === undefined ? {} : { tool_call_id: callId }),
  },
  hash,
  raw: [],
})

/** The request with the end of the conversation that its program omitted. */
export function withOmittedTail(conversation: TrackedConversation, request: ProxyRequest): ProxyRequest {
  const index = omittedTailIndex(conversation, request.messages)
  if (index === undefined) return request
  const omitted = conversation.entries.slice(index).map(asSourceMessage)
  return { ...request, messages: request.messages.toSpliced(index, 0, ...omitted) }
}

/**
 * The request from the last compaction on that the provider made in an answer: it ignores earlier messages, whether or
 * not the client keeps that.
 */
export function fromProviderCompaction(conversation: TrackedConversation, request: ProxyRequest): ProxyRequest {
  const index = request.messages.findLastIndex(({ hash }) => conversation.providerCompactions.has(hash))
  return index < 1 ? request : { ...request, messages: request.messages.slice(index) }
}

/**
 * The request as if upstream held no part of the history.
 * @param heldMessages messages up to the response that the request continues; undefined: all recorded messages
 */
export function withUpstreamHistory(
  conversation: TrackedConversation,
  request: ProxyRequest,
  heldMessages: number | undefined,
): ProxyRequest {
  const { upstreamHistory, instructions, messages } = request
  if (upstreamHistory === undefined || upstreamHistory.kind === 'reference') return request
  const stored = conversation.entries.slice(0, heldMessages ?? conversation.entries.length)
  return {
    ...request,
    instructions: conversation.contextOwner === 'none' ? instructions : conversation.instructions.map(asSourceMessage),
    messages: [...stored.map(asSourceMessage), ...messages],
  }
}
