/**
 * A message of opencode, which is one record with many parts, as messages of a chat: an answer becomes a message of the
 * assistant for each step, and a message of the tool for each result.
 */
import { z } from 'zod'
import type { ContentPart, MessageBody, ToolCall } from '../domain/values/message.js'
import { contentOf, countIn, isFields, textIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'
import type { Usage } from './transcript.js'

const text = z.string().min(1).optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)
const time = z.number().nonnegative().optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

/** What stands in `info` of a message, or in a row of the table `message`. */
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
  /** As it came: a schema hands it back with its keys in another order. */
  readonly raw: unknown
  readonly part: Part
}

/** One message that a record says. */
export interface Spoken {
  readonly body: MessageBody
  readonly at?: string | undefined
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
  /** The program shows a placeholder in its place since then, in milliseconds since 1970. */
  readonly prunedAt?: number | undefined
}

/** What a record says. */
export interface Said {
  readonly messages: readonly Spoken[]
  /** Its parts that say nothing to the model, by their types. */
  readonly leftOut: readonly string[]
  /** Sessions that its calls began, with the call. */
  readonly children: readonly (readonly [sessionId: string, callId: string])[]
}

/** Tokens of opencode as ours: it counts what was in the cache beside the input, and not in it. */
export function usageOf(tokens: unknown, cost: unknown): Usage | undefined {
  const counted = isFields(tokens) ? tokens : {}
  const cache = isFields(counted['cache']) ? counted['cache'] : {}
  const input = countIn(counted['input'])
  const read = countIn(cache['read'])
  const write = countIn(cache['write'])
  const found = {
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (write ?? 0),
    outputTokens: countIn(counted['output']),
    cacheReadTokens: read,
    cacheWriteTokens: write,
    reasoningTokens: countIn(counted['reasoning']),
    cost: countIn(cost),
  }
  const told = Object.entries(found).filter(([, value]) => value !== undefined)
  return told.length === 0 ? undefined : Object.fromEntries(told)
}

/** What an answer says, before it is a message: its content and its calls. */
export interface Step {
  readonly parts: ContentPart[]
  readonly calls: ToolCall[]
  readonly results: Spoken[]
  usage?: Usage | undefined
}

export const newStep = (): Step => ({ parts: [], calls: [], results: [] })
export const isEmptyStep = ({ parts, calls }: Step): boolean => parts.length === 0 && calls.length === 0

/** The id of a call, which is used once in a message. */
export function callIdIn(step: Step, given: string | undefined, place: string): string {
  const id = given ?? place
  const taken = step.calls.filter((call) => call.id === id || call.id.startsWith(`${id}#`)).length
  return taken === 0 ? id : `${id}#${String(taken + 1)}`
}

/** The messages of a step: the answer, then the results of its calls. */
export const messagesOfStep = (step: Step, rest: Omit<Spoken, 'body'>): readonly Spoken[] => [
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

/** A result with the files beside it. */
function resultContent(said: unknown, attachments: readonly unknown[]): MessageBody['content'] {
  const own = typeof said === 'string' ? textPart(said) : keptPart(said)
  return contentOf([own, ...attachments.map(keptPart)])
}

/** What came back from a call; undefined where nothing has yet. */
function resultOf(state: State, toolCallId: string): Spoken | undefined {
  const at = timeIn(state.time?.end)
  if (state.status === 'completed') {
    const content = resultContent(state['output'] ?? '', state.attachments ?? [])
    return { body: { role: 'tool', content, toolCallId }, at, prunedAt: state.time?.compacted }
  }
  if (state.status === 'error') {
    // What a command had said before somebody stopped it.
    const before = state.metadata?.['interrupted'] === true ? textIn(state.metadata['output']) : undefined
    const content = resultContent(before ?? state['error'] ?? '', [])
    return { body: { role: 'tool', content, toolCallId }, at, isError: true }
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

/** Parts of an answer that tell of the program's own work. */
const SILENT = new Set(['step-start', 'step-finish', 'snapshot', 'patch', 'retry', 'compaction'])

function answerOf(info: Info, parts: readonly ReadPart[], place: string): Said {
  const steps = [newStep()]
  const leftOut: string[] = []
  const children: (readonly [string, string])[] = []
  for (const [at, read] of parts.entries()) {
    const { part } = read
    const last = steps.at(-1)
    let step = last ?? newStep()
    // Older versions keep several answers in one record; each begins with a `step-start`.
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
    } else step.parts.push(keptPart(read.raw))
  }
  const said = steps.filter((step) => !isEmptyStep(step))
  const messages = said.flatMap((step) =>
    messagesOfStep(step, {
      at: timeIn(info.time?.created),
      model: info.modelID,
      usage: said.length > 1 ? step.usage : usageOf(info.tokens, info.cost),
    }),
  )
  return { messages, leftOut, children }
}

/** Parts of a user's message that say nothing of their own to the model. */
const ASIDE = new Set(['compaction', 'snapshot', 'patch', 'step-start', 'step-finish', 'retry'])

function promptOf(info: Info, parts: readonly ReadPart[]): Said {
  const content: ContentPart[] = []
  const leftOut: string[] = info.system === undefined ? [] : ['system of a user message']
  let byProgram = true
  for (const { raw, part } of parts) {
    if (ASIDE.has(part.type)) {
      if (part.type !== 'compaction') leftOut.push(part.type)
    } else if (part.type === 'text' && part.ignored === true) leftOut.push('ignored text')
    else if (part.type === 'text' && part.text !== undefined) {
      content.push(textPart(part.text))
      byProgram = byProgram && part.synthetic === true
    } else {
      content.push(keptPart(raw))
      byProgram = false
    }
  }
  const message: Spoken = {
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

/** What a record says. @param place of the record, for the ids of calls that have none */
export function recordOf(info: Info, parts: readonly unknown[], place: string): Said {
  const read = parts.map(readPart)
  return info.role === 'user' ? promptOf(info, read) : answerOf(info, read, place)
}

/** That the user, or the program, asked for a compaction. */
export interface Asked {
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  /** The first message that stays. */
  readonly tailStartId: string | undefined
}

const askedSchema = z.looseObject({ type: z.literal('compaction'), auto: flag, overflow: flag, tail_start_id: text })

/** The request for a compaction among the parts of a user's message. */
export function askedIn(parts: readonly unknown[]): Asked | undefined {
  for (const part of parts) {
    const { success, data } = askedSchema.safeParse(part)
    if (!success) continue
    const why = data.auto === undefined ? 'unknown' : data.auto ? 'auto' : 'manual'
    return { trigger: data.overflow === true ? 'overflow' : why, tailStartId: data.tail_start_id }
  }
  return undefined
}

/** The texts of a summary, joined. */
export const summaryIn = (parts: readonly unknown[]): string =>
  parts
    .filter((part): part is Fields => isFields(part) && part['type'] === 'text')
    .flatMap((part) => textIn(part['text']) ?? [])
    .join('\n')

const says = (part: unknown): boolean => isFields(part) && part['type'] !== 'step-start' && part['type'] !== 'reasoning'

/**
 * Whether the program shows a message to its model later. An answer that ended in an error it does not, unless somebody
 * stopped it behind its first words.
 */
export const isShown = (info: Info, parts: readonly unknown[]): boolean =>
  info.error === undefined || (info.error.name === 'MessageAbortedError' && parts.some(says))
