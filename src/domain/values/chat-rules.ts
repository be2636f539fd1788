/** Checks a list of messages against the rules of the chat APIs. It knows nothing about how the list was made. */
import { SHAPE_RULES, type ShapeRules } from './context-shapes.js'
import { isInstruction, isTextPart, type ChatMessage, type ContentPart } from './message.js'

function shapeProblem({ role, content, tool_calls: calls, tool_call_id: callId }: ChatMessage): string | undefined {
  if (content === null && role !== 'assistant') return 'has no content'
  if (calls !== undefined && role !== 'assistant') return 'has tool calls, which belong to an assistant'
  if (calls !== undefined && calls.length === 0) return 'has an empty list of tool calls'
  if ((role === 'tool') !== (callId !== undefined)) return 'a call id belongs to tool messages, and to each of them'
  if (calls !== undefined && new Set(calls.map((call) => call.id)).size !== calls.length)
    return 'uses the same call id twice'
  return undefined
}

/** Whether a content is blank, empty, or has a blank text part. */
function hasEmptyText({ content, tool_calls: calls }: ChatMessage): boolean {
  if (content === null || content === '') return calls === undefined
  if (typeof content === 'string') return content.trim() === ''
  const parts: readonly ContentPart[] = content
  return parts.length === 0 || parts.some((part) => isTextPart(part) && part.text.trim() === '')
}

/** The first rule of the shape that a message breaks, if it follows `before`. */
function shapeRuleProblem(
  message: ChatMessage,
  before: ChatMessage | undefined,
  isFirst: boolean,
  rules: ShapeRules,
): string | undefined {
  const { role } = message
  if (rules.hasOneSystemMessage && isInstruction(message) && (!isFirst || role !== 'system'))
    return 'is an instruction, and the only one may be a system message at the beginning'
  const isAtHead = before === undefined || (isInstruction(before) && !isInstruction(message))
  if (rules.beginsWithUser && isAtHead && !isInstruction(message) && role !== 'user')
    return 'is the first message of the conversation, and must be a user message'
  if (rules.callsFollowUser && message.tool_calls !== undefined && before?.role === 'assistant')
    return 'has tool calls, and follows an assistant message'
  if (rules.hasNoEmptyText && hasEmptyText(message)) return 'has an empty text'
  return undefined
}

/** A description of the first message that the API would reject; undefined if it would accept all. */
export function chatProblem(
  messages: readonly ChatMessage[],
  rules: ShapeRules = SHAPE_RULES.openai,
): string | undefined {
  let waiting = new Set<string>()
  for (const [at, message] of messages.entries()) {
    const where = `messages[${String(at)}] (${message.role})`
    const problem = shapeProblem(message) ?? shapeRuleProblem(message, messages[at - 1], at === 0, rules)
    if (problem !== undefined) return `${where} ${problem}`
    if (message.role === 'tool') {
      if (!waiting.delete(message.tool_call_id ?? ''))
        return `${where} answers ${message.tool_call_id ?? ''}, and no such call waits right before it`
    } else if (waiting.size > 0) return `${where} stands between the calls ${[...waiting].join(', ')} and their results`
    if (message.tool_calls !== undefined) waiting = new Set(message.tool_calls.map((call) => call.id))
  }
  return waiting.size > 0 ? `the calls ${[...waiting].join(', ')} at the end have no result` : undefined
}
