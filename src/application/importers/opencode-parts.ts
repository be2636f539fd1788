/**
 * Converts a message of opencode, which is one record with many parts, to chat messages: one assistant message for each
 * step of an answer, and one tool message for each result.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { knownUsage } from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, exitCodeIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, toContentPart, textPart } from './content-part.js'
import type { Usage } from './transcript.js'

const text = z.string().min(1).optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)
const time = z.number().nonnegative().optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

/** The fields of a message's `info`, or of a row of the table `message`. */
export const infoSchema = z.looseObject({
  id: text,
  sessionID: text,
  role: text,
  parentID: text,
  modelID: text,
  summary: z.unknown().optional(),
  finish: text,
  error: z.looseObject({ name: text }).optional().catch(undefined),
  time: z.looseObject({ created: time, completed: time }).optional().catch(undefined),
  tokens: fields,
  cost: z.unknown().optional(),
  system: text,
})
export type Info = z.infer<typeof infoSchema>

const stateSchema = z.looseObject({
  status: text,
  raw: text,
  metadata: fields,
  time: z.looseObject({ start: time, end: time, compacted: time }).optional().catch(undefined),
  attachments: z.array(z.unknown()).optional().catch(undefined),
})

const partSchema = z.looseObject({
  type: z.string(),
  id: text,
  text: z.string().optional().catch(undefined),
  synthetic: flag,
  ignored: flag,
  callID: text,
  tool: text,
  state: stateSchema.optional().catch(undefined),
  tokens: fields,
  cost: z.unknown().optional(),
})
type Part = z.infer<typeof partSchema>
interface ReadPart {
  /** The original value: a schema returns its keys in another order. */
  readonly raw: unknown
  readonly part: Part
}

/** One message of a record. */
export interface RecordMessage {
  readonly body: MessageBody
  readonly at?: string | undefined
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
  readonly exitCode?: number | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
  /** When the program replaced it with a placeholder, in milliseconds since 1970. */
  readonly prunedAt?: number | undefined
}

/** The content of a record. */
export interface RecordContent {
  readonly messages: readonly RecordMessage[]
  /** Types of the parts that contain nothing for the model. */
  readonly leftOut: readonly string[]
  /** Sessions that its calls started, with the call. */
  readonly children: readonly (readonly [sessionId: string, callId: string])[]
}

/** Converts token counts. opencode does not include cached tokens in the input; here they are part of it. */
export function usageOf(tokens: unknown, cost: unknown): Usage | undefined {
  const counted = isRecord(tokens) ? tokens : {}
  const cache = isRecord(counted['cache']) ? counted['cache'] : {}
  const input = countIn(counted['input'])
  const read = countIn(cache['read'])
  const write = countIn(cache['write'])
  return knownUsage({
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (write ?? 0),
    outputTokens: countIn(counted['output']),
    cacheReadTokens: read,
    cacheWriteTokens: write,
    reasoningTokens: countIn(counted['reasoning']),
    cost: countIn(cost),
  })
}

/** The content and the calls of an answer that is being assembled. */
export interface Step {
  readonly parts: ContentPart[]
  readonly calls: ToolCall[]
  readonly results: RecordMessage[]
  usage?: Usage | undefined
}

export const newStep = (): Step => ({ parts: [], calls: [], results: [] })
export const isEmptyStep = ({ parts, calls }: Step): boolean => parts.length === 0 && calls.length === 0

/** An id for a call, unique in its message. */
export function callIdIn(step: Step, callId: string | undefined, place: string): string {
  const id = callId ?? place
  const usedCount = step.calls.filter((call) => call.id === id || call.id.startsWith(`${id}#`)).length
  return usedCount === 0 ? id : `${id}#${String(usedCount + 1)}`
}

/** The messages of a step: the answer, then the results of its calls. */
export const messagesOfStep = (step: Step, rest: Omit<RecordMessage, 'body'>): readonly RecordMessage[] => [
  {
    ...rest,
    body: {
      role: 'assistant',
      content: step.parts.length === 0 ? null : contentOf(step.parts),
      ...(step.calls.length === 0 ? {} : { toolCalls: step.calls }),
    },
  },
  ...step.results,
]

type State = z.infer<typeof stateSchema>

/** A result and its attachments. */
function resultContent(result: unknown, attachments: readonly unknown[]): MessageBody['content'] {
  const output = typeof result === 'string' ? textPart(result) : toContentPart(result)
  return contentOf([output, ...attachments.map(toContentPart)])
}

/** The result of a call; undefined if it has none yet. */
function resultOf(state: State, toolCallId: string): RecordMessage | undefined {
  const rest = { at: timeIn(state.time?.end), exitCode: exitCodeIn(state.metadata?.['exit']) }
  if (state.status === 'completed') {
    const content = resultContent(state['output'] ?? '', state.attachments ?? [])
    return { body: { role: 'tool', content, toolCallId }, ...rest, prunedAt: state.time?.compacted }
  }
  if (state.status === 'error') {
    // The output of a command before the user interrupted it.
    const before = state.metadata?.['interrupted'] === true ? textIn(state.metadata['output']) : undefined
    const content = resultContent(before ?? state['error'] ?? '', [])
    return { body: { role: 'tool', content, toolCallId }, ...rest, isError: true }
  }
  return undefined
}

function addTool(step: Step, { part }: ReadPart, place: string): readonly [string, string] | undefined {
  const state = part.state
  const id = callIdIn(step, part.callID, part.id ?? place)
  step.calls.push({
    id,
    type: 'function',
    function: { name: part.tool ?? 'unknown', arguments: argumentsOf(state?.raw ?? state?.['input']) },
  })
  const result = state === undefined ? undefined : resultOf(state, id)
  if (result !== undefined) step.results.push(result)
  const child = textIn(state?.metadata?.['sessionId']) ?? textIn(state?.metadata?.['sessionID'])
  return child === undefined ? undefined : [child, id]
}

/** Part types of an answer that contain nothing for the model. */
const SILENT = new Set(['step-start', 'step-finish', 'snapshot', 'patch', 'retry', 'compaction'])

function answerOf(info: Info, parts: readonly ReadPart[], place: string): RecordContent {
  const steps = [newStep()]
  const leftOut: string[] = []
  const children: (readonly [string, string])[] = []
  for (const [at, read] of parts.entries()) {
    const { part } = read
    const last = steps.at(-1)
    let step = last ?? newStep()
    // Older versions store several answers in one record; each begins with a `step-start`.
    if (part.type === 'step-start' && !isEmptyStep(step)) {
      step = newStep()
      steps.push(step)
    }
    if (part.type === 'step-finish') step.usage = usageOf(part.tokens, part.cost)
    if (SILENT.has(part.type)) leftOut.push(part.type)
    else if (part.type === 'text' && part.text !== undefined) {
      if (part.text !== '') step.parts.push(textPart(part.text))
    } else if (part.type === 'tool') {
      const child = addTool(step, read, `${place}.parts[${String(at)}]`)
      if (child !== undefined) children.push(child)
    } else step.parts.push(toContentPart(read.raw))
  }
  const nonEmpty = steps.filter((step) => !isEmptyStep(step))
  const messages = nonEmpty.flatMap((step) =>
    messagesOfStep(step, {
      at: timeIn(info.time?.created),
      model: info.modelID,
      usage: nonEmpty.length > 1 ? step.usage : usageOf(info.tokens, info.cost),
    }),
  )
  return { messages, leftOut, children }
}

/** Part types of a user's message that contain nothing for the model. */
const USER_SILENT = new Set(['compaction', 'snapshot', 'patch', 'step-start', 'step-finish', 'retry'])

function promptOf(info: Info, parts: readonly ReadPart[]): RecordContent {
  const content: ContentPart[] = []
  const leftOut: string[] = info.system === undefined ? [] : ['system of a user message']
  let byProgram = true
  for (const { raw, part } of parts) {
    if (USER_SILENT.has(part.type)) {
      if (part.type !== 'compaction') leftOut.push(part.type)
    } else if (part.type === 'text' && part.ignored === true) leftOut.push('ignored text')
    else if (part.type === 'text' && part.text !== undefined) {
      content.push(textPart(part.text))
      byProgram = byProgram && part.synthetic === true
    } else {
      content.push(toContentPart(raw))
      byProgram = false
    }
  }
  const message: RecordMessage = {
    body: { role: 'user', content: contentOf(content) },
    at: timeIn(info.time?.created),
    ...(byProgram ? { byProgram } : {}),
  }
  return { messages: content.length === 0 ? [] : [message], leftOut, children: [] }
}

function readPart(raw: unknown): ReadPart {
  const parsed = partSchema.safeParse(raw)
  return { raw, part: parsed.success ? parsed.data : { type: 'unknown', cost: undefined } }
}

/** The content of a record. @param place location of the record, for the ids of calls without one */
export function recordOf(info: Info, parts: readonly unknown[], place: string): RecordContent {
  const read = parts.map(readPart)
  return info.role === 'user' ? promptOf(info, read) : answerOf(info, read, place)
}

/** A request for a compaction, by the user or the program. */
export interface CompactionRequest {
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  /** The first retained message. */
  readonly tailStartId: string | undefined
}

const compactionRequestSchema = z.looseObject({
  type: z.literal('compaction'),
  auto: flag,
  overflow: flag,
  tail_start_id: text,
})

/** Finds the request for a compaction in the parts of a user's message. */
export function compactionRequestIn(parts: readonly unknown[]): CompactionRequest | undefined {
  for (const part of parts) {
    const { success, data } = compactionRequestSchema.safeParse(part)
    if (!success) continue
    const why = data.auto === undefined ? 'unknown' : data.auto ? 'auto' : 'manual'
    return { trigger: data.overflow === true ? 'overflow' : why, tailStartId: data.tail_start_id }
  }
  return undefined
}

/** The texts of a summary, joined. */
export const summaryIn = (parts: readonly unknown[]): string =>
  parts
    .filter((part): part is Fields => isRecord(part) && part['type'] === 'text')
    .flatMap((part) => textIn(part['text']) ?? [])
    .join('\n')

const hasContent = (part: unknown): boolean =>
  isRecord(part) && part['type'] !== 'step-start' && part['type'] !== 'reasoning'

/**
 * Whether the program includes a message in later requests. It omits an answer that ended with an error, unless the
 * user aborted the answer after its first content.
 */
export const isShown = (info: Info, parts: readonly unknown[]): boolean =>
  info.error === undefined || (info.error.name === 'MessageAbortedError' && parts.some(hasContent))
