/**
 * Recognizes messages of other APIs: blocks of Anthropic, items of OpenAI's Responses API, parts of the AI SDK. If such
 * a message carries a call, a result or a text in its own form, accepting part of it would record an unmatched result
 * or an unreadable text. So it is rejected, and the error names the right field of a chat message. All other unknown
 * parts pass unchanged: reasoning with its signatures, images, files.
 */
import { isRecord } from '../../lib/is-record.js'

/** A field that is rejected, and how to write it as a chat message. */
export interface Foreign {
  readonly field: string
  readonly detail: string
}

const asCall = (id: string, name: string, args: string): string =>
  `put the call into tool_calls of an assistant message, as { id, type: 'function', function: { name, arguments } }: id is ${id}, name is ${name}, arguments is ${args}`
const asResult = (id: string, content: string): string =>
  `make it a message of its own, { role: 'tool', tool_call_id, content }: tool_call_id is ${id}, content is ${content}`

const ANTHROPIC = 'a block of the Anthropic API'
const RESPONSES = 'of the Responses API'
const SDK = 'a part of the AI SDK'

/** Types of content parts and items. The first pattern that matches decides the hint. */
const families: readonly (readonly [RegExp, string, string])[] = [
  [/^(?:server_|mcp_)?tool_use$/u, ANTHROPIC, asCall('its id', 'its name', 'its input as JSON text')],
  [/^(?:\w+_)?tool_result$/u, ANTHROPIC, asResult('its tool_use_id', 'its content as a text or text parts')],
  [/^(?:input_text|output_text|summary_text)$/u, `a part ${RESPONSES}`, "give it as { type: 'text', text }"],
  [/^input_image$/u, `a part ${RESPONSES}`, "give it as { type: 'image_url', image_url: { url } }"],
  [
    /^input_file$/u,
    `a part ${RESPONSES}`,
    "give it as { type: 'file', file: { file_id } } or { type: 'file', file: { filename, file_data } }",
  ],
  [/^\w+_call_output$/u, `an item ${RESPONSES}`, asResult('its call_id', 'its output as a text or text parts')],
  [/^tool_call$/u, 'a call of another library', asCall('its id', 'its name', 'its args as JSON text')],
  [/^\w+_call$/u, `an item ${RESPONSES}`, asCall('its call_id', 'its name', 'its arguments as JSON text')],
  [/^tool-(?:result|error)$/u, SDK, asResult('its toolCallId', 'its output as a text')],
  [
    /^tool-approval-\w+$/u,
    SDK,
    'leave it out: it is for the user interface, and the call and its result tell the model the rest',
  ],
  [
    /^(?:tool-.+|dynamic-tool)$/u,
    SDK,
    `${asCall('its toolCallId', 'the name of its tool', 'its input as JSON text')}; a result that it has goes into a message of its own, { role: 'tool', tool_call_id, content }`,
  ],
]

/** Types that always mark a whole item. As the type of a content part, `reasoning` passes. */
const items: readonly (readonly [RegExp, string, string])[] = [
  [
    /^message$/u,
    'an item of another API',
    "leave `type` away, and give role and content as a chat message has them: a text, or parts such as { type: 'text', text }",
  ],
  [
    /^reasoning$/u,
    `an item ${RESPONSES}`,
    "put it into the content of the assistant's message that it belongs to, where it is kept as it is, or leave it out",
  ],
  [
    /^(?:item_reference|mcp_\w+|compaction)$/u,
    `an item ${RESPONSES}`,
    'leave it out: a chat message has no place for it',
  ],
]

function ofType(field: string, type: unknown, known: typeof families): Foreign | undefined {
  if (typeof type !== 'string') return undefined
  const found = known.find(([pattern]) => pattern.test(type))
  return found === undefined
    ? undefined
    : { field, detail: `is "${type}", ${found[1]}, and not of the chat API: ${found[2]}` }
}

/** The first field of a message that belongs to another API; undefined if there is none. */
export function foreignMessage(input: unknown): Foreign | undefined {
  if (!isRecord(input)) return undefined
  const { type, role, content, parts } = input
  const item = ofType('type', type, [...families, ...items])
  if (item !== undefined) return item
  if (role === 'function')
    return {
      field: 'role',
      detail: `is "function", of the retired functions of the chat API: ${asResult('the id of the call in tool_calls', 'its content')}`,
    }
  if (Array.isArray(content)) {
    for (const [at, part] of content.entries()) {
      const foreign = isRecord(part) ? ofType(`content.${String(at)}.type`, part['type'], families) : undefined
      if (foreign !== undefined) return foreign
    }
  }
  const calls = input['tool_calls']
  if (Array.isArray(calls)) {
    for (const [at, call] of calls.entries()) {
      const foreign = isRecord(call) ? ofType(`tool_calls.${String(at)}.type`, call['type'], families) : undefined
      if (foreign !== undefined) return foreign
    }
  }
  if (Array.isArray(parts))
    return {
      field: 'parts',
      detail:
        "are of a message of another API (a UIMessage of the AI SDK has them): give what they say as content, a text or parts such as { type: 'text', text }, calls in tool_calls, and each result as a message { role: 'tool', tool_call_id, content }",
    }
  if (Array.isArray(input['toolInvocations']))
    return {
      field: 'toolInvocations',
      detail: `are of the AI SDK: ${asCall('their toolCallId', 'their toolName', 'their args as JSON text')}; a result goes into a message { role: 'tool', tool_call_id, content }`,
    }
  return undefined
}
