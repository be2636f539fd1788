/**
 * ATIF 1.7: one JSON file with the trajectory of an agent, as Harbor and other programs write it. A file that `export`
 * wrote restores each message exactly, in its order. ATIF has no record of compactions.
 */
import { isRecord } from '../../lib/is-record.js'
import { basename } from 'node:path'
import { withDifferentCalls } from './content-part.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { fieldIn, isText, messagesOfStep, type AtifMessage } from './atif-messages.js'
import { ATIF_VERSION, atifSchema, type AtifStep, type AtifTrajectory } from './atif-schema.js'
import { refusalOf, timeIn } from './bodies.js'
import type {
  Importer,
  MessageItem,
  Parent,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  Usage,
} from './transcript.js'

const isAtif = (value: unknown): boolean =>
  isRecord(value) && typeof value['schema_version'] === 'string' && value['schema_version'].startsWith('ATIF-')

function usageOf({ metrics }: AtifStep): Usage | undefined {
  if (metrics === undefined) return undefined
  const { prompt_tokens: input, completion_tokens: output, cached_tokens: cached, cost_usd: cost } = metrics
  return { inputTokens: input, outputTokens: output, cacheReadTokens: cached, cost }
}

/** A message with the place and the step that it is from. */
interface Located extends AtifMessage {
  readonly step: AtifStep
  readonly where: SourceLocation
}

function itemOf({ body: read, note, result, step, where }: Located): TranscriptItem {
  const body = withDifferentCalls(read)
  const refusal = refusalOf(body)
  if (refusal !== undefined)
    return { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
  const usage = result === undefined ? usageOf(step) : undefined
  const byProgram = note?.byProgram ?? (note === undefined && result !== undefined && body.role === 'user')
  const item: MessageItem = {
    kind: 'message',
    sourceId: note?.id ?? `step-${String(step.step_id)}`,
    part: note === undefined && result !== undefined ? result + 1 : 0,
    at: timeIn(note?.at ?? step.timestamp),
    body,
    ...(byProgram ? { byProgram: true } : {}),
    ...(note?.answerId === undefined ? {} : { answerId: note.answerId }),
    ...(body.role === 'assistant' && step.model_name !== undefined ? { model: step.model_name } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(note?.isError === undefined ? {} : { isError: note.isError }),
    ...(note?.exitCode === undefined ? {} : { exitCode: note.exitCode }),
    where,
  }
  return item
}

/** Items of a trajectory and of those in it. */
function* itemsOf(
  trajectory: AtifTrajectory,
  where: SourceLocation,
  names: { readonly file: string; readonly parent: Parent | undefined },
): Generator<TranscriptItem> {
  const { trajectory_id: id, session_id: session, agent, steps, extra } = trajectory
  const sourceId = id ?? session ?? names.file
  const title = fieldIn(extra, 'title')
  const cwd = fieldIn(extra, 'cwd')
  yield {
    kind: 'conversation',
    sourceId,
    programVersion: agent.version,
    parent: names.parent,
    ...(isText(title) ? { title } : {}),
    ...(isText(cwd) ? { cwd } : {}),
    startedAt: timeIn(steps[0]?.timestamp),
    where,
  }
  const messages = steps.flatMap((step, at) =>
    messagesOfStep(step).map((message): Located => ({
      ...message,
      step,
      where: { ...where, path: `steps[${String(at)}]` },
    })),
  )
  const isOurs = messages.every(({ note }) => note !== undefined)
  const ordered = isOurs ? messages.toSorted((a, b) => (a.note?.index ?? 0) - (b.note?.index ?? 0)) : messages
  // A step of an agent that only has results of tools says nothing itself.
  for (const each of ordered) if (isOurs || !isEmpty(each)) yield itemOf(each)
  for (const inner of trajectory.subagent_trajectories ?? [])
    yield* itemsOf(inner, where, { file: names.file, parent: { sourceId, how: 'sub-agent' } })
}

const isEmpty = ({ body, result }: AtifMessage): boolean =>
  result === undefined && (body.content === '' || body.content === null) && body.toolCalls === undefined

function createReader(path: string): TranscriptReader {
  const file = basename(path).replace(/\.json$/u, '')
  return {
    *take({ value, where }) {
      if (isTooDeep(value)) {
        yield { kind: 'damage', detail: `is nested deeper than ${String(MAX_LEVELS)} levels`, isCut: false, where }
        return
      }
      const parsed = atifSchema.safeParse(value)
      const issue = parsed.error?.issues[0]
      if (parsed.success) yield* itemsOf(parsed.data, where, { file, parent: undefined })
      else
        yield {
          kind: 'damage',
          detail: `is not ${ATIF_VERSION}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
          isCut: false,
          where,
        }
    },
    end: () => [],
  }
}

/** ATIF. */
export const atif: Importer = {
  program: 'atif',
  title: 'ATIF',
  homes: () => [],
  recognize: ({ records: [first], text }) =>
    isAtif(first) || (first === undefined && /^\s*\{\s*"schema_version"\s*:\s*"ATIF-/u.test(text)) ? 'json' : undefined,
  read: createReader,
}
