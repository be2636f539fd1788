/** What the chat API refuses: a list of messages, looked at from outside, without knowing how it was made. */
import type { ChatMessage } from './message.js'

function shapeProblem({ role, content, tool_calls: calls, tool_call_id: callId }: ChatMessage): string | undefined {
  if (content === null && role !== 'assistant') return 'has no content'
  if (calls !== undefined && role !== 'assistant') return 'has tool calls, which belong to an assistant'
  if (calls !== undefined && calls.length === 0) return 'has an empty list of tool calls'
  if ((role === 'tool') !== (callId !== undefined)) return 'a call id belongs to tool messages, and to each of them'
  if (calls !== undefined && new Set(calls.map((call) => call.id)).size !== calls.length)
    return 'uses the same call id twice'
  return undefined
}

/** The first thing that the API would refuse, in words; undefined where there is none. */
export function chatProblem(messages: readonly ChatMessage[]): string | undefined {
  let waiting = new Set<string>()
  for (const [at, message] of messages.entries()) {
    const where = `messages[${String(at)}] (${message.role})`
    const shape = shapeProblem(message)
    if (shape !== undefined) return `${where} ${shape}`
    if (message.role === 'tool') {
      if (!waiting.delete(message.tool_call_id ?? ''))
        return `${where} answers ${message.tool_call_id ?? ''}, and no such call waits right before it`
    } else if (waiting.size > 0) return `${where} stands between the calls ${[...waiting].join(', ')} and their results`
    if (message.tool_calls !== undefined) waiting = new Set(message.tool_calls.map((call) => call.id))
  }
  return waiting.size > 0 ? `the calls ${[...waiting].join(', ')} at the end have no result` : undefined
}
