/** Tool calls with their results as one line each: the tool, its subject, and the outcome. */
import { answeredCalls, resultsByCall } from '../domain/conversation/call-groups.js'
import { cleanText, headOf } from '../domain/text/clean-text.js'
import type { ToolCall } from '../domain/values/message.js'
import { digestOutput, type OutputDigest } from '../domain/text/sentences.js'
import type { MessageToSummarize } from '../ports/summarizer.js'
import { textOf } from './format-messages.js'

/** The effect of a tool, by its name. */
type ToolEffect = 'write' | 'read' | 'other'

export interface ToolAction {
  /** Index of the message in the chunk. */
  readonly message: number
  readonly tool: string
  readonly effect: ToolEffect
  readonly file: string | undefined
  readonly subject: string
  readonly failed: boolean
  /** The outcome in a few words; undefined if the chunk has no result. */
  readonly outcome: string | undefined
}

const WRITES = new Set(
  'write edit multiedit create patch replace update insert append delete remove rename move mkdir save upload book cancel send modify commit add set apply'.split(
    ' ',
  ),
)
const READS = new Set(
  'read view cat open list ls glob grep search find fetch get lookup query think todo check calculate'.split(' '),
)
const FILE_KEYS = [
  'file_path',
  'filePath',
  'path',
  'filename',
  'file',
  'notebook_path',
  'target_file',
  'file_name',
  'relative_path',
]
const SUBJECT_KEYS = [
  'command',
  'cmd',
  ...FILE_KEYS,
  'query',
  'url',
  'pattern',
  'question',
  'description',
  'prompt',
  'code',
  'script',
]
// Arguments that contain a whole file are not parsed: the relevant fields are at their start, or missing.
const MAX_PARSED_CHARACTERS = 20_000
const MAX_SUBJECT_CHARACTERS = 110
const MAX_OUTCOME_CHARACTERS = 140

const short = (text: string, most: number): string => {
  const flat = cleanText(text).replaceAll(/\s+/gu, ' ').trim()
  return flat.length <= most ? flat : `${headOf(flat, most).trimEnd()}…`
}

type Arguments = Readonly<Record<string, unknown>>

function argumentsOf(call: ToolCall): Arguments {
  const text = call.function?.arguments ?? ''
  if (text.length <= MAX_PARSED_CHARACTERS) {
    try {
      const parsed: unknown = JSON.parse(text)
      return typeof parsed === 'object' && parsed !== null
        ? Object.fromEntries(Object.entries(parsed))
        : { value: parsed }
    } catch {
      // Arguments that are not JSON are shown unchanged.
      return text.trim() === '' ? {} : { value: text }
    }
  }
  const found = headOf(text, MAX_PARSED_CHARACTERS).matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.){1,300})"/gu)
  return Object.fromEntries(Array.from(found, ([, key, value]) => [key ?? '', value ?? '']))
}

const firstText = (values: Arguments, keys: readonly string[]): string | undefined => {
  for (const key of keys) {
    const value = values[key]
    if (typeof value === 'string' && value.trim() !== '') return value
  }
  return undefined
}

const textOfValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const subjectOf = (values: Arguments): string =>
  short(
    firstText(values, SUBJECT_KEYS) ??
      Object.entries(values)
        .slice(0, 6)
        .map(([key, value]) => `${key}: ${short(textOfValue(value) ?? '', 40)}`)
        .join(', '),
    MAX_SUBJECT_CHARACTERS,
  )

function fileOf(call: ToolCall, values: Arguments): string | undefined {
  const named = firstText(values, FILE_KEYS)
  if (named !== undefined && named.length <= 300) return cleanText(named)
  const patched = /\*\*\* (?:Add|Update|Delete) File: (\S[^\n\\"]{0,200})/u.exec(
    headOf(call.function?.arguments ?? '', MAX_PARSED_CHARACTERS),
  )
  return patched?.[1] === undefined ? undefined : cleanText(patched[1]).trim()
}

/** The effect of a tool, by the words of its name (`get_credit` edits nothing). A shell command may have any effect. */
function effectOf(tool: string): ToolEffect {
  const words = tool
    .replaceAll(/(?<=[a-z])(?=[A-Z])/gu, ' ')
    .toLowerCase()
    .split(/[^a-z]+/u)
  if (words.includes('todo')) return 'read'
  if (words.some((word) => WRITES.has(word))) return 'write'
  return words.some((word) => READS.has(word)) ? 'read' : 'other'
}

// "Exit code 1" reports the failure; the line after it, or the last one, gives the reason.
function errorOf({ errors, first, last }: OutputDigest): string {
  const head = (errors[0] ?? first).replace(/^error:\s*(?=\S)/iu, '')
  const why = errors[1] ?? last
  return head.length < 20 && why !== '' && !why.includes(head) ? `${head}: ${why}` : head
}

function outcomeOf(effect: ToolEffect, failed: boolean, digest: OutputDigest): string {
  if (failed) return `error: ${short(errorOf(digest), MAX_OUTCOME_CHARACTERS)}`
  if (digest.first === '') return 'no output'
  if (effect === 'write') return 'ok'
  if (effect === 'read' && digest.lines > 3) return `${digest.lines.toLocaleString('en-US')} lines`
  const last =
    digest.last !== '' && digest.last !== digest.first ? ` … ${short(digest.last, MAX_OUTCOME_CHARACTERS / 2)}` : ''
  return `${short(digest.first, MAX_OUTCOME_CHARACTERS / 2)}${last}`
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
  const answered = answeredCalls(messages)
  const results = resultsByCall<ToolCall, MessageToSummarize>(messages)
  return messages.flatMap((message, index): readonly ToolAction[] => {
    const calls = (message.toolCalls ?? []).map((call) => actionOf(call, results.get(call), index))
    if (message.role !== 'tool' || answered.has(index)) return calls
    const digest = digestOutput(textOf(message.content))
    const failed = hasFailed(message, 'other', digest)
    return [
      {
        message: index,
        tool: short(message.name ?? 'tool', 60),
        effect: 'other',
        file: undefined,
        subject: '',
        failed,
        outcome: outcomeOf('other', failed, digest),
      },
    ]
  })
}

function actionOf(call: ToolCall, result: MessageToSummarize | undefined, message: number): ToolAction {
  const tool = short(call.function?.name ?? call.type, 60)
  const effect = effectOf(tool)
  const values = argumentsOf(call)
  const base = { message, tool, effect, file: fileOf(call, values), subject: subjectOf(values) }
  if (result === undefined) return { ...base, failed: false, outcome: undefined }
  const digest = digestOutput(textOf(result.content))
  const failed = hasFailed(result, effect, digest)
  return { ...base, failed, outcome: outcomeOf(effect, failed, digest) }
}

/** An action as one line. */
export function actionText(action: ToolAction): string {
  const subject = action.subject === '' ? '' : `(${action.subject})`
  return `${action.tool}${subject}${action.outcome === undefined ? '' : ` → ${action.outcome}`}`
}
