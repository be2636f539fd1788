/**
 * SWE-agent: a `.traj` file with the chat history and each step of the agent. It contains no times. If a step contains
 * the query to the model, changes that a history processor made to earlier messages are recorded as edits.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { canonicalJson } from '../../domain/values/hash.js'
import { contentText, type MessageBody, type ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, refusalOf, type Fields } from './bodies.js'
import type { ContentId } from './content-id.js'
import { argumentsOf, contentParts, toContentPart } from './content-part.js'
import type {
  Head,
  Importer,
  Layout,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  SourceLocation,
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

/** Converts calls of the chat API. A call without an id, or with a repeated one, gets an id from its position. */
export function callsOf(calls: readonly unknown[], place: string): readonly ToolCall[] {
  const usedIds = new Set<string>()
  return calls.flatMap((call, at) => {
    const called = isRecord(call) && isRecord(call['function']) ? call['function'] : undefined
    if (!isRecord(call) || called === undefined) return []
    const callId = textIn(call['id']) ?? `${place}.tool_calls[${String(at)}]`
    const id = usedIds.has(callId) ? `${callId}#${String(at + 1)}` : callId
    usedIds.add(id)
    const name = textIn(called['name']) ?? 'unknown'
    return [{ id, type: 'function', function: { name, arguments: argumentsOf(called['arguments']) } }]
  })
}

function bodyOf(entry: Entry, place: string): MessageBody {
  const { role } = entry
  const thoughts = role === 'assistant' ? (entry.thinking_blocks ?? []).map(toContentPart) : []
  const parts = [...thoughts, ...contentParts(entry.content)]
  const toolCalls = role === 'assistant' ? callsOf(entry.tool_calls ?? [], place) : []
  const toolCallId = textIn(entry.tool_call_ids?.[0])
  if (role === 'tool' && toolCallId !== undefined) return { role, content: contentOf(parts), toolCallId }
  return {
    // A result without a call is output of the agent's environment.
    role: role === 'tool' ? 'user' : role,
    content: parts.length === 0 && toolCalls.length > 0 ? null : contentOf(parts),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  }
}

/** The location of one run of an agent in the file. */
interface Run {
  readonly where: SourceLocation
  /** Prefix of the paths of its entries, such as `attempts[1].`. */
  readonly prefix: string
  readonly contentId: ContentId
}

const pathIn = ({ prefix }: Run, list_: 'history' | 'trajectory', at: number): string =>
  `${prefix}${list_}[${String(at)}]`

interface HistoryEntry {
  readonly entry: Entry
  readonly path: string
  readonly body: MessageBody
}

function readHistory(history: readonly unknown[], run: Run): readonly (HistoryEntry | undefined)[] {
  return history.map((raw, at) => {
    const { success, data } = entrySchema.safeParse(raw)
    const path = pathIn(run, 'history', at)
    return success ? { entry: data, path, body: bodyOf(data, path) } : undefined
  })
}

/** The id of a run, from its messages up to the first answer, which no other run of the same task shares. */
function idOf(
  history: readonly (HistoryEntry | undefined)[],
  steps: readonly AgentStep[],
  contentId: ContentId,
): string {
  const at = history.findIndex((item) => item?.entry.role === 'assistant' && item.entry.is_demo !== true)
  const opening = at === -1 ? history : history.slice(0, at + 1)
  const response = at === -1 ? steps[0]?.response : undefined
  return contentId(canonicalJson([opening.map((item) => item?.body), response]))
}

/** The replacement of an old result. */
const HIDDEN = /^Old environment output: \(/u

/** Message path → latest content that the model received. */
type ShownContents = Map<string, string>

/** Yields edits for messages whose content in the step's query differs from the history, or from an earlier query. */
function* editsBefore(
  step: AgentStep | undefined,
  history: readonly HistoryEntry[],
  shownContents: ShownContents,
  where: SourceLocation,
): Generator<TranscriptItem> {
  for (const [at, raw] of (step?.query ?? []).entries()) {
    const item = history[at]
    const queryEntry = entrySchema.safeParse(raw)
    if (item === undefined || !queryEntry.success || queryEntry.data.role !== item.entry.role) continue
    const content = contentOf(contentParts(queryEntry.data.content))
    const now = contentText(content)
    const original = contentText(contentOf(contentParts(item.entry.content)))
    if (now === (shownContents.get(item.path) ?? original)) continue
    shownContents.set(item.path, now)
    const why = HIDDEN.test(now) || now.length < original.length ? 'masked' : 'replaced'
    yield { kind: 'edit', sourceId: item.path, part: 0, content, why, where }
  }
}

/** A step that is missing in the history, such as the last one: the answer, and the result of its action. */
function* stepAlone(
  step: AgentStep,
  { run, at, hasCalls }: { readonly run: Run; readonly at: number; readonly hasCalls: boolean },
  model: string | undefined,
): Generator<TranscriptItem> {
  const path = pathIn(run, 'trajectory', at)
  const where = { ...run.where, path }
  const { action, observation } = step
  const content = step.response ?? step.thought ?? ''
  const call: ToolCall = { id: path, type: 'custom', custom: { name: 'action', input: action ?? '' } }
  // With tools, the action is in a call, which the step does not contain. Without tools, it is in the answer's text.
  const calls = action !== undefined && (hasCalls || !content.includes(action))
  const body: MessageBody = { role: 'assistant', content, ...(calls ? { toolCalls: [call] } : {}) }
  yield { kind: 'message', sourceId: path, part: 0, body, model, where }
  if (observation === undefined) return
  const result: MessageBody = calls
    ? { role: 'tool', content: observation, toolCallId: path }
    : { role: 'user', content: observation }
  yield { kind: 'message', sourceId: path, part: 1, body: result, ...(calls ? {} : { byProgram: true }), where }
}

const modelIn = (config: unknown): string | undefined => {
  const agent = isRecord(config) ? config['agent'] : undefined
  const model = isRecord(agent) ? agent['model'] : undefined
  return isRecord(model) ? textIn(model['name']) : undefined
}

/** The configuration of a run. Some versions write it as a JSON string. */
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
  const entries = readHistory(trajectory.history ?? [], run)
  const id = idOf(entries, steps, run.contentId)
  const main = entries.find((item) => item !== undefined)?.entry.agent
  const model = modelIn(configOf(trajectory.replay_config))
  const version = textIn(trajectory.info?.['swe_agent_version'])
  let current: string | undefined
  function* inConversation(agent: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
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
  const history: HistoryEntry[] = []
  const shownContents: ShownContents = new Map()
  let answers = 0
  let hasTask = false
  let hasCalls = false
  for (const [at, item] of entries.entries()) {
    const where = { ...run.where, path: pathIn(run, 'history', at) }
    if (item === undefined) {
      yield { kind: 'left-out', what: 'history item', where }
      continue
    }
    const { entry, path, body } = item
    const isMain = entry.agent === undefined || entry.agent === main
    const isDemo = entry.is_demo === true
    yield* inConversation(entry.agent, where)
    if (isMain && entry.role === 'assistant' && !isDemo) {
      yield* editsBefore(steps[answers], history, shownContents, where)
      answers += 1
      hasCalls ||= body.toolCalls !== undefined
    }
    if (isMain) history.push(item)
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
      continue
    }
    // The first message with the role user contains the task. Later ones contain command output. Demonstrations come
    // from the program as well.
    const byProgram = isDemo || (body.role === 'user' && hasTask)
    if (body.role === 'user' && !isDemo) hasTask = true
    yield {
      kind: 'message',
      sourceId: path,
      part: 0,
      body,
      ...(byProgram ? { byProgram } : {}),
      ...(body.role === 'assistant' && !isDemo ? { model } : {}),
      where,
    }
  }
  yield* inConversation(main, run.where)
  yield* stepsAfter(steps, { run, history, shownContents, answers, hasCalls }, model)
}

/** The steps after those in the history. */
function* stepsAfter(
  steps: readonly AgentStep[],
  known: {
    readonly run: Run
    readonly history: readonly HistoryEntry[]
    readonly shownContents: ShownContents
    readonly answers: number
    readonly hasCalls: boolean
  },
  model: string | undefined,
): Generator<TranscriptItem> {
  const { run, history, shownContents, answers, hasCalls } = known
  const last = history.findLast(({ entry }) => entry.role === 'assistant' && entry.is_demo !== true)?.entry.action
  const isAligned = answers === 0 || last === undefined || last === (steps[answers - 1]?.action ?? last)
  for (const [at, step] of steps.entries()) {
    if (at < answers) continue
    const where = { ...run.where, path: pathIn(run, 'trajectory', at) }
    if (!isAligned) {
      yield { kind: 'left-out', what: 'step without its place in the history', where }
      continue
    }
    yield* editsBefore(step, history, shownContents, where)
    yield* stepAlone(step, { run, at, hasCalls }, model)
  }
}

const taskOf = (file: string): string => (file.split(/[\\/]/u).at(-1) ?? file).replace(/\.traj$/u, '')

function* take({ value, where }: TranscriptRecord, contentId: ContentId): Generator<TranscriptItem> {
  const { success, data } = trajectorySchema.safeParse(value)
  if (!success) {
    yield { kind: 'left-out', what: typeof value, where }
    return
  }
  // If there are several attempts, the top level repeats the chosen one.
  if (data.attempts === undefined || data.attempts.length === 0) {
    yield* readRun(data, { where, prefix: '', contentId })
    return
  }
  for (const [at, raw] of data.attempts.entries()) {
    const attempt = trajectorySchema.safeParse(raw)
    const prefix = `attempts[${String(at)}].`
    const location = { ...where, path: prefix.slice(0, -1) }
    if (attempt.success) yield* readRun(attempt.data, { where: location, prefix, contentId })
    else yield { kind: 'left-out', what: 'attempt', where: location }
  }
}

/** The beginning of a file that is too large to parse here. */
const TRAJECTORY = /^\s*\{\s*(?:"environment"\s*:\s*"[^"]*"\s*,\s*)?"(?:trajectory|attempts)"\s*:\s*\[/u

const isStep = (value: unknown): value is Fields =>
  isRecord(value) && typeof value['action'] === 'string' && typeof value['observation'] === 'string'

function isTrajectory(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { trajectory, history, attempts } = value
  if (Array.isArray(attempts) && attempts.length > 0) return isTrajectory(attempts[0])
  if (!Array.isArray(trajectory)) return false
  return Array.isArray(history) ? trajectory.length === 0 || isStep(trajectory[0]) : isStep(trajectory[0])
}

function recognize({ path, records, text: head }: Head): Layout | undefined {
  if (isTrajectory(records[0])) return 'json'
  return records.length === 0 && path.endsWith('.traj') && TRAJECTORY.test(head) ? 'json' : undefined
}

const read = (_path: string, contentId: ContentId): TranscriptReader => ({
  take: (record) => take(record, contentId),
  end: () => [],
})

/** The importer of SWE-agent. */
export const sweAgent: Importer = {
  program: 'swe-agent',
  title: 'SWE-agent',
  // It writes to its working directory, unless the user configures another one.
  homes: (environment) => {
    const folder = textIn(environment['SWE_AGENT_TRAJECTORY_DIR'])
    return folder === undefined ? [] : [folder]
  },
  recognize,
  makesContentIds: true,
  read,
}
