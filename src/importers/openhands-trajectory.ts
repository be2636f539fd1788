/**
 * Events of the first OpenHands (V0): actions and observations with numbers, of which an action holds the whole answer
 * that the model gave. Several actions of one answer repeat it.
 */
import { z } from 'zod'
import type { MessageBody, ToolCall } from '../domain/values/message.js'
import { contentOf, countIn, isFields, textIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'
import type { Condensation, SpokenEvent } from './openhands-events.js'
import type { Usage } from './transcript.js'

const text = z.string().min(1).optional().catch(undefined)
const anyText = z.string().optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

const metadataSchema = z.looseObject({ function_name: text, tool_call_id: text, model_response: fields })

/** An event, action or observation. */
export const v0Schema = z.looseObject({
  id: z.number().int().nonnegative(),
  timestamp: text,
  source: text,
  message: anyText,
  action: text,
  observation: text,
  cause: z.number().int().nonnegative().optional().catch(undefined),
  args: fields,
  content: anyText,
  extras: fields,
  tool_call_metadata: metadataSchema.optional().catch(undefined),
})
export type V0Event = z.infer<typeof v0Schema>

/** One message that an event says. */
export interface SpokenV0 extends SpokenEvent {
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
}

/** What earlier events were, as far as later ones need it. */
export interface V0Past {
  /** Answers whose text was said. */
  readonly answers: Set<string>
  /** Actions that got an id of ours for their call, since they have none. */
  readonly calls: Set<number>
}

export const newPast = (): V0Past => ({ answers: new Set(), calls: new Set() })

const ownCallId = (id: number): string => `event-${String(id)}`

function usageIn(response: Fields): Usage | undefined {
  const usage = isFields(response['usage']) ? response['usage'] : {}
  const input = isFields(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {}
  const output = isFields(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {}
  const found = {
    inputTokens: countIn(usage['prompt_tokens']),
    outputTokens: countIn(usage['completion_tokens']),
    cacheReadTokens: countIn(input['cached_tokens']) ?? countIn(usage['cache_read_input_tokens']),
    cacheWriteTokens: countIn(usage['cache_creation_input_tokens']),
    reasoningTokens: countIn(output['reasoning_tokens']),
  }
  const told = Object.entries(found).filter(([, value]) => value !== undefined)
  return told.length === 0 ? undefined : Object.fromEntries(told)
}

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
  readonly content: string | undefined
  readonly calls: readonly unknown[]
}

function answerIn(response: Fields): Answer {
  const parsed = answerSchema.safeParse(response)
  const { id, model, choices } = parsed.success ? parsed.data : {}
  const message = choices?.[0]?.message ?? {}
  const { content, tool_calls: calls } = message
  return {
    id,
    model,
    usage: usageIn(response),
    content: textIn(content),
    calls: Array.isArray(calls) ? calls : [],
  }
}

function callIn(calls: readonly unknown[], id: string, name: string, args: unknown): ToolCall {
  const found = calls.find((call) => isFields(call) && call['id'] === id)
  const called = isFields(found) && isFields(found['function']) ? found['function'] : {}
  return {
    id,
    type: 'function',
    function: { name: textIn(called['name']) ?? name, arguments: argumentsOf(called['arguments'] ?? args) },
  }
}

const at = (event: V0Event): string | undefined => timeIn(event.timestamp)

/** What the agent did with a tool of the model's. */
function actionOfAnswer(event: V0Event, past: V0Past): SpokenV0 | undefined {
  const metadata = event.tool_call_metadata
  const id = metadata?.tool_call_id
  if (metadata === undefined || id === undefined) return undefined
  const answer = answerIn(metadata.model_response ?? {})
  const isSaid = answer.id !== undefined && past.answers.has(answer.id)
  if (answer.id !== undefined) past.answers.add(answer.id)
  const call = callIn(answer.calls, id, metadata.function_name ?? event.action ?? 'unknown', event.args)
  return {
    body: { role: 'assistant', content: isSaid ? null : (answer.content ?? null), toolCalls: [call] },
    at: at(event),
    answerId: answer.id,
    model: answer.model,
    usage: answer.usage,
  }
}

/** An action of the agent without a tool call of its model: older versions read it out of the answer's text. */
function actionAlone(event: V0Event, past: V0Past): SpokenV0 {
  past.calls.add(event.id)
  const { thought, ...args } = event.args ?? {}
  const call = callIn([], ownCallId(event.id), event.action ?? 'unknown', args)
  return { body: { role: 'assistant', content: textIn(thought) ?? null, toolCalls: [call] }, at: at(event) }
}

function messageBody(role: 'user' | 'assistant', event: V0Event): MessageBody {
  const urls = event.args?.['image_urls']
  const images = Array.isArray(urls) ? urls.map((url: unknown) => ({ type: 'image_url', image_url: { url } })) : []
  const said = textIn(event.args?.['content']) ?? event.message ?? ''
  return { role, content: contentOf([textPart(said), ...images.map(keptPart)]) }
}

/** Actions that the model neither does nor sees. */
const SILENT_ACTIONS = new Set(['change_agent_state', 'null', 'recall', 'condensation', 'condensation_request'])
const SILENT_OBSERVATIONS = new Set(['agent_state_changed', 'null', 'loop_detection'])

function saidByAction(event: V0Event, past: V0Past): SpokenV0 | undefined {
  const { action, source } = event
  if (action === undefined || SILENT_ACTIONS.has(action)) return undefined
  if (action === 'system') {
    const content = textIn(event.args?.['content'])
    return content === undefined ? undefined : { body: { role: 'system', content }, at: at(event) }
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

/** What was recalled for the model. It gets these texts in a frame that the file does not hold. */
function recalled(event: V0Event): string {
  const extras = event.extras ?? {}
  const learnt = Array.isArray(extras['microagent_knowledge']) ? extras['microagent_knowledge'] : []
  return [
    ...KNOWLEDGE.map((field) => textIn(extras[field])),
    ...learnt.map((agent: unknown) => (isFields(agent) ? textIn(agent['content']) : undefined)),
  ]
    .filter((said) => said !== undefined)
    .join('\n\n')
}

function saidByObservation(event: V0Event, past: V0Past): SpokenV0 | undefined {
  const { observation, cause, extras } = event
  if (observation === undefined || SILENT_OBSERVATIONS.has(observation)) return undefined
  if (observation === 'recall') {
    const content = recalled(event)
    return content === '' ? undefined : { body: { role: 'user', content }, at: at(event), byProgram: true }
  }
  const outputs = extras?.['outputs']
  const content = textIn(isFields(outputs) ? outputs['content'] : undefined) ?? event.content ?? event.message ?? ''
  const failed = observation === 'error' || observation === 'user_rejected'
  const rest = { at: at(event), ...(failed ? { isError: true as const } : {}) }
  const own = cause !== undefined && past.calls.has(cause) ? ownCallId(cause) : undefined
  const toolCallId = event.tool_call_metadata?.tool_call_id ?? own
  return toolCallId === undefined
    ? { body: { role: 'user', content }, ...rest, byProgram: true }
    : { body: { role: 'tool', content, toolCallId }, ...rest }
}

/** What an event says; undefined where its model does not see it. */
export const spokenByV0 = (event: V0Event, past: V0Past): SpokenV0 | undefined =>
  event.action === undefined ? saidByObservation(event, past) : saidByAction(event, past)

/** Events that the agent keeps out of its history: they hold no place in it either. */
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

/** What an action `condensation` says: it names the events, or the first and the last of them. */
export function condensationOfV0(event: V0Event, known: Iterable<string>): Condensation {
  const parsed = forgettingSchema.safeParse(event.args)
  const { forgotten_event_ids: ids, summary, summary_offset: offset, ...rest } = parsed.success ? parsed.data : {}
  const { forgotten_events_start_id: first, forgotten_events_end_id: last } = rest
  const range =
    typeof first === 'number' && typeof last === 'number'
      ? [String(first), ...[...known].filter((id) => Number(id) >= first && Number(id) <= last), String(last)]
      : []
  return {
    forgotten: new Set(Array.isArray(ids) ? ids.map(String) : range),
    summary,
    offset: summary === undefined ? undefined : offset,
  }
}
