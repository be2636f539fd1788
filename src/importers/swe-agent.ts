/**
 * SWE-agent: a `.traj` file, which holds the history of the chat and, beside it, each step that the agent made. It tells
 * no times. Where a step holds the query that its model got, what a history processor hid from the model is told as an
 * edit.
 */
import { z } from 'zod'
import { hashOf } from '../domain/values/hash.js'
import { contentText, type ContentPart, type MessageBody, type ToolCall } from '../domain/values/message.js'
import { contentOf, isFields, refusalOf, textIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'
import type {
  Head,
  Importer,
  Layout,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Where,
} from './transcript.js'

const text = z.string().min(1).optional().catch(undefined)
const list = z.array(z.unknown()).optional().catch(undefined)
const fields = z.looseObject({}).optional().catch(undefined)

const trajectorySchema = z.looseObject({
  history: list,
  trajectory: list,
  attempts: list,
  info: fields,
  replay_config: z.unknown().optional(),
})
type Trajectory = z.infer<typeof trajectorySchema>

const entrySchema = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.unknown().optional(),
  agent: text,
  message_type: text,
  action: text,
  is_demo: z.boolean().optional().catch(undefined),
  tool_calls: list,
  tool_call_ids: list,
  thinking_blocks: list,
})
type Entry = z.infer<typeof entrySchema>

const stepSchema = z.looseObject({ action: text, response: text, thought: text, observation: text, query: list })
type AgentStep = z.infer<typeof stepSchema>

function partsOf(content: unknown): readonly ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  if (!Array.isArray(content)) return content === undefined || content === null ? [] : [keptPart(content)]
  return content.map((part: unknown) =>
    isFields(part) && part['type'] === 'text' && typeof part['text'] === 'string'
      ? textPart(part['text'])
      : keptPart(part),
  )
}

function callsOf(calls: readonly unknown[], place: string): readonly ToolCall[] {
  const taken = new Set<string>()
  return calls.flatMap((call, at) => {
    const called = isFields(call) && isFields(call['function']) ? call['function'] : undefined
    if (!isFields(call) || called === undefined) return []
    const given = textIn(call['id']) ?? `${place}.tool_calls[${String(at)}]`
    const id = taken.has(given) ? `${given}#${String(at + 1)}` : given
    taken.add(id)
    const name = textIn(called['name']) ?? 'unknown'
    return [{ id, type: 'function', function: { name, arguments: argumentsOf(called['arguments']) } }]
  })
}

function bodyOf(entry: Entry, place: string): MessageBody {
  const { role } = entry
  const thoughts = role === 'assistant' ? (entry.thinking_blocks ?? []).map(keptPart) : []
  const parts = [...thoughts, ...partsOf(entry.content)]
  const toolCalls = role === 'assistant' ? callsOf(entry.tool_calls ?? [], place) : []
  const toolCallId = textIn(entry.tool_call_ids?.[0])
  if (role === 'tool' && toolCallId !== undefined) return { role, content: contentOf(parts), toolCallId }
  return {
    // A result of no call is what the agent's environment said.
    role: role === 'tool' ? 'user' : role,
    content: parts.length === 0 && toolCalls.length > 0 ? null : contentOf(parts),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  }
}

/** Where one run of an agent stands in the file. */
interface Run {
  readonly where: Where
  /** In front of the places of its entries, as `attempts[1].`. */
  readonly prefix: string
}

const placeIn = ({ prefix }: Run, list_: 'history' | 'trajectory', at: number): string =>
  `${prefix}${list_}[${String(at)}]`

interface Told {
  readonly entry: Entry
  readonly place: string
  readonly body: MessageBody
}

function readHistory(history: readonly unknown[], run: Run): readonly (Told | undefined)[] {
  return history.map((raw, at) => {
    const { success, data } = entrySchema.safeParse(raw)
    const place = placeIn(run, 'history', at)
    return success ? { entry: data, place, body: bodyOf(data, place) } : undefined
  })
}

/** By what a run is known: its first answer, which no other run of the same task has. */
function idOf(history: readonly (Told | undefined)[], steps: readonly AgentStep[]): string {
  const at = history.findIndex((told) => told?.entry.role === 'assistant' && told.entry.is_demo !== true)
  const begun = at === -1 ? history : history.slice(0, at + 1)
  const response = at === -1 ? steps[0]?.response : undefined
  return hashOf([begun.map((told) => told?.body), response]).slice(0, 16)
}

/** What the program puts in the place of an old result. */
const HIDDEN = /^Old environment output: \(/u

/** The latest content of a message that the model was given, as a text. */
type Given = Map<string, string>

/** What the query of a step shows otherwise than the history says, or than an earlier query showed. */
function* editsBefore(
  step: AgentStep | undefined,
  said: readonly Told[],
  given: Given,
  where: Where,
): Generator<TranscriptItem> {
  for (const [at, raw] of (step?.query ?? []).entries()) {
    const told = said[at]
    const shown = entrySchema.safeParse(raw)
    if (told === undefined || !shown.success || shown.data.role !== told.entry.role) continue
    const content = contentOf(partsOf(shown.data.content))
    const now = contentText(content)
    const original = contentText(contentOf(partsOf(told.entry.content)))
    if (now === (given.get(told.place) ?? original)) continue
    given.set(told.place, now)
    const why = HIDDEN.test(now) || now.length < original.length ? 'masked' : 'replaced'
    yield { kind: 'edit', sourceId: told.place, part: 0, content, why, where }
  }
}

/** A step that the history does not hold, as the last one: the answer, and what its action brought. */
function* stepAlone(
  step: AgentStep,
  { run, at, hasCalls }: { readonly run: Run; readonly at: number; readonly hasCalls: boolean },
  model: string | undefined,
): Generator<TranscriptItem> {
  const place = placeIn(run, 'trajectory', at)
  const where = { ...run.where, path: place }
  const { action, observation } = step
  const content = step.response ?? step.thought ?? ''
  const call: ToolCall = { id: place, type: 'custom', custom: { name: 'action', input: action ?? '' } }
  // An answer of a model with tools says its action in a call, which a step does not hold; an answer without says it
  // in its text.
  const calls = action !== undefined && (hasCalls || !content.includes(action))
  const body: MessageBody = { role: 'assistant', content, ...(calls ? { toolCalls: [call] } : {}) }
  yield { kind: 'message', sourceId: place, part: 0, body, model, where }
  if (observation === undefined) return
  const result: MessageBody = calls
    ? { role: 'tool', content: observation, toolCallId: place }
    : { role: 'user', content: observation }
  yield { kind: 'message', sourceId: place, part: 1, body: result, ...(calls ? {} : { byProgram: true }), where }
}

const modelIn = (config: unknown): string | undefined => {
  const agent = isFields(config) ? config['agent'] : undefined
  const model = isFields(agent) ? agent['model'] : undefined
  return isFields(model) ? textIn(model['name']) : undefined
}

/** The configuration of a run, which some versions write as JSON in a text. */
function configOf(raw: unknown): unknown {
  if (typeof raw !== 'string') return raw
  try {
    return JSON.parse(raw)
  } catch {
    return undefined
  }
}

function* readRun(trajectory: Trajectory, run: Run): Generator<TranscriptItem> {
  const steps = (trajectory.trajectory ?? []).map((raw): AgentStep => {
    const { success, data } = stepSchema.safeParse(raw)
    return success ? data : {}
  })
  const history = readHistory(trajectory.history ?? [], run)
  const id = idOf(history, steps)
  const main = history.find((told) => told !== undefined)?.entry.agent
  const model = modelIn(configOf(trajectory.replay_config))
  const version = textIn(trajectory.info?.['swe_agent_version'])
  let current: string | undefined
  function* inConversation(agent: string | undefined, where: Where): Generator<TranscriptItem> {
    const sourceId = agent === undefined || agent === main ? id : `${id}/${agent}`
    if (sourceId === current) return
    current = sourceId
    const parent: Parent | undefined = sourceId === id ? undefined : { sourceId: id, how: 'sub-agent' }
    yield {
      kind: 'conversation',
      sourceId,
      programVersion: version,
      ...(parent === undefined ? {} : { parent }),
      title: taskOf(run.where.file),
      where,
    }
  }

  yield* inConversation(main, run.where)
  const said: Told[] = []
  const given: Given = new Map()
  let answers = 0
  let hasTask = false
  let hasCalls = false
  for (const [at, told] of history.entries()) {
    const where = { ...run.where, path: placeIn(run, 'history', at) }
    if (told === undefined) {
      yield { kind: 'left-out', what: 'history item', where }
      continue
    }
    const { entry, place, body } = told
    const isMain = entry.agent === undefined || entry.agent === main
    const isDemo = entry.is_demo === true
    yield* inConversation(entry.agent, where)
    if (isMain && entry.role === 'assistant' && !isDemo) {
      yield* editsBefore(steps[answers], said, given, where)
      answers += 1
      hasCalls ||= body.toolCalls !== undefined
    }
    if (isMain) said.push(told)
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
      continue
    }
    // The first message in the user's place holds the task. Later ones hold what commands brought, and demonstrations
    // are of the program as a whole.
    const byProgram = isDemo || (body.role === 'user' && hasTask)
    if (body.role === 'user' && !isDemo) hasTask = true
    yield {
      kind: 'message',
      sourceId: place,
      part: 0,
      body,
      ...(byProgram ? { byProgram } : {}),
      ...(body.role === 'assistant' && !isDemo ? { model } : {}),
      where,
    }
  }
  yield* inConversation(main, run.where)
  yield* stepsBehind(steps, { run, said, given, answers, hasCalls }, model)
}

/** The steps behind those that the history holds. */
function* stepsBehind(
  steps: readonly AgentStep[],
  known: {
    readonly run: Run
    readonly said: readonly Told[]
    readonly given: Given
    readonly answers: number
    readonly hasCalls: boolean
  },
  model: string | undefined,
): Generator<TranscriptItem> {
  const { run, said, given, answers, hasCalls } = known
  const last = said.findLast(({ entry }) => entry.role === 'assistant' && entry.is_demo !== true)?.entry.action
  const isAligned = answers === 0 || last === undefined || last === (steps[answers - 1]?.action ?? last)
  for (const [at, step] of steps.entries()) {
    if (at < answers) continue
    const where = { ...run.where, path: placeIn(run, 'trajectory', at) }
    if (!isAligned) {
      yield { kind: 'left-out', what: 'step without its place in the history', where }
      continue
    }
    yield* editsBefore(step, said, given, where)
    yield* stepAlone(step, { run, at, hasCalls }, model)
  }
}

const taskOf = (file: string): string => (file.split(/[\\/]/u).at(-1) ?? file).replace(/\.traj$/u, '')

function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
  const { success, data } = trajectorySchema.safeParse(value)
  if (!success) {
    yield { kind: 'left-out', what: typeof value, where }
    return
  }
  // Beside several attempts, the chosen one stands once more as the whole.
  if (data.attempts === undefined || data.attempts.length === 0) {
    yield* readRun(data, { where, prefix: '' })
    return
  }
  for (const [at, raw] of data.attempts.entries()) {
    const attempt = trajectorySchema.safeParse(raw)
    const prefix = `attempts[${String(at)}].`
    const there = { ...where, path: prefix.slice(0, -1) }
    if (attempt.success) yield* readRun(attempt.data, { where: there, prefix })
    else yield { kind: 'left-out', what: 'attempt', where: there }
  }
}

/** How a file begins, where it is too large to be looked at whole. */
const TRAJECTORY = /^\s*\{\s*(?:"environment"\s*:\s*"[^"]*"\s*,\s*)?"(?:trajectory|attempts)"\s*:\s*\[/u

const isStep = (value: unknown): value is Fields =>
  isFields(value) && typeof value['action'] === 'string' && typeof value['observation'] === 'string'

function isTrajectory(value: unknown): boolean {
  if (!isFields(value)) return false
  const { trajectory, history, attempts } = value
  if (Array.isArray(attempts) && attempts.length > 0) return isTrajectory(attempts[0])
  if (!Array.isArray(trajectory)) return false
  return Array.isArray(history) ? trajectory.length === 0 || isStep(trajectory[0]) : isStep(trajectory[0])
}

function recognize({ path, records, text: head }: Head): Layout | undefined {
  if (isTrajectory(records[0])) return 'json'
  return records.length === 0 && path.endsWith('.traj') && TRAJECTORY.test(head) ? 'json' : undefined
}

const read = (): TranscriptReader => ({ take, end: () => [] })

/** The importer of SWE-agent. */
export const sweAgent: Importer = {
  program: 'swe-agent',
  title: 'SWE-agent',
  // It writes below the folder that it is started in, unless it is told another one.
  homes: (environment) => {
    const folder = textIn(environment['SWE_AGENT_TRAJECTORY_DIR'])
    return folder === undefined ? [] : [folder]
  },
  recognize,
  read,
}
