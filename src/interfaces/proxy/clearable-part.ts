/** The part of a message that a client clears to save context, and the message without it. */
import { messageHash, type ClearableMessage } from '../../application/model-apis/api.js'
import { fieldsOf, jsonText, listOf, textOf, type Fields } from '../../application/model-apis/json.js'

/** Characters of a content: of its texts, and of the JSON of any other part. */
const contentSize = (content: unknown): number =>
  typeof content === 'string'
    ? content.length
    : listOf(content).reduce((sum: number, part) => sum + (textOf(fieldsOf(part)['text']) ?? jsonText(part)).length, 0)

/** The text that a call passes to its tool: the arguments of a function, or the input of another tool. */
function argumentsOf(call: unknown): string {
  const { function: named, custom } = fieldsOf(call)
  return textOf(fieldsOf(named)['arguments']) ?? textOf(fieldsOf(custom)['input']) ?? ''
}

/** A call without its arguments: its id and its tool. */
function withoutArguments(call: unknown): Fields {
  const { id, function: named, custom } = fieldsOf(call)
  return { id, function: { name: fieldsOf(named)['name'] }, custom: fieldsOf(custom)['name'] }
}

/** The part of a message that a client clears: the content of a result, or the arguments of the calls of an answer. */
export function clearableText({ role, content, tool_calls }: Fields): string {
  return role === 'tool' ? jsonText(content ?? '') : jsonText(listOf(tool_calls).map(argumentsOf))
}

/** The outline by which a message is recognized after the client cleared it, and the size of its clearable part. */
export function clearablePart(message: Fields): Pick<ClearableMessage, 'outline' | 'size'> {
  const { role, content, tool_calls, tool_call_id } = message
  if (role === 'tool') return { outline: `result of ${textOf(tool_call_id) ?? ''}`, size: contentSize(content) }
  const calls = listOf(tool_calls)
  if (role !== 'assistant' || calls.length === 0) return { outline: undefined, size: 0 }
  return {
    outline: messageHash({ ...message, tool_calls: calls.map(withoutArguments) }),
    size: calls.reduce((sum: number, call) => sum + argumentsOf(call).length, 0),
  }
}
