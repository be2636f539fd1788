/**
 * Converts events of the OpenHands SDK (V1) to messages: one message for each event that the model sees. The calls of
 * one answer are separate events that share the answer's id.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import type { ContentPart, MessageBody, Role, ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, exitCodeIn, inside, timeIn, type Fields } from './bodies.js'
import { argumentsOf, contentParts, textPart, toContentPart } from './content-part.js'

/** The message of an event. */
export interface EventMessage {
  readonly body: MessageBody
  readonly at: string | undefined
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
  readonly exitCode?: number | undefined
  readonly answerId?: string | undefined
}

const text = z.string().min(1).optional().catch(undefined)
const list = z.array(z.unknown()).optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

/** An event of any kind. */
export const eventSchema = z.looseObject({
  kind: z.string().min(1),
  id: text,
  timestamp: text,
  source: text,
  parent_id: text,
  llm_response_id: text,
  tool_name: text,
  tool_call_id: text,
})
export type OpenHandsEvent = z.infer<typeof eventSchema>

const callSchema = z.looseObject({ id: text, name: text, arguments: z.unknown().optional(), function: fields })

/** The model's reasoning, in the most complete of several forms, which is the form that its provider requires. */
function thoughtsIn(holder: Fields): readonly ContentPart[] {
  const { thinking_blocks: blocks, responses_reasoning_item: item, reasoning_content: thought } = holder
  if (Array.isArray(blocks) && blocks.length > 0) return blocks.map(toContentPart)
  if (isRecord(item)) return [toContentPart({ type: 'reasoning', ...item })]
  return textIn(thought) === undefined ? [] : [{ type: 'reasoning', text: textIn(thought) }]
}

function callOf(raw: unknown, otherId: string | undefined, otherName: string | undefined): ToolCall | undefined {
  const parsed = callSchema.safeParse(raw)
  const call = parsed.success ? parsed.data : {}
  const id = otherId ?? textIn(call['id'])
  if (id === undefined) return undefined
  const inner = isRecord(call['function']) ? call['function'] : {}
  return {
    id,
    type: 'function',
    function: {
      name: textIn(call['name']) ?? textIn(inner['name']) ?? otherName ?? 'unknown',
      arguments: argumentsOf(call['arguments'] ?? inner['arguments']),
    },
  }
}

function assistant(parts: readonly ContentPart[], toolCalls: readonly ToolCall[]): MessageBody {
  const hasCalls = toolCalls.length > 0
  return {
    role: 'assistant',
    content: parts.length === 0 && hasCalls ? null : contentOf(parts),
    ...(hasCalls ? { toolCalls } : {}),
  }
}

/** The content of a result, from its own content or from the fields of older tools. */
function resultContent(observation: unknown, added: readonly ContentPart[]): MessageBody['content'] {
  if (!isRecord(observation)) return contentOf([...contentParts(observation), ...added])
  for (const field of ['content', 'output', 'text', 'message', 'error'] as const)
    if (observation[field] !== undefined && observation[field] !== null)
      return contentOf([...contentParts(observation[field]), ...added])
  return contentOf([textPart(argumentsOf(observation)), ...added])
}

const isRole = (role: unknown): role is Role =>
  role === 'system' || role === 'developer' || role === 'user' || role === 'assistant' || role === 'tool'

function fromMessage(event: OpenHandsEvent): Pick<EventMessage, 'body' | 'byProgram'> | undefined {
  const message = event['llm_message']
  if (!isRecord(message) || !isRole(message['role'])) return undefined
  const { role } = message
  const parts = [
    ...thoughtsIn(message),
    ...contentParts(message['content']),
    ...contentParts(event['extended_content']),
  ]
  if (role === 'assistant') {
    const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : []
    return {
      body: assistant(
        parts,
        calls.flatMap((call) => callOf(call, undefined, undefined) ?? []),
      ),
    }
  }
  if (role === 'tool') {
    const toolCallId = textIn(message['tool_call_id'])
    return toolCallId === undefined ? undefined : { body: { role, content: contentOf(parts), toolCallId } }
  }
  const byProgram = role === 'user' && event.source !== 'user' && event.source !== undefined
  return { body: { role, content: contentOf(parts) }, ...(byProgram ? { byProgram } : {}) }
}

function resultOf(event: OpenHandsEvent): Pick<EventMessage, 'body' | 'isError' | 'exitCode'> | undefined {
  const toolCallId = event.tool_call_id
  if (toolCallId === undefined) return undefined
  const result = (content: MessageBody['content'], isError: boolean): Pick<EventMessage, 'body' | 'isError'> => ({
    body: { role: 'tool', content, toolCallId },
    ...(isError ? { isError } : {}),
  })
  if (event.kind === 'AgentErrorEvent') return result(textIn(event['error']) ?? '', true)
  if (event.kind === 'UserRejectObservation')
    return result(`Action rejected: ${textIn(event['rejection_reason']) ?? ''}`, true)
  const { observation } = event
  const isError = isRecord(observation) && observation['is_error'] === true
  return {
    ...result(resultContent(observation, contentParts(event['extended_content'])), isError),
    exitCode: exitCodeIn(inside(observation, 'metadata', 'exit_code') ?? inside(observation, 'exit_code')),
  }
}

const systemSchema = z.looseObject({ system_prompt: z.unknown().optional(), dynamic_context: z.unknown().optional() })

function fromSystem(event: OpenHandsEvent): Pick<EventMessage, 'body'> {
  const parsed = systemSchema.safeParse(event)
  const { system_prompt: prompt, dynamic_context: context } = parsed.success ? parsed.data : {}
  const parts = [prompt, context].flatMap((part) => contentParts(isRecord(part) ? [part] : part))
  return { body: { role: 'system', content: contentOf(parts) } }
}

function bodyOfEvent(event: OpenHandsEvent): Omit<EventMessage, 'at' | 'answerId'> | undefined {
  switch (event.kind) {
    case 'SystemPromptEvent':
      return fromSystem(event)
    case 'MessageEvent':
      return fromMessage(event)
    case 'ActionEvent': {
      const call = callOf(event['tool_call'], event.tool_call_id, event.tool_name)
      const parts = [...thoughtsIn(event), ...contentParts(event['thought'])]
      return call === undefined && parts.length === 0
        ? undefined
        : { body: assistant(parts, call === undefined ? [] : [call]) }
    }
    case 'ObservationEvent':
    case 'AgentErrorEvent':
    case 'UserRejectObservation':
      return resultOf(event)
    default:
      return undefined
  }
}

/** The message of an event; undefined if the model does not see it or its kind is unknown. */
export function messageOfV1(event: OpenHandsEvent): EventMessage | undefined {
  const message = bodyOfEvent(event)
  if (message === undefined) return undefined
  return {
    ...message,
    at: timeIn(event.timestamp),
    ...(message.body.role === 'assistant' ? { answerId: event.llm_response_id } : {}),
  }
}

/** The effect of a condensation on the events that the model sees. */
export interface Condensation {
  readonly forgotten: ReadonlySet<string>
  readonly summary: string | undefined
  /** The index of the summary in the remaining events; undefined if the model does not see it. */
  readonly offset: number | undefined
}

/** The id of an event, as a list of one; the first version has numbers. */
export const eventIdIn = (value: unknown): readonly string[] =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? [String(value)] : []

const condensationSchema = z.looseObject({
  forgotten_event_ids: list,
  summary: z.string().optional().catch(undefined),
  summary_offset: z.number().int().nonnegative().optional().catch(undefined),
})

/** The content of a `Condensation` event. */
export function condensationOf(event: OpenHandsEvent): Condensation {
  const parsed = condensationSchema.safeParse(event)
  const { forgotten_event_ids: ids, summary, summary_offset: offset } = parsed.success ? parsed.data : {}
  return {
    forgotten: new Set((ids ?? []).flatMap(eventIdIn)),
    summary,
    offset: summary === undefined ? undefined : offset,
  }
}
