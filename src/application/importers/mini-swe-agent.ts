/**
 * mini-swe-agent: a `.traj.json` file with the messages that the model received. The formats 1 and 1.1 differ in the
 * field `extra` of a message: in 1.1 it contains the time, the cost, the provider's answer and the result of a command.
 * Messages are those of the chat API, or items of the Responses API. The last message has the role `exit` and ends the
 * run.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { canonicalJson } from '../../domain/values/hash.js'
import type { MessageBody, ToolCall } from '../../domain/values/message.js'
import { knownUsage } from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, exitCodeIn, inside, refusalOf, timeIn, type Fields } from './bodies.js'
import type { ContentId } from './content-id.js'
import { argumentsOf, contentParts, textPart, toContentPart, withDifferentCalls } from './content-part.js'
import { callsOf } from './swe-agent.js'
import type { Head, Importer, Layout, TranscriptItem, TranscriptReader, TranscriptRecord, Usage } from './transcript.js'

const FORMAT = /^mini-swe-agent-\d/u
/** The beginning of a file that is too large to parse here. */
const MESSAGES = /^\s*\{\s*"info"\s*:\s*\{\s*"model_stats"/u

const trajectorySchema = z.looseObject({
  trajectory_format: z.string(),
  messages: z.array(z.unknown()),
  info: z.looseObject({}).optional().catch(undefined),
})
type Trajectory = z.infer<typeof trajectorySchema>

/** The usage, from the format of the chat API or the Responses API. */
function usageOf(response: unknown, cost: unknown): Usage | undefined {
  const usage = inside(response, 'usage')
  return knownUsage({
    inputTokens: countIn(inside(usage, 'prompt_tokens') ?? inside(usage, 'input_tokens')),
    outputTokens: countIn(inside(usage, 'completion_tokens') ?? inside(usage, 'output_tokens')),
    cacheReadTokens: countIn(
      inside(usage, 'prompt_tokens_details', 'cached_tokens') ?? inside(usage, 'input_tokens_details', 'cached_tokens'),
    ),
    reasoningTokens: countIn(
      inside(usage, 'completion_tokens_details', 'reasoning_tokens') ??
        inside(usage, 'output_tokens_details', 'reasoning_tokens'),
    ),
    cost: countIn(cost),
  })
}

/** A time in seconds since 1970, as ISO 8601. */
const timeOf = (seconds: unknown): string | undefined => {
  const count = countIn(seconds)
  return count === undefined ? undefined : timeIn(Math.round(count * 1_000))
}

/** An answer of the Responses API: its texts, its reasoning and its calls. */
function responseBody(output: readonly unknown[], place: string): MessageBody {
  const calls: ToolCall[] = []
  const parts = output.flatMap((item, at) => {
    if (!isRecord(item)) return []
    if (item['type'] === 'function_call') {
      const id = textIn(item['call_id']) ?? `${place}.output[${String(at)}]`
      const name = textIn(item['name']) ?? 'unknown'
      calls.push({ id, type: 'function', function: { name, arguments: argumentsOf(item['arguments']) } })
      return []
    }
    if (item['type'] !== 'message' || !Array.isArray(item['content'])) return [toContentPart(item)]
    return item['content'].map((part: unknown) =>
      isRecord(part) && typeof part['text'] === 'string' ? textPart(part['text']) : toContentPart(part),
    )
  })
  return {
    role: 'assistant',
    content: parts.length === 0 ? null : contentOf(parts),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
  }
}

function assistantBody(message: Fields, place: string): MessageBody {
  if (Array.isArray(message['output'])) return responseBody(message['output'], place)
  const calls = callsOf(Array.isArray(message['tool_calls']) ? message['tool_calls'] : [], place)
  const thoughts = ['reasoning_content', 'reasoning'].flatMap((field) => {
    const text = textIn(message[field])
    return text === undefined ? [] : [{ type: 'reasoning', text }]
  })
  const parts = [...thoughts.slice(0, 1), ...contentParts(message['content'])]
  return {
    role: 'assistant',
    content: parts.length === 0 && calls.length > 0 ? null : contentOf(parts),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
  }
}

/** The end of a run: the submission, or the reason of the end. */
function exitBody(message: Fields): MessageBody {
  const status = textIn(inside(message, 'extra', 'exit_status'))
  const submission = textIn(message['content']) ?? textIn(inside(message, 'extra', 'submission'))
  return { role: 'user', content: [status, submission].filter((text) => text !== undefined).join('\n\n') || 'exit' }
}

const isAnswer = (message: Fields): boolean => message['role'] === 'assistant' || message['object'] === 'response'

function bodyOf(message: Fields, place: string): MessageBody | undefined {
  if (isAnswer(message)) return assistantBody(message, place)
  const { role, content } = message
  if (message['type'] === 'function_call_output' || role === 'tool') {
    const toolCallId = textIn(message['call_id']) ?? textIn(message['tool_call_id'])
    const result = contentOf(contentParts(message['output'] ?? content))
    return toolCallId === undefined ? { role: 'user', content: result } : { role: 'tool', content: result, toolCallId }
  }
  if (role === 'exit') return exitBody(message)
  if (role !== 'system' && role !== 'developer' && role !== 'user') return undefined
  const parts = Array.isArray(content)
    ? content.map((part: unknown) =>
        isRecord(part) && typeof part['text'] === 'string' ? textPart(part['text']) : toContentPart(part),
      )
    : contentParts(content)
  return { role, content: contentOf(parts) }
}

/** Whether the program generated a message with the role `user`: the output of a command, a correction, or the end. */
function isByProgram(message: Fields, body: MessageBody, hasTask: boolean): boolean {
  if (message['role'] === 'exit') return true
  if (body.role !== 'user' || !hasTask) return false
  const extra = message['extra']
  if (!isRecord(extra)) return true
  const interrupt = textIn(extra['interrupt_type'])
  return interrupt === undefined ? 'returncode' in extra || 'raw_output' in extra : interrupt !== 'UserInterruption'
}

const titleOf = (file: string): string => (file.split(/[\\/]/u).at(-1) ?? file).replace(/(?:\.traj)?\.json$/u, '')

function* readTrajectory(
  { messages, info }: Trajectory,
  where: TranscriptRecord['where'],
  contentId: ContentId,
): Generator<TranscriptItem> {
  const bodies = messages.map((message, at) =>
    isRecord(message) ? bodyOf(message, `messages[${String(at)}]`) : undefined,
  )
  const firstAnswer = bodies.findIndex((body) => body?.role === 'assistant')
  const opening = bodies.slice(0, firstAnswer === -1 ? bodies.length : firstAnswer + 1)
  const times = messages.flatMap((message) => timeOf(inside(message, 'extra', 'timestamp')) ?? [])
  yield {
    kind: 'conversation',
    sourceId: contentId(canonicalJson([opening, times[0] ?? null])),
    programVersion: textIn(info?.['mini_version']),
    title: titleOf(where.file),
    cwd: textIn(inside(info, 'config', 'environment', 'cwd')),
    startedAt: times[0],
    where,
  }
  const model = textIn(inside(info, 'config', 'model', 'model_name'))
  let hasTask = false
  for (const [at, message] of messages.entries()) {
    const location = { ...where, path: `messages[${String(at)}]` }
    const read = bodies[at]
    const body = read === undefined ? undefined : withDifferentCalls(read)
    if (!isRecord(message) || body === undefined) {
      yield {
        kind: 'left-out',
        what: `message of the role ${textIn(inside(message, 'role')) ?? 'unknown'}`,
        where: location,
      }
      continue
    }
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where: location }
      continue
    }
    const extra = message['extra']
    const response = Array.isArray(message['output']) ? message : inside(extra, 'response')
    const byProgram = isByProgram(message, body, hasTask)
    if (body.role === 'user') hasTask = true
    yield {
      kind: 'message',
      sourceId: `messages[${String(at)}]`,
      part: 0,
      at: timeOf(inside(extra, 'timestamp')) ?? timeOf(message['created_at']),
      body,
      ...(byProgram ? { byProgram } : {}),
      ...(body.role === 'assistant'
        ? { model: textIn(inside(response, 'model')) ?? model, usage: usageOf(response, inside(extra, 'cost')) }
        : {}),
      ...(textIn(inside(extra, 'exception_info')) === undefined ? {} : { isError: true }),
      exitCode: exitCodeIn(inside(extra, 'returncode')),
      where: location,
    }
  }
}

function* take({ value, where }: TranscriptRecord, contentId: ContentId): Generator<TranscriptItem> {
  const { success, data } = trajectorySchema.safeParse(value)
  if (success) yield* readTrajectory(data, where, contentId)
  else yield { kind: 'left-out', what: typeof value, where }
}

function recognize({ records, text }: Head): Layout | undefined {
  const [first] = records
  if (isRecord(first))
    return FORMAT.test(textIn(first['trajectory_format']) ?? '') && Array.isArray(first['messages'])
      ? 'json'
      : undefined
  return records.length === 0 && MESSAGES.test(text) ? 'json' : undefined
}

const read = (_path: string, contentId: ContentId): TranscriptReader => ({
  take: (record) => take(record, contentId),
  end: () => [],
})

/** The importer of mini-swe-agent. */
export const miniSweAgent: Importer = {
  program: 'mini-swe-agent',
  title: 'mini-swe-agent',
  // The user chooses the file.
  homes: () => [],
  recognize,
  makesContentIds: true,
  read,
}
