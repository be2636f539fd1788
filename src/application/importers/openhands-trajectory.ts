/**
 * Converts events of the first OpenHands version (V0): numbered actions and observations. An action contains the
 * model's complete answer. Several actions of one answer repeat it.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { sha256 } from '../../domain/values/hash.js'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { knownUsage } from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, exitCodeIn, inside, jsonText, listIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, contentParts, toContentPart } from './content-part.js'
import { eventIdIn, type Condensation, type EventMessage } from './openhands-events.js'
import type { Usage } from './transcript.js'

const text = z.string().min(1).optional().catch(undefined)
const anyText = z.string().optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

const metadataSchema = z.looseObject({ function_name: text, tool_call_id: text, model_response: fields })

/** An event: an action or an observation. */
export const v0Schema = z.looseObject({
  id: z.number().int().nonnegative(),
  timestamp: text,
  source: text,
  message: anyText,
  action: text,
  observation: text,
  cause: z.number().int().nonnegative().optional().catch(undefined),
  args: fields,
  content: z.unknown().optional(),
  extras: fields,
  tool_call_metadata: metadataSchema.optional().catch(undefined),
})
export type V0Event = z.infer<typeof v0Schema>

/** The message of an event. */
export interface MessageV0 extends EventMessage {
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
}

/** The state from earlier events that later events need. */
export interface V0Past {
  /** Ids of answers whose text has been emitted. */
  readonly answers: Set<string>
  /** Actions without a call id, for which the importer generated one. */
  readonly calls: Set<number>
}

export const newPast = (): V0Past => ({ answers: new Set(), calls: new Set() })

const generatedCallId = (id: number): string => `event-${String(id)}`

function usageIn(response: Fields): Usage | undefined {
  const usage = isRecord(response['usage']) ? response['usage'] : {}
  const input = isRecord(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {}
  const output = isRecord(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {}
  return knownUsage({
    inputTokens: countIn(usage['prompt_tokens']),
    outputTokens: countIn(usage['completion_tokens']),
    cacheReadTokens: countIn(input['cached_tokens']) ?? countIn(usage['cache_read_input_tokens']),
    cacheWriteTokens: countIn(usage['cache_creation_input_tokens']),
    reasoningTokens: countIn(output['reasoning_tokens']),
  })
}

const ANSWER_ID_LENGTH = 16

const answerSchema = z.looseObject({
  id: text,
  model: text,
  choices: z
    .array(z.looseObject({ message: fields }))
    .optional()
    .catch(undefined),
})

interface Answer {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly usage: Usage | undefined
  readonly parts: readonly ContentPart[]
  readonly calls: readonly unknown[]
}

function answerIn(response: Fields): Answer {
  const parsed = answerSchema.safeParse(response)
  const { id, model, choices } = parsed.success ? parsed.data : {}
  const message = choices?.[0]?.message
  return {
    // Each action of an answer repeats it, so an answer without an id is recognized by its content.
    id: id ?? (message === undefined ? undefined : sha256(jsonText(response)).slice(0, ANSWER_ID_LENGTH)),
    model,
    usage: usageIn(response),
    parts: contentParts(message?.['content']),
    calls: listIn(message?.['tool_calls']),
  }
}

function callIn(calls: readonly unknown[], id: string, name: string, args: unknown): ToolCall {
  const found = calls.find((call) => isRecord(call) && call['id'] === id)
  const called = isRecord(found) && isRecord(found['function']) ? found['function'] : {}
  return {
    id,
    type: 'function',
    function: { name: textIn(called['name']) ?? name, arguments: argumentsOf(called['arguments'] ?? args) },
  }
}

const at = (event: V0Event): string | undefined => timeIn(event.timestamp)

/** An action that executes one of the model's tool calls. */
function actionOfAnswer(event: V0Event, past: V0Past): MessageV0 | undefined {
  const metadata = event.tool_call_metadata
  const id = metadata?.tool_call_id
  if (metadata === undefined || id === undefined) return undefined
  const answer = answerIn(metadata.model_response ?? {})
  const isEmitted = answer.id !== undefined && past.answers.has(answer.id)
  if (answer.id !== undefined) past.answers.add(answer.id)
  const { thought, ...args } = event.args ?? {}
  const call = callIn(answer.calls, id, metadata.function_name ?? event.action ?? 'unknown', args)
  const parts = answer.parts.length > 0 ? answer.parts : contentParts(thought)
  return {
    body: { role: 'assistant', content: isEmitted || parts.length === 0 ? null : contentOf(parts), toolCalls: [call] },
    at: at(event),
    answerId: answer.id,
    model: answer.model,
    usage: answer.usage,
  }
}

/** An action without a tool call: older versions parsed it from the answer's text. */
function actionAlone(event: V0Event, past: V0Past): MessageV0 {
  past.calls.add(event.id)
  const { thought, ...args } = event.args ?? {}
  const call = callIn([], generatedCallId(event.id), event.action ?? 'unknown', args)
  const parts = contentParts(thought)
  return {
    body: { role: 'assistant', content: parts.length === 0 ? null : contentOf(parts), toolCalls: [call] },
    at: at(event),
  }
}

/** The images in the arguments of an action, or in the extras of an observation. */
const imagesIn = (holder: Fields | undefined): readonly ContentPart[] =>
  listIn(holder?.['image_urls']).map((url) => toContentPart({ type: 'image_url', image_url: { url } }))

/** The content of the first of these values that has one. */
const firstContent = (...values: readonly unknown[]): readonly ContentPart[] =>
  values.map(contentParts).find((parts) => parts.length > 0) ?? []

const messageBody = (role: 'user' | 'assistant', { args, message }: V0Event): MessageBody => ({
  role,
  content: contentOf([...firstContent(args?.['content'], message), ...imagesIn(args)]),
})

/** Actions that are no message. */
const SILENT_ACTIONS = new Set(['change_agent_state', 'null', 'recall', 'condensation', 'condensation_request'])
const SILENT_OBSERVATIONS = new Set(['agent_state_changed', 'null', 'loop_detection'])

function messageOfAction(event: V0Event, past: V0Past): MessageV0 | undefined {
  const { action, source } = event
  if (action === undefined || SILENT_ACTIONS.has(action)) return undefined
  if (action === 'system') {
    const parts = contentParts(event.args?.['content'])
    return parts.length === 0 ? undefined : { body: { role: 'system', content: contentOf(parts) }, at: at(event) }
  }
  if (action === 'message') {
    if (source === 'user') return { body: messageBody('user', event), at: at(event) }
    return actionOfAnswer(event, past) ?? { body: messageBody('assistant', event), at: at(event) }
  }
  if (source === 'user') {
    const content = `User executed the command:\n${textIn(event.args?.['command']) ?? argumentsOf(event.args)}`
    return { body: { role: 'user', content }, at: at(event), byProgram: true }
  }
  return actionOfAnswer(event, past) ?? actionAlone(event, past)
}

const KNOWLEDGE = ['repo_instructions', 'conversation_instructions', 'additional_agent_instructions'] as const

/** The recalled texts. The model receives them in a template that the file does not contain. */
function recalled(event: V0Event): string {
  const extras = event.extras ?? {}
  const knowledge = Array.isArray(extras['microagent_knowledge']) ? extras['microagent_knowledge'] : []
  return [
    ...KNOWLEDGE.map((field) => textIn(extras[field])),
    ...knowledge.map((agent: unknown) => (isRecord(agent) ? textIn(agent['content']) : undefined)),
  ]
    .filter((content) => content !== undefined)
    .join('\n\n')
}

function messageOfObservation(event: V0Event, past: V0Past): MessageV0 | undefined {
  const { observation, cause, extras } = event
  if (observation === undefined || SILENT_OBSERVATIONS.has(observation)) return undefined
  if (observation === 'recall') {
    const content = recalled(event)
    return content === '' ? undefined : { body: { role: 'user', content }, at: at(event), byProgram: true }
  }
  const outputs = extras?.['outputs']
  const content = contentOf([
    ...firstContent(inside(outputs, 'content'), event.content, event.message),
    ...imagesIn(extras),
  ])
  const failed = observation === 'error' || observation === 'user_rejected'
  const rest = {
    at: at(event),
    ...(failed ? { isError: true as const } : {}),
    exitCode: exitCodeIn(inside(extras, 'metadata', 'exit_code') ?? inside(extras, 'exit_code')),
  }
  const generatedId = cause !== undefined && past.calls.has(cause) ? generatedCallId(cause) : undefined
  const toolCallId = event.tool_call_metadata?.tool_call_id ?? generatedId
  return toolCallId === undefined
    ? { body: { role: 'user', content }, ...rest, byProgram: true }
    : { body: { role: 'tool', content, toolCallId }, ...rest }
}

/** The message of an event; undefined if the model does not see it. */
export const messageOfV0 = (event: V0Event, past: V0Past): MessageV0 | undefined =>
  event.action === undefined ? messageOfObservation(event, past) : messageOfAction(event, past)

/** Whether an event is part of the agent's history, and therefore has a position in it. */
export const hasPlace = ({ action, observation }: V0Event): boolean =>
  action === undefined
    ? observation !== undefined && !SILENT_OBSERVATIONS.has(observation)
    : action === 'recall' || !SILENT_ACTIONS.has(action)

const forgettingSchema = z.looseObject({
  forgotten_event_ids: z.array(z.unknown()).nullish().catch(undefined),
  forgotten_events_start_id: z.number().int().nullish().catch(undefined),
  forgotten_events_end_id: z.number().int().nullish().catch(undefined),
  summary: anyText,
  summary_offset: z.number().int().nonnegative().optional().catch(undefined),
})

/** The content of a `condensation` action: it lists the events, or names the first and the last one. */
export function condensationOfV0(event: V0Event, known: Iterable<string>): Condensation {
  const parsed = forgettingSchema.safeParse(event.args)
  const { forgotten_event_ids: ids, summary, summary_offset: offset, ...rest } = parsed.success ? parsed.data : {}
  const { forgotten_events_start_id: first, forgotten_events_end_id: last } = rest
  const range =
    typeof first === 'number' && typeof last === 'number' && first <= last
      ? [String(first), ...[...known].filter((id) => Number(id) >= first && Number(id) <= last), String(last)]
      : []
  return {
    forgotten: new Set(Array.isArray(ids) ? ids.flatMap(eventIdIn) : range),
    summary,
    offset: summary === undefined ? undefined : offset,
  }
}
