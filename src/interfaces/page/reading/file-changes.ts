/** The lines that a tool call changes in a file, from the arguments of the edit tools of the known programs. */
import { EDIT_ARGUMENTS } from '../../../domain/tools/tool-shapes.js'
import { textChanges, type TextChange } from '../../../application/history/difference.js'

export type Arguments = Readonly<Record<string, unknown>>

/** Longer texts are not compared. */
const MAX_COMPARED = 100_000

const textOf = (values: Arguments, keys: readonly string[]): string | undefined => {
  const value = keys.map((key) => values[key]).find((each) => typeof each === 'string')
  return typeof value === 'string' && value.length <= MAX_COMPARED ? value : undefined
}

/** The text of a patch: a text, or the last word of a command such as `["apply_patch", "*** Begin Patch…"]`. */
function patchText(values: Arguments): string | undefined {
  const words = EDIT_ARGUMENTS.patch.map((key) => values[key]).find((each) => Array.isArray(each))
  const last: unknown = Array.isArray(words) ? words.at(-1) : undefined
  return typeof last === 'string' && last.length <= MAX_COMPARED ? last : textOf(values, EDIT_ARGUMENTS.patch)
}

const asChange = (line: string): TextChange => ({
  kind: line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same',
  text: /^[+\- ]/u.test(line) ? line.slice(1) : line,
})

/** The files of a patch are named if there are several. */
const withFileNames = (lines: readonly string[], header: RegExp): boolean =>
  lines.filter((line) => header.test(line)).length > 1

const PATCH_FILE = /^\*\*\* (?<what>Add|Update|Delete) File: (?<path>.+)$/u

/** The changes in the format of `apply_patch`; undefined for any other text. */
function applyPatchChanges(text: string): TextChange[] | undefined {
  const from = text.indexOf('*** Begin Patch')
  if (from === -1 && !PATCH_FILE.test(text.split('\n', 1)[0] ?? '')) return undefined
  // After the end there may be the rest of a shell command.
  const [patch = ''] = text.slice(Math.max(0, from)).split('*** End Patch')
  const lines = patch.trimEnd().split('\n')
  const isNamed = withFileNames(lines, PATCH_FILE)
  return lines.flatMap((line) => {
    const { what, path } = PATCH_FILE.exec(line)?.groups ?? {}
    if (path !== undefined) return isNamed || what === 'Delete' ? [{ kind: 'same', text: `${what ?? ''} ${path}` }] : []
    return /^(?:\*\*\* |@@)/u.test(line) ? [] : [asChange(line)]
  })
}

/** The changes of a unified diff; undefined for any other text. */
function unifiedChanges(text: string): TextChange[] | undefined {
  if (!/^@@ /mu.test(text)) return undefined
  const lines = text.trimEnd().split('\n')
  const isHeader = (at: number): boolean =>
    (lines[at]?.startsWith('--- ') === true && lines[at + 1]?.startsWith('+++ ') === true) ||
    (lines[at]?.startsWith('+++ ') === true && lines[at - 1]?.startsWith('--- ') === true)
  const isNamed = withFileNames(lines, /^\+\+\+ /u)
  return lines.flatMap((line, at) => {
    if (isHeader(at)) return isNamed && line.startsWith('+++ ') ? [{ kind: 'same', text: line.slice(4) }] : []
    return /^(?:@@|diff --git |index [0-9a-f]|\\ No newline)/u.test(line) ? [] : [asChange(line)]
  })
}

const BLOCK =
  /^(?:<{5,9}|-{5,9}) ?SEARCH\b[^\n]*\n(?<before>[^]*?)^={5,9}\n(?<after>[^]*?)^(?:>{5,9}|\+{5,9}) ?REPLACE/gmu

/** The changes of blocks with `SEARCH` and `REPLACE`; undefined for any other text. */
function blockChanges(text: string): TextChange[] | undefined {
  const changes = [...text.matchAll(BLOCK)].flatMap(({ groups }) => {
    // A block of Roo has the number of the first line above its text.
    const before = (groups?.['before'] ?? '').replace(/^(?::start_line:.*\n)?(?::end_line:.*\n)?(?:-{5,9}\n)?/u, '')
    return textChanges(before.replace(/\n$/u, ''), (groups?.['after'] ?? '').replace(/\n$/u, ''))
  })
  return changes.length === 0 ? undefined : changes
}

/** The changed lines; empty if the arguments name none. */
export function fileChanges(values: Arguments): TextChange[] {
  const [before, after] = [textOf(values, EDIT_ARGUMENTS.before), textOf(values, EDIT_ARGUMENTS.after)]
  if (after !== undefined) return textChanges(before === '' ? undefined : before, after)
  const { edits } = values
  if (Array.isArray(edits))
    return edits.flatMap((edit: unknown) =>
      typeof edit === 'object' && edit !== null ? fileChanges(Object.fromEntries(Object.entries(edit))) : [],
    )
  const patch = patchText(values)
  const patched =
    patch === undefined ? undefined : (applyPatchChanges(patch) ?? blockChanges(patch) ?? unifiedChanges(patch))
  if (patched !== undefined) return patched
  const whole = textOf(values, EDIT_ARGUMENTS.whole)
  return whole === undefined ? [] : textChanges(undefined, whole.replace(/\n$/u, ''))
}
