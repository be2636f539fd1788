/** Writes a conversation as ATIF 1.7. The note in `extra.context_ledger` has the fields that ATIF lacks. */
import { isRecord } from '../../lib/is-record.js'
import { exactJson, exactText, recordable } from '../../lib/json.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { CallPairing, toolOfCall } from '../../domain/conversation/call-groups.js'
import { ANSWER } from '../../domain/conversation/observed.js'
import {
  bodyOf,
  contentText,
  isReasoning,
  isTextPart,
  type ContentPart,
  type MessageBody,
  type ToolCall,
} from '../../domain/values/message.js'
import { bodyOfResult, bodyOfStep, NOTE } from './atif-messages.js'
import { ATIF_VERSION, type AtifContent, type AtifResult, type AtifStep, type AtifTrajectory } from './atif-schema.js'

/** A recorded message. */
export interface RecordedMessage extends MessageBody {
  readonly messageId: string
  readonly createdAt: string
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
}

/** The conversation of a trajectory. */
export interface TrajectorySource {
  readonly conversationId: string
  /** The program that wrote it, with its version. */
  readonly agent: { readonly name: string; readonly version: string }
  readonly title: string | undefined
  readonly cwd: string | undefined
  readonly messages: readonly RecordedMessage[]
}

const MEDIA = /^data:(image\/(?:jpeg|png|gif|webp));base64,/u
type Part = Exclude<AtifContent, string>[number]

function partFor(part: ContentPart): Part {
  if (isTextPart(part)) return { type: 'text', text: part.text }
  const { image_url: link } = part
  const url = isRecord(link) ? link['url'] : undefined
  const media = typeof url === 'string' ? (MEDIA.exec(url)?.[1] ?? 'image/png') : undefined
  // The text says that a part is missing here; the note has it.
  if (media === undefined || typeof url !== 'string') return { type: 'text', text: contentText([part]) }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of the types of the pattern
  return { type: 'image', source: { media_type: media as 'image/png', path: url } }
}

const contentFor = (content: MessageBody['content'] | readonly ContentPart[]): AtifContent =>
  typeof content === 'string' || content === null ? (content ?? '') : content.map(partFor)

const reasoningIn = (part: ContentPart): string | undefined =>
  [part['text'], part['thinking']].find((text) => typeof text === 'string')

function argumentsFor({ function: named }: ToolCall): Record<string, unknown> {
  try {
    const value = recordable(exactJson(named?.arguments ?? '{}'))
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

/** Usage as metrics. */
function metricsFor(attributes: RecordedMessage['attributes']): AtifStep['metrics'] {
  const usage = attributes?.['usage']
  if (!isRecord(usage)) return undefined
  const number = (field: string): number | undefined => {
    const value = usage[field]
    return typeof value === 'number' ? value : undefined
  }
  return withoutUndefined({
    prompt_tokens: number('inputTokens'),
    completion_tokens: number('outputTokens'),
    cached_tokens: number('cacheReadTokens'),
    cost_usd: number('cost'),
  })
}

/** The note of a message: the body only if the reader does not restore it from the other fields. */
function noteFor(message: RecordedMessage, index: number, restored: MessageBody): Record<string, unknown> {
  const { attributes = {}, messageId, createdAt } = message
  const body = bodyOf(message)
  const { byProgram, isError, exitCode, answerId } = attributes
  return {
    [NOTE]: withoutUndefined({
      index,
      id: messageId,
      at: createdAt,
      body: exactText(bodyOf(restored)) === exactText(body) ? undefined : body,
      byProgram: byProgram === true ? true : undefined,
      isError: isError === true ? true : undefined,
      exitCode: typeof exitCode === 'number' ? exitCode : undefined,
      answerId: typeof answerId === 'string' ? answerId : undefined,
    }),
  }
}

/** A step without its number and results. */
function stepFor(message: RecordedMessage, index: number): Omit<AtifStep, 'step_id'> {
  const { role, content, attributes, createdAt, toolCalls = [] } = message
  const source = role === 'assistant' ? 'agent' : role === 'system' || role === 'developer' ? 'system' : 'user'
  const parts = typeof content === 'string' || content === null ? [] : content
  const reasoning = parts.filter(isReasoning).flatMap((part) => reasoningIn(part) ?? [])
  const model = attributes?.['model']
  const metrics = metricsFor(attributes)
  const step = {
    timestamp: createdAt,
    source,
    ...(source === 'agent' && typeof model === 'string' ? { model_name: model } : {}),
    message: contentFor(
      parts.length === 0 ? content : parts.filter((part) => source !== 'agent' || !isReasoning(part)),
    ),
    ...(source === 'agent' && reasoning.length > 0 ? { reasoning_content: reasoning.join('\n\n') } : {}),
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map((call) => ({
            tool_call_id: call.id,
            function_name: toolOfCall(call).name,
            arguments: argumentsFor(call),
          })),
        }),
    ...(source === 'agent' && metrics !== undefined ? { metrics } : {}),
  } satisfies Omit<AtifStep, 'step_id'>
  return { ...step, extra: noteFor(message, index, bodyOfStep({ ...step, step_id: 1 })) }
}

function resultFor(message: RecordedMessage, index: number): AtifResult {
  const result = { source_call_id: message.toolCallId, content: contentFor(message.content) }
  return { ...result, extra: noteFor(message, index, bodyOfResult(result)) }
}

/**
 * The usage of each answer. A program that writes an answer in several records repeats its usage so far in each of them,
 * so the largest figures are those of the answer.
 */
function usagesByAnswer(messages: readonly RecordedMessage[]): readonly NonNullable<AtifStep['metrics']>[] {
  const byAnswer = new Map<unknown, NonNullable<AtifStep['metrics']>>()
  for (const message of messages) {
    const usage = message.role === 'assistant' ? metricsFor(message.attributes) : undefined
    if (usage === undefined) continue
    const answer = message.attributes?.[ANSWER] ?? message
    const known = byAnswer.get(answer) ?? {}
    byAnswer.set(answer, {
      prompt_tokens: larger(known.prompt_tokens, usage.prompt_tokens),
      completion_tokens: larger(known.completion_tokens, usage.completion_tokens),
      cached_tokens: larger(known.cached_tokens, usage.cached_tokens),
    })
  }
  return [...byAnswer.values()]
}

const larger = (a = 0, b = 0): number => Math.max(a, b)

/** The conversation as ATIF. A result is in the step of its call; a result without a call is a step of the user. */
export function trajectoryOf({ conversationId, agent, title, cwd, messages }: TrajectorySource): AtifTrajectory {
  const steps: AtifStep[] = []
  const pairing = new CallPairing<ToolCall, { results: AtifResult[] }>()
  for (const [index, message] of messages.entries()) {
    const observation = { results: [] }
    const answered = pairing.take(message, observation)
    if (answered !== undefined) {
      answered.by.results.push(resultFor(message, index))
      continue
    }
    const step = { step_id: steps.length + 1, ...stepFor(message, index) }
    steps.push((message.toolCalls ?? []).length === 0 ? step : { ...step, observation })
  }
  const usages = usagesByAnswer(messages)
  const sum = (field: 'prompt_tokens' | 'completion_tokens' | 'cached_tokens'): number =>
    usages.reduce((total, usage) => total + (usage[field] ?? 0), 0)
  return {
    schema_version: ATIF_VERSION,
    session_id: conversationId,
    trajectory_id: conversationId,
    agent,
    steps: steps.map(({ observation, ...step }) =>
      observation === undefined || observation.results.length === 0 ? step : { ...step, observation },
    ),
    final_metrics: {
      total_prompt_tokens: sum('prompt_tokens'),
      total_completion_tokens: sum('completion_tokens'),
      total_cached_tokens: sum('cached_tokens'),
      total_steps: steps.length,
    },
    extra: { [NOTE]: withoutUndefined({ title, cwd }) },
  }
}
