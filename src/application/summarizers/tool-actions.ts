/** Tool calls with their results as one line each: the tool, its subject, and the outcome. */
import { answeredCalls, resultsByCall, toolOfCall } from '../../domain/conversation/call-groups.js'
import { headOf } from '../../domain/text/clean-text.js'
import { quote } from '../../domain/text/quote.js'
import { refusalIn } from '../../domain/text/refusals.js'
import { digestOutput, type OutputDigest } from '../../domain/text/sentences.js'
import { argumentsOf, pathOf, queryOf, type CallQuery, type NamedCall } from '../../domain/tools/call-query.js'
import { PATH_ARGUMENTS, seemsToChange, seemsToRead, type ToolUse } from '../../domain/tools/tool-shapes.js'
import type { ToolCall } from '../../domain/values/message.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import { textOf } from './format-messages.js'

/** The effect of a call. */
type ToolEffect = 'write' | 'read' | 'other'

export interface ToolAction {
  /** Index of the message in the chunk. */
  readonly message: number
  readonly tool: string
  readonly effect: ToolEffect
  readonly file: string | undefined
  readonly subject: string
  readonly failed: boolean
  /** The user refused the call, and said why. */
  readonly isRefused?: true
  /** The outcome in a few words; undefined if the chunk has no result. */
  readonly outcome: string | undefined
}

// Longer arguments contain a whole file; the other fields are at the start of the text or missing.
const MAX_PARSED_CHARACTERS = 20_000
const MAX_SUBJECT_CHARACTERS = 110
const MAX_OUTCOME_CHARACTERS = 140
/** The words with which the user refused a call are kept whole, if they are not long. */
const MAX_REFUSAL_CHARACTERS = 400

/** A call with arguments that are short enough to be read; of longer ones, the texts at their beginning. */
function readableCall(call: ToolCall): NamedCall {
  const { name, input } = toolOfCall(call)
  if (input.length <= MAX_PARSED_CHARACTERS) return { name, arguments: input }
  const found = headOf(input, MAX_PARSED_CHARACTERS).matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.){1,300})"/gu)
  return { name, arguments: JSON.stringify(Object.fromEntries(Array.from(found, ([, key, value]) => [key, value]))) }
}

const textOfValue = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** The subject of a tool without a row in the table: its first arguments. */
const argumentsText = (call: NamedCall): string =>
  Object.entries(argumentsOf(call))
    .slice(0, 6)
    .map(([key, value]) => `${key}: ${quote(textOfValue(value), 40)}`)
    .join(', ')

const EFFECTS: Readonly<Partial<Record<ToolUse, ToolEffect>>> = {
  read: 'read',
  search: 'read',
  web: 'read',
  note: 'read',
  write: 'write',
}

function effectOf(name: string, use: CallQuery['use']): ToolEffect {
  if (use !== 'other') return EFFECTS[use] ?? 'other'
  return seemsToChange(name) ? 'write' : seemsToRead(name) ? 'read' : 'other'
}

/** The file that a tool without a row in the table names. */
function fileIn(call: NamedCall): string | undefined {
  const values = argumentsOf(call)
  const path = PATH_ARGUMENTS.map((key) => values[key]).find((value) => typeof value === 'string' && value !== '')
  return typeof path === 'string' && path.length <= 300 ? pathOf(path) : undefined
}

// "Exit code 1" reports the failure; the line after it, or the last one, gives the reason.
function errorOf({ errors, first, last }: OutputDigest): string {
  const head = (errors[0] ?? first).replace(/^error:\s*(?=\S)/iu, '')
  const why = errors[1] ?? last
  return head.length < 20 && why !== '' && !why.includes(head) ? `${head}: ${why}` : head
}

function outcomeOf(effect: ToolEffect, failed: boolean, digest: OutputDigest): string {
  if (failed) return `error: ${quote(errorOf(digest), MAX_OUTCOME_CHARACTERS)}`
  if (digest.first === '') return 'no output'
  if (effect === 'write') return 'ok'
  if (effect === 'read' && digest.lines > 3) return `${digest.lines.toLocaleString('en-US')} lines`
  const last =
    digest.last !== '' && digest.last !== digest.first ? ` … ${quote(digest.last, MAX_OUTCOME_CHARACTERS / 2)}` : ''
  return `${quote(digest.first, MAX_OUTCOME_CHARACTERS / 2)}${last}`
}

// Files often mention errors, so only the error flag or the first words mean that reading failed.
function hasFailed(result: MessageToSummarize, effect: ToolEffect, digest: OutputDigest): boolean {
  if (result.attributes?.['isError'] === true) return true
  if (effect !== 'other')
    return /^(?:<?\W*(?:error|fatal|exception|traceback|permission denied|invalid|failed)\b)/iu.test(digest.first)
  return digest.errors.length > 0 && !/\b0 (?:errors?|fail(?:ed|ures)?)\b/iu.test(digest.errors.join(' '))
}

/**
 * Every call of the chunk, in order, with its outcome; a result without its call in the chunk is an action by itself.
 */
export function toolActions(messages: readonly MessageToSummarize[]): readonly ToolAction[] {
  const answered = answeredCalls<ToolCall>(messages)
  const results = resultsByCall<ToolCall, MessageToSummarize>(messages, answered)
  return messages.flatMap((message, index): readonly ToolAction[] => {
    const calls = (message.toolCalls ?? []).map((call) => actionOf(call, results.get(call), index))
    if (message.role !== 'tool' || answered.has(index)) return calls
    const digest = digestOutput(textOf(message.content))
    const failed = hasFailed(message, 'other', digest)
    return [
      {
        message: index,
        tool: quote(message.name ?? 'tool', 60),
        effect: 'other',
        file: undefined,
        subject: '',
        failed,
        outcome: outcomeOf('other', failed, digest),
      },
    ]
  })
}

function actionOf(toolCall: ToolCall, result: MessageToSummarize | undefined, message: number): ToolAction {
  const call = readableCall(toolCall)
  const { use, subject, files } = queryOf(call)
  const tool = quote(call.name, 60)
  const effect = effectOf(call.name, use)
  const base = {
    message,
    tool,
    effect,
    file: files[0] ?? (use === 'other' ? fileIn(call) : undefined),
    subject: use === 'other' ? quote(argumentsText(call), MAX_SUBJECT_CHARACTERS) : subject,
  }
  if (result === undefined) return { ...base, failed: false, outcome: undefined }
  const words = refusalIn(textOf(result.content))
  if (words !== undefined)
    return {
      ...base,
      failed: true,
      isRefused: true,
      outcome: `refused, the user said: ${quote(words, MAX_REFUSAL_CHARACTERS)}`,
    }
  const digest = digestOutput(textOf(result.content))
  const failed = hasFailed(result, effect, digest)
  return { ...base, failed, outcome: outcomeOf(effect, failed, digest) }
}

/** An action as one line. */
export function actionText(action: ToolAction): string {
  const subject = action.subject === '' ? '' : `(${action.subject})`
  return `${action.tool}${subject}${action.outcome === undefined ? '' : ` → ${action.outcome}`}`
}
