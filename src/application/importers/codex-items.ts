/**
 * Converts items of a Codex rollout to messages. Codex stores what it sends and receives in the format of the Responses
 * API: messages, calls, outputs and reasoning are separate items, and most have no id.
 */
import { authorOfMessage, isModelSummary } from '../../domain/text/authorship.js'
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { hashOf } from '../../domain/values/hash.js'
import { contentText, messageHash, type ContentPart, type MessageBody, type Role } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, exitCodeIn, jsonText, type Fields } from './bodies.js'
import { toContentPart, textPart } from './content-part.js'

/** The message of an item. */
export interface CodexMessage {
  readonly body: MessageBody
  /** The model produced it: it is part of an answer. */
  readonly isAnswer: boolean
  readonly byProgram?: true
  readonly isError?: true
  readonly exitCode?: number | undefined
  /** A user or another agent asks for something. A rollback counts these messages. */
  readonly opensTurn: boolean
  /** Hash that identifies the item in another context: without its id, its status and the program's metadata. */
  readonly key: number
  readonly turnId?: string | undefined
}

const itemSchema = z.looseObject({ type: z.string() })

/** Whether a message with the role user is a summary that another model wrote. */
export const isHandedOn = (body: MessageBody): boolean =>
  body.role === 'user' && isModelSummary(contentText(body.content))

const TEXTS = new Set(['input_text', 'output_text', 'text', 'summary_text'])

/** Wraps an item that is not a valid content part. */
const wrapped = (type: string, item: Fields): ContentPart => ({ type, item })

function partOf(part: unknown): ContentPart {
  if (typeof part === 'string') return textPart(part)
  if (!isRecord(part)) return toContentPart(part)
  const { type, text, image_url: url, detail, file_id: id, filename, file_data: data } = part
  if (typeof type === 'string' && TEXTS.has(type) && typeof text === 'string') return textPart(text)
  if (type === 'input_image' && typeof url === 'string')
    return { type: 'image_url', image_url: { url, ...(textIn(detail) === undefined ? {} : { detail }) } }
  if (type === 'input_file' && (typeof id === 'string' || typeof data === 'string'))
    return { type: 'file', file: typeof id === 'string' ? { file_id: id } : { filename, file_data: data } }
  return toContentPart(part)
}

const partsOf = (content: unknown): readonly ContentPart[] =>
  Array.isArray(content) ? content.map(partOf) : content === undefined || content === null ? [] : [partOf(content)]

const turnIdOf = (item: Fields): string | undefined => {
  for (const metadata of [item['internal_chat_message_metadata_passthrough'], item['metadata']])
    if (isRecord(metadata) && typeof metadata['turn_id'] === 'string') return metadata['turn_id']
  return undefined
}

// Fields that differ between an item and its copy in a context that was assembled later.
const TRANSIENT_FIELDS = new Set([
  'id',
  'status',
  'metadata',
  'internal_chat_message_metadata_passthrough',
  'internal_metadata',
])
function withoutTransientFields(part: unknown): unknown {
  if (!isRecord(part)) return part
  const fields = Object.entries(part).filter(([field]) => !TRANSIENT_FIELDS.has(field))
  // An item that is not a valid part is wrapped whole in one.
  return Object.fromEntries(
    fields.map(([field, value]) => [
      field,
      field === 'item' || field === 'value' ? withoutTransientFields(value) : value,
    ]),
  )
}

/** 52 bits of a hash. The reader stores one for each message, so they are short. */
const keyOf = (body: MessageBody): number => {
  const isAnswer = Array.isArray(body.content) && body.role === 'assistant'
  const hash = isAnswer ? hashOf([body.content.map(withoutTransientFields), body.toolCalls]) : messageHash(body)
  return Number.parseInt(hash.slice(0, 13), 16)
}

const messageOf = (
  item: Fields,
  body: MessageBody,
  rest: Partial<Pick<CodexMessage, 'isAnswer' | 'byProgram' | 'isError' | 'exitCode' | 'opensTurn'>> = {},
): CodexMessage => ({
  isAnswer: body.role === 'assistant',
  opensTurn: false,
  ...rest,
  body,
  key: keyOf(body),
  turnId: turnIdOf(item),
})

const ROLES: ReadonlySet<unknown> = new Set<Role>(['system', 'developer', 'user', 'assistant'])
const isRole = (role: unknown): role is Role => ROLES.has(role)

function fromMessage(item: Fields): CodexMessage | undefined {
  const { role, content } = item
  if (!isRole(role)) return undefined
  const sealed = textIn(item['encrypted_content'])
  const parts = [
    ...partsOf(content),
    ...(sealed === undefined ? [] : [{ type: 'encrypted_content', encrypted_content: sealed }]),
  ]
  const body: MessageBody = { role, content: contentOf(parts) }
  if (role !== 'user') return messageOf(item, body)
  return messageOf(item, body, authorOfMessage(body) === 'user' ? { opensTurn: true } : { byProgram: true })
}

/** A message from another agent of the same run, not from the user. */
function fromAgent(item: Fields): CodexMessage {
  const author = textIn(item['author'])
  const content = contentOf(partsOf(item['content']))
  return messageOf(
    item,
    { role: 'user', content, ...(author === undefined ? {} : { name: author }) },
    { byProgram: true, opensTurn: true },
  )
}

const callMessage = (item: Fields, call: NonNullable<MessageBody['toolCalls']>[number]): CodexMessage =>
  messageOf(item, { role: 'assistant', content: null, toolCalls: [call] })

const partMessage = (item: Fields, part: ContentPart): CodexMessage =>
  messageOf(item, { role: 'assistant', content: [part] })

function fromFunctionCall(item: Fields, id: unknown, name: unknown, args: unknown): CodexMessage {
  const callId = textIn(id)
  const called = textIn(name)
  if (callId === undefined || called === undefined) return partMessage(item, toContentPart(item))
  const namespace = textIn(item['namespace'])
  return callMessage(item, {
    id: callId,
    type: 'function',
    function: { name: called, arguments: jsonText(args), ...(namespace === undefined ? {} : { namespace }) },
  })
}

function fromCustomCall(item: Fields): CodexMessage {
  const id = textIn(item['call_id'])
  const name = textIn(item['name'])
  if (id === undefined || name === undefined) return partMessage(item, toContentPart(item))
  return callMessage(item, { id, type: 'custom', custom: { name, input: jsonText(item['input']) } })
}

// How the tools of Codex report a failed command: at the beginning or at the end of the output.
const EXIT = /^(?:Exit code: |(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?Process exited with code )(-?\d+)(?:\n|$)/u
const EXIT_AT_END = /^\{"output":[^]*"metadata":\{"exit_code":(-?\d+)[^{}]*\}\}$/u
const STOPPED = /^(?:exec command|patch) rejected by user|^aborted(?: by user|$)/u

/** The exit code, and whether the output shows that the call failed, was rejected or was stopped. */
function outcomeOf(output: unknown, text: string): Pick<CodexMessage, 'isError' | 'exitCode'> {
  const found = EXIT.exec(text)?.[1] ?? EXIT_AT_END.exec(text)?.[1]
  const code = found === undefined ? undefined : Number(found)
  const failed =
    (isRecord(output) && output['success'] === false) || (code !== undefined && code !== 0) || STOPPED.test(text)
  return { exitCode: exitCodeIn(code), ...(failed ? { isError: true } : {}) }
}

function fromOutput(item: Fields, output: unknown): CodexMessage | undefined {
  const id = textIn(item['call_id'])
  if (id === undefined) return undefined
  const inner = isRecord(output) && typeof output['type'] !== 'string' ? output['content'] : output
  const content =
    typeof inner === 'string' || Array.isArray(inner) || (isRecord(inner) && typeof inner['type'] === 'string')
      ? contentOf(partsOf(inner))
      : jsonText(output ?? '')
  return messageOf(item, { role: 'tool', content, toolCallId: id }, outcomeOf(output, contentText(content)))
}

/** Item types that contain no message for the model, or that only list the tools. */
const SILENT = new Set(['ghost_snapshot', 'compaction_trigger', 'additional_tools', 'other'])

/** The message of an item; undefined if it has none or its type is unknown. */
export function messageOfItem(value: unknown): CodexMessage | undefined {
  const parsed = itemSchema.safeParse(value)
  if (!parsed.success || !isRecord(value)) return undefined
  const item = value
  const { type } = parsed.data
  if (SILENT.has(type)) return undefined
  switch (type) {
    case 'message':
      return fromMessage(item)
    case 'agent_message':
      return fromAgent(item)
    case 'reasoning':
    case 'compaction':
    case 'compaction_summary':
    case 'context_compaction':
      return partMessage(item, toContentPart(item))
    case 'function_call':
      return fromFunctionCall(item, item['call_id'] ?? item['id'], item['name'], item['arguments'])
    case 'local_shell_call':
      return fromFunctionCall(item, item['call_id'] ?? item['id'], 'local_shell', item['action'])
    case 'tool_search_call':
      // A search that the provider ran has no call id, and no output follows it.
      return textIn(item['call_id']) === undefined
        ? partMessage(item, wrapped('tool_search', item))
        : fromFunctionCall(item, item['call_id'], 'tool_search', item['arguments'])
    case 'custom_tool_call':
      return fromCustomCall(item)
    case 'web_search_call':
    case 'image_generation_call':
      return partMessage(item, wrapped(type.slice(0, -'_call'.length), item))
    case 'function_call_output':
    case 'custom_tool_call_output':
      return fromOutput(item, item['output'])
    case 'tool_search_output':
      return fromOutput(item, jsonText(item['tools']))
    default:
      return undefined
  }
}

/** Whether an item of a compacted context is encrypted for its provider. */
export const isSealed = (value: unknown): boolean =>
  isRecord(value) &&
  (value['type'] === 'message'
    ? textIn(value['encrypted_content']) !== undefined
    : value['type'] === 'compaction' ||
      value['type'] === 'compaction_summary' ||
      value['type'] === 'context_compaction')

/** An item of an unknown type, unchanged: a context must be complete. */
export const unknownItem = (item: Fields): CodexMessage => partMessage(item, toContentPart(item))

/** Whether an item contributes nothing to a context. */
export const isSilentItem = (value: unknown): boolean => isRecord(value) && SILENT.has(textIn(value['type']) ?? '')
