/** A tool call in one line for people: tool, subject, number of changed lines, and exit code. */
import { nameOf, queryOf, argumentsOf } from '../../forgotten/tool-calls.js'
import type { ReportToolCall } from '../../forgotten/report-input.js'
import { textChanges, type TextChange } from '../../history/difference.js'

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

const OLD = ['old_string', 'oldString', 'old_str', 'oldText', 'old_text', 'search']
const NEW = ['new_string', 'newString', 'new_str', 'newText', 'new_text', 'replace']
const WHOLE = ['content', 'file_text', 'contents', 'text']
const PATCH = ['patch', 'input', 'value', 'diff', 'command', 'patchText']
/** Longer texts are not compared. */
const MAX_COMPARED = 100_000

type Arguments = Readonly<Record<string, unknown>>

const textOf = (values: Arguments, keys: readonly string[]): string | undefined => {
  const value = keys.map((key) => values[key]).find((each) => typeof each === 'string')
  return typeof value === 'string' && value.length <= MAX_COMPARED ? value : undefined
}

/** The lines of a patch; undefined for any other text. */
function patchChanges(text: string): TextChange[] | undefined {
  if (!/^(?:\*\*\* (?:Begin Patch|Add|Update|Delete)|--- |@@)/mu.test(text)) return undefined
  return text
    .split('\n')
    .filter((line) => !/^(?:\*\*\*|---|\+\+\+|@@)/u.test(line))
    .map((line) => ({
      kind: line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same',
      text: /^[+\- ]/u.test(line) ? line.slice(1) : line,
    }))
}

function changesOf(values: Arguments): TextChange[] {
  const [before, after] = [textOf(values, OLD), textOf(values, NEW)]
  if (before !== undefined && after !== undefined) return textChanges(before, after)
  const { edits } = values
  if (Array.isArray(edits))
    return edits.flatMap((edit: unknown) =>
      typeof edit === 'object' && edit !== null ? changesOf(Object.fromEntries(Object.entries(edit))) : [],
    )
  const patch = textOf(values, PATCH)
  const patched = patch === undefined ? undefined : patchChanges(patch)
  if (patched !== undefined) return patched
  const whole = textOf(values, WHOLE)
  return whole === undefined ? [] : textChanges(undefined, whole.replace(/\n$/u, ''))
}

const linesIn = (changes: readonly TextChange[], kind: TextChange['kind']): number =>
  changes.reduce((sum, each) => (each.kind === kind ? sum + each.text.replace(/\n$/u, '').split('\n').length : sum), 0)

/** The end of a long path: the folder and the name. */
const shortPath = (path: string): string =>
  path.length <= 40 ? path : `…/${path.slice(0, -nameOf(path).length).split('/').slice(-3).join('/')}${nameOf(path)}`

/** Describes a call. */
export function toolSummary(call: ReportToolCall): ToolSummary {
  const { use, subject, files } = queryOf(call)
  const [file] = files
  const changes = use === 'write' || use === 'shell' ? changesOf(argumentsOf(call)) : []
  return {
    tool: call.name.toLowerCase(),
    subject: file !== undefined && (use === 'write' || use === 'read') ? shortPath(file) : subject,
    changes,
    added: linesIn(changes, 'added'),
    removed: linesIn(changes, 'removed'),
  }
}

const EXIT = /(?:exit code|exit status|exited with code|"?exit_?code"?|returncode)["\s]*[:=>\s]\s*(?<code>\d{1,3})\b/iu

/** The exit code of a command, from the beginning or the end of its result; undefined if it has none. */
export function exitCodeOf(result: string): number | undefined {
  const code = EXIT.exec(`${result.slice(0, 300)}\n${result.slice(-300)}`)?.groups?.['code']
  return code === undefined ? undefined : Number(code)
}
