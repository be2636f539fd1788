/** The changed files, each with the number of its changes and the names that the changes brought into it. */
import { argumentsOf, isSamePath } from '../../domain/tools/call-query.js'
import type { StateItem } from '../../domain/events/index.js'
import type { StateEditor } from '../../domain/conversation/state-editor.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isEdit, type Work } from '../loss-report/tool-calls.js'
import { isRecord } from '../../lib/is-record.js'

const FILE = 45
const MOST_NAMES = 8
const LEAST_NAME = 4

const NEW_TEXT = /^(?:content|file_?text|new_?(?:string|str|text|content)|text|patch|input|code_edit|value)$/iu
const OLD_TEXT = /^old_?(?:string|str|text|content)$/iu

/** The texts that a call puts into files, and those that it takes out of them. */
export const newTexts = ({ call }: Work): string[] => textsOf(argumentsOf(call), NEW_TEXT)
export const oldTexts = ({ call }: Work): string[] => textsOf(argumentsOf(call), OLD_TEXT)

/** The texts in the arguments of a call, in a list of changes too. */
function textsOf(value: unknown, keys: RegExp): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each, keys))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === 'string' ? (keys.test(key) ? [each] : []) : textsOf(each, keys),
  )
}

/** Declarations of many languages, at the beginning of a line, which a patch marks with a plus sign. */
const DECLARES =
  /^\+?[ \t]*(?:(?:export|default|public|pub(?:\(crate\))?|static|async|abstract|final)\s+)*(?:function\*?|class|interface|type|enum|struct|trait|record|def|fn|fun|func(?:[ \t]*\([^)\n]{0,80}\))?)[ \t]+(?<name>[A-Za-z_$][\w$]*)|^\+?(?:export )?const (?<constant>[A-Za-z_$][\w$]*) ?(?::[^=\n]{0,80})?= ?(?:async )?(?:\(|function|<)/gmu
const HEADING = /^#{1,3} (?<title>\S.{0,60})$/gmu
const IS_DOCUMENT = /\.(?:md|mdx|rst|txt|adoc)$/iu

const namesIn = (text: string, path: string): string[] =>
  Array.from(text.matchAll(IS_DOCUMENT.test(path) ? HEADING : DECLARES), ({ groups }) =>
    (groups?.['name'] ?? groups?.['constant'] ?? groups?.['title'] ?? '').trim(),
  ).filter((name) => name.length >= LEAST_NAME)

/** The names that are in some texts and not in others. */
function onlyIn(texts: readonly string[], others: readonly string[], path: string): string[] {
  const known = new Set(others.flatMap((text) => namesIn(text, path)))
  return texts.flatMap((text) => namesIn(text, path)).filter((name) => !known.has(name))
}

const CHANGED = /: changed (?:once|(?<count>\d+) times)(?:; has (?<names>.+))?$/u

interface ChangedFile {
  readonly path: string
  readonly changes: number
  readonly names: readonly string[]
  readonly by: ReportMessage
}

const fileIn = ({ text, about }: StateItem): Pick<ChangedFile, 'changes' | 'names' | 'path'> => {
  const { count = '1', names } = CHANGED.exec(text)?.groups ?? {}
  return { path: about ?? '', changes: Number(count), names: names?.split(', ') ?? [] }
}

/** The whole path of two that may name the same file. */
const longer = (a: string, b: string): string => (a.length > b.length ? a : b)

function changedFiles(works: readonly Work[], known: readonly StateItem[]): ChangedFile[] {
  const files: ChangedFile[] = []
  for (const work of works.filter(isEdit))
    for (const path of work.query.files) {
      const at = files.findIndex((file) => isSamePath(file.path, path))
      const item = known.find(({ about }) => about !== undefined && isSamePath(about, path))
      const before = files[at] ?? (item === undefined ? { path, changes: 0, names: [] } : fileIn(item))
      const [added, removed] = [newTexts(work), oldTexts(work)]
      const lost = new Set(onlyIn(removed, added, path))
      const names = [...before.names.filter((name) => !lost.has(name)), ...onlyIn(added, removed, path)]
      const file = {
        path: longer(before.path, path),
        changes: before.changes + 1,
        names: [...new Set(names)].slice(-MOST_NAMES),
        by: work.by,
      }
      if (at === -1) files.push(file)
      else files[at] = file
    }
  return files
}

/** Brings the changed files up to date. */
export function updateFiles(editor: StateEditor, works: readonly Work[]): void {
  const known = editor.ofKind('file')
  for (const { path, changes, names, by } of changedFiles(works, known)) {
    const before = known.find(({ about }) => about !== undefined && isSamePath(about, path))
    if (before !== undefined) editor.drop(before)
    const brief = `${path}: changed ${changes === 1 ? 'once' : `${String(changes)} times`}`
    editor.add({
      kind: 'file',
      by: 'agent',
      text: names.length === 0 ? brief : `${brief}; has ${names.join(', ')}`,
      ...(names.length === 0 ? {} : { brief }),
      weight: FILE,
      about: path,
      sourceRevisions: [by.revision],
      ...(by.at === undefined ? {} : { day: by.at.slice(0, 10) }),
    })
  }
}
