/**
 * Events of the OpenHands SDK (V1) as messages: each event that its model sees is one message. The calls of one answer
 * are several events, which share the id of the answer.
 */
import { z } from 'zod'
import type { ContentPart, MessageBody, Role, ToolCall } from '../domain/values/message.js'
import { contentOf, isFields, textIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'

/** One message that an event says. */
export interface SpokenEvent {
  readonly body: MessageBody
  readonly at: string | undefined
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
  readonly answerId?: string | undefined
}

const text = z.string().min(1).optional().catch(undefined)
const list = z.array(z.unknown()).optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

/** An event, whatever its kind. */
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

/** Content as the SDK keeps it: a list of texts and images, of which a text carries a mark for caches as well. */
function partsOf(content: unknown): readonly ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  if (!Array.isArray(content)) return content === undefined || content === null ? [] : [keptPart(content)]
  return content.map((part: unknown) =>
    isFields(part) && part['type'] === 'text' && typeof part['text'] === 'string'
      ? textPart(part['text'])
      : keptPart(part),
  )
}

/** What the model thought, in the one form of several that says the most: its provider asks for it in that form. */
function thoughtsIn(holder: Fields): readonly ContentPart[] {
  const { thinking_blocks: blocks, responses_reasoning_item: item, reasoning_content: thought } = holder
  if (Array.isArray(blocks) && blocks.length > 0) return blocks.map(keptPart)
  if (isFields(item)) return [keptPart({ type: 'reasoning', ...item })]
  return textIn(thought) === undefined ? [] : [{ type: 'reasoning', text: textIn(thought) }]
}

function callOf(raw: unknown, otherId: string | undefined, otherName: string | undefined): ToolCall | undefined {
  const parsed = callSchema.safeParse(raw)
  const call = parsed.success ? parsed.data : {}
  const id = otherId ?? textIn(call['id'])
  if (id === undefined) return undefined
  const inner = isFields(call['function']) ? call['function'] : {}
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

/** A result, in a content of its own or in the fields of older tools. */
function resultContent(observation: unknown, added: readonly ContentPart[]): MessageBody['content'] {
  if (!isFields(observation)) return contentOf([...partsOf(observation), ...added])
  for (const field of ['content', 'output', 'text', 'message', 'error'] as const)
    if (observation[field] !== undefined && observation[field] !== null)
      return contentOf([...partsOf(observation[field]), ...added])
  return contentOf([textPart(argumentsOf(observation)), ...added])
}

const isRole = (role: unknown): role is Role =>
  role === 'system' || role === 'developer' || role === 'user' || role === 'assistant' || role === 'tool'

function fromMessage(event: OpenHandsEvent): Pick<SpokenEvent, 'body' | 'byProgram'> | undefined {
  const said = event['llm_message']
  if (!isFields(said) || !isRole(said['role'])) return undefined
  const { role } = said
  const parts = [...thoughtsIn(said), ...partsOf(said['content']), ...partsOf(event['extended_content'])]
  if (role === 'assistant') {
    const calls = Array.isArray(said['tool_calls']) ? said['tool_calls'] : []
    return {
      body: assistant(
        parts,
        calls.flatMap((call) => callOf(call, undefined, undefined) ?? []),
      ),
    }
  }
  if (role === 'tool') {
    const toolCallId = textIn(said['tool_call_id'])
    return toolCallId === undefined ? undefined : { body: { role, content: contentOf(parts), toolCallId } }
  }
  const byProgram = role === 'user' && event.source !== 'user' && event.source !== undefined
  return { body: { role, content: contentOf(parts) }, ...(byProgram ? { byProgram } : {}) }
}

function resultOf(event: OpenHandsEvent): Pick<SpokenEvent, 'body' | 'isError'> | undefined {
  const toolCallId = event.tool_call_id
  if (toolCallId === undefined) return undefined
  const result = (content: MessageBody['content'], isError: boolean): Pick<SpokenEvent, 'body' | 'isError'> => ({
    body: { role: 'tool', content, toolCallId },
    ...(isError ? { isError } : {}),
  })
  if (event.kind === 'AgentErrorEvent') return result(textIn(event['error']) ?? '', true)
  if (event.kind === 'UserRejectObservation')
    return result(`Action rejected: ${textIn(event['rejection_reason']) ?? ''}`, true)
  const { observation } = event
  const isError = isFields(observation) && observation['is_error'] === true
  return result(resultContent(observation, partsOf(event['extended_content'])), isError)
}

const systemSchema = z.looseObject({ system_prompt: z.unknown().optional(), dynamic_context: z.unknown().optional() })

function fromSystem(event: OpenHandsEvent): Pick<SpokenEvent, 'body'> {
  const parsed = systemSchema.safeParse(event)
  const { system_prompt: prompt, dynamic_context: context } = parsed.success ? parsed.data : {}
  const parts = [prompt, context].flatMap((part) => partsOf(isFields(part) ? [part] : part))
  return { body: { role: 'system', content: contentOf(parts) } }
}

function saidBy(event: OpenHandsEvent): Omit<SpokenEvent, 'at' | 'answerId'> | undefined {
  switch (event.kind) {
    case 'SystemPromptEvent':
      return fromSystem(event)
    case 'MessageEvent':
      return fromMessage(event)
    case 'ActionEvent': {
      const call = callOf(event['tool_call'], event.tool_call_id, event.tool_name)
      const parts = [...thoughtsIn(event), ...partsOf(event['thought'])]
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

/** What an event says; undefined where its model does not see it, or where it is of a kind that we do not know. */
export function spokenByV1(event: OpenHandsEvent): SpokenEvent | undefined {
  const said = saidBy(event)
  if (said === undefined) return undefined
  return {
    ...said,
    at: timeIn(event.timestamp),
    ...(said.body.role === 'assistant' ? { answerId: event.llm_response_id } : {}),
  }
}

/** What a condensation did to the events that the model sees. */
export interface Condensation {
  readonly forgotten: ReadonlySet<string>
  readonly summary: string | undefined
  /** Where the summary stands among what stayed; undefined where it is not shown. */
  readonly offset: number | undefined
}

const condensationSchema = z.looseObject({
  forgotten_event_ids: list,
  summary: z.string().optional().catch(undefined),
  summary_offset: z.number().int().nonnegative().optional().catch(undefined),
})

/** What a `Condensation` says. */
export function condensationOf(event: OpenHandsEvent): Condensation {
  const parsed = condensationSchema.safeParse(event)
  const { forgotten_event_ids: ids, summary, summary_offset: offset } = parsed.success ? parsed.data : {}
  return {
    forgotten: new Set((ids ?? []).map(String)),
    summary,
    offset: summary === undefined ? undefined : offset,
  }
}
