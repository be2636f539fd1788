/** A tool call in one line for people: tool, subject, number of changed lines, and exit code. */
import { nameOf, queryOf, argumentsOf } from '../../../domain/tools/call-query.js'
import type { ReportToolCall } from '../../../application/loss-report/report-input.js'
import type { TextChange } from '../../../application/history/difference.js'
import { fileChanges } from './file-changes.js'

/** A call as one line, and its changes of a text. */
export interface ToolSummary {
  /** The name of the tool, in lower case. */
  readonly tool: string
  /** A path, a command, a query. */
  readonly subject: string
  /** For a change of a file: its lines. */
  readonly changes: readonly TextChange[]
  readonly added: number
  readonly removed: number
}

const linesIn = (changes: readonly TextChange[], kind: TextChange['kind']): number =>
  changes.reduce((sum, each) => (each.kind === kind ? sum + each.text.replace(/\n$/u, '').split('\n').length : sum), 0)

/** The end of a long path: the folder and the name. */
const shortPath = (path: string): string =>
  path.length <= 40 ? path : `…/${path.slice(0, -nameOf(path).length).split('/').slice(-3).join('/')}${nameOf(path)}`

const MAX_SUBJECT = 110
const MAX_LEVELS = 4

/** The first text in a value: an argument, or an entry of a list. */
function firstText(value: unknown, level = 0): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value !== 'object' || value === null || level > MAX_LEVELS) return undefined
  for (const each of Object.values(value)) {
    const found = firstText(each, level + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** What arguments without a known subject are about: their first list, or their first text. */
function subjectOf(values: Readonly<Record<string, unknown>>): string {
  const list = Object.values(values).find((each): each is readonly unknown[] => Array.isArray(each) && each.length > 1)
  const text = firstText(list ?? values) ?? ''
  const line = text.replaceAll(/\s+/gu, ' ').trim()
  const short = line.length > MAX_SUBJECT ? `${line.slice(0, MAX_SUBJECT - 1)}…` : line
  return list === undefined ? short : `${String(list.length)}: ${short}`
}

/** Describes a call. */
export function toolSummary(call: ReportToolCall): ToolSummary {
  const { use, subject, files } = queryOf(call)
  const [file] = files
  const values = argumentsOf(call)
  const changes = use === 'write' || use === 'shell' ? fileChanges(values) : []
  const isFile = file !== undefined && (use === 'write' || use === 'read')
  return {
    tool: call.name.toLowerCase(),
    subject: isFile ? shortPath(file) : /^[[{]/u.test(subject) ? subjectOf(values) : subject,
    changes,
    added: linesIn(changes, 'added'),
    removed: linesIn(changes, 'removed'),
  }
}

/** The result of a call: its content as text, and the recorded attributes of its message. */
export interface CallResult {
  readonly text: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** How agents report an exit code in their results, if no field has it. */
const EXIT =
  /^(?:<returncode>|(?:Error: )?(?:exit code|exit status)[: ]\s*|(?:process|command) exited with code )(?<code>\d{1,3})\b/imu

/** The exit code of a command: from the recorded field, else from the first or the last lines of its result. */
export function exitCodeOf({ text, attributes }: CallResult): number | undefined {
  const { exitCode } = attributes
  if (typeof exitCode === 'number') return exitCode
  const code = EXIT.exec(`${text.slice(0, 300)}\n${text.slice(-300)}`)?.groups?.['code']
  return code === undefined ? undefined : Number(code)
}
