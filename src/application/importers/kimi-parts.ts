/** Converts the messages of Kimi CLI and Kimi Code: roles and parts of the chat API, with thoughts as parts. */
import { isRecord } from '../../lib/is-record.js'
import type { ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, type Fields } from './bodies.js'
import { contentParts } from './content-part.js'

import { assistantBody, functionCall, type NewMessage } from './message-items.js'
/** A call: `function` has its name in Kimi CLI, the call itself in Kimi Code. */
export function kimiCall(call: unknown): ToolCall | undefined {
  const id = isRecord(call) ? textIn(call['id']) : undefined
  if (!isRecord(call) || id === undefined) return undefined
  const called: Fields = isRecord(call['function']) ? call['function'] : call
  return functionCall(id, called['name'], called['arguments'] ?? {})
}

/** The message of a record; undefined if it has none. */
export function kimiMessage(message: Fields): NewMessage | undefined {
  const { role, content } = message
  const parts = contentParts(content)
  const toolCallId = textIn(message['tool_call_id']) ?? textIn(message['toolCallId'])
  if (role === 'tool' && toolCallId !== undefined)
    return {
      body: { role, content: contentOf(parts), toolCallId },
      ...(message['isError'] === true ? { isError: true } : {}),
    }
  if (role === 'assistant') {
    const listed = message['tool_calls'] ?? message['toolCalls']
    const body = assistantBody(
      parts,
      (Array.isArray(listed) ? listed : []).flatMap((call) => kimiCall(call) ?? []),
    )
    return body === undefined ? undefined : { body }
  }
  if (role !== 'user' && role !== 'system') return undefined
  const origin = isRecord(message['origin']) ? textIn(message['origin']['kind']) : undefined
  return {
    body: { role, content: contentOf(parts) },
    ...(role === 'user' && origin !== undefined && origin !== 'user' ? { byProgram: true } : {}),
  }
}
