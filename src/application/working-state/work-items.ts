/**
 * The state of the agent's work: its open tasks and calls, its last report, results that still hold, errors and changed
 * files. Changing a file closes the earlier results that depend on files. A weight decides which
 * items a small view shows.
 */
import { argumentsOf, isSamePath } from '../../domain/tools/call-query.js'
import { quote } from '../../domain/text/quote.js'
import { isRefusal } from '../../domain/text/refusals.js'
import type { StateItem } from '../../domain/events/index.js'
import { failuresIn, type Failure } from '../loss-report/failures.js'
import { runningIn } from '../loss-report/running.js'
import { isEdit, type Work } from '../loss-report/tool-calls.js'
import type { ReportMessage, ReportToolCall } from '../loss-report/report-input.js'
import { ResultLines } from './result-lines.js'
import type { NewItem, StateEditor } from '../../domain/conversation/state-editor.js'
import { todoListOf } from './todo-list.js'

export const OPEN = 75
const REPORT = 68
export const OPEN_ERROR = 55
const RESULT = 45
const FILE = 45
const SOLVED_ERROR = 20

const MOST_LINE = 240
const MOST_COMMAND = 120
const MOST_OUTPUT = 100
const MOST_REPORT = 700
const MOST_LINES = 14
const MOST_RESULTS = 8
const PLAN = 'plan'
const PROPOSAL = 'proposal'
const MOST_PLAN = 900
const MOST_PLAN_LINES = 30

type Words = Pick<NewItem, 'kind' | 'by' | 'text' | 'brief' | 'weight' | 'about'>

const itemAt = ({ revision, at }: ReportMessage, words: Words): NewItem => ({
  ...words,
  sourceRevisions: [revision],
  ...(at === undefined ? {} : { day: at.slice(0, 10) }),
})

/** The tasks of the agent's own list that are not done. A task that left the list is closed. */
function updatePlan(editor: StateEditor, works: readonly Work[]): void {
  const list = todoListOf(works)
  if (list === undefined) return
  const open = list.todos.filter(({ status }) => status !== 'done')
  const textOf = ({ text, status }: (typeof open)[number]): string =>
    `${status === 'inProgress' ? 'in progress' : 'to do'}: ${quote(text, MOST_LINE)}`
  const texts = new Set(open.map(textOf))
  const known = editor.ofKind('open').filter(({ about }) => about === PLAN)
  for (const item of known) if (!texts.has(item.text)) editor.close(item, list.by.revision)
  const present = new Set(known.map(({ text }) => text))
  for (const todo of open)
    if (!present.has(textOf(todo)))
      editor.add(itemAt(list.by, { kind: 'open', by: 'agent', text: textOf(todo), weight: OPEN, about: PLAN }))
}

/** The last plan that the agent proposed to the user, unless the user refused it. */
function updateProposal(editor: StateEditor, works: readonly Work[]): void {
  const proposed = works.findLast(({ call }) => /plan/iu.test(call.name) && planIn(call) !== undefined)
  if (proposed === undefined) return
  for (const item of editor.ofKind('open').filter(({ about }) => about === PROPOSAL)) editor.drop(item)
  if (isRefusal(proposed.result?.text ?? '')) return
  const lines = linesOf(planIn(proposed.call) ?? '')
  const text = `plan: ${quote(lines.slice(0, MOST_PLAN_LINES).join(' / '), MOST_PLAN)}`
  const brief = quote(text, MOST_LINE)
  editor.add(itemAt(proposed.by, { kind: 'open', by: 'agent', text, brief, weight: OPEN, about: PROPOSAL }))
}

/** The text of a plan in a call, if it is not a list of tasks. */
function planIn(call: ReportToolCall): string | undefined {
  const { plan } = argumentsOf(call)
  return typeof plan === 'string' && linesOf(plan).length > 1 ? plan : undefined
}

/** Calls and sub-agents that still ran at the end. */
function addRunning(editor: StateEditor, messages: readonly ReportMessage[], works: readonly Work[]): void {
  for (const { work } of runningIn(messages, works, []))
    editor.add(
      itemAt(work.by, {
        kind: 'open',
        by: 'agent',
        text: `started, without a result: ${work.call.name}(${quote(work.query.subject, MOST_COMMAND)})`,
        weight: OPEN,
        about: `call ${work.call.id}`,
      }),
    )
}

/** Calls that were open and have a result now. */
function closeAnswered(editor: StateEditor, messages: readonly ReportMessage[]): void {
  const answered = new Map<string, number>()
  for (const { toolCallId, revision } of messages)
    if (toolCallId !== undefined) answered.set(`call ${toolCallId}`, revision)
  for (const item of editor.ofKind('open')) {
    const revision = answered.get(item.about ?? '')
    if (revision !== undefined) editor.close(item, revision)
  }
}

const NOTHING_SAID = /^(?:\s*\[[\w -]{1,40}\])*\s*$/u

/** The lines of a text that say something: no code, no rules of a table, no headings without words. */
export const linesOf = (text: string): string[] =>
  text
    .replaceAll(/```[^]*?(?:```|$)/gu, '\n')
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*#>|]+|\d+[.)])\s*/u, '').trim())
    .filter((line) => !/[:：]\**$/u.test(line))
    .filter(
      (line) =>
        (line.match(/\p{L}{2,}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0) >= 3 ||
        /https?:|[0-9a-f]{7,}/u.test(line),
    )

/** Whether a message of the agent ends a turn: it calls no tool, and the next message is the user's, if there is one. */
export const endsTurn = (message: ReportMessage, next: ReportMessage | undefined): boolean =>
  message.role === 'assistant' &&
  message.byProgram !== true &&
  !NOTHING_SAID.test(message.ownText) &&
  (message.toolCalls ?? []).length === 0 &&
  (next === undefined || next.role === 'user')

/** The last report of the agent replaces the one before. */
function updateReport(editor: StateEditor, messages: readonly ReportMessage[]): void {
  const report = messages.findLast((message, at) => endsTurn(message, messages[at + 1]))
  if (report === undefined) return
  const lines = linesOf(report.ownText)
  const text = quote(lines.slice(0, MOST_LINES).join(' / '), MOST_REPORT)
  const brief = quote(lines[0] ?? '', MOST_LINE)
  if (text === '') return
  for (const item of editor.ofKind('progress')) editor.drop(item)
  editor.add(itemAt(report, { kind: 'progress', by: 'agent', text, brief, weight: REPORT }))
}

/** The first and the last line of an output that say something. */
function outcomeOf(output: readonly string[]): string {
  const lines = output.filter((line) => /\p{L}{3}|\d/u.test(line))
  const [first = '', last = ''] = [lines[0], lines.at(-1)]
  return lines.length < 2 ? quote(first, MOST_OUTPUT) : `${quote(first, MOST_OUTPUT)} … ${quote(last, MOST_OUTPUT)}`
}

/** A command without the change of directory before it. */
const withoutFolder = (command: string): string => command.replace(/^cd (?:"[^"]*"|'[^']*'|[^&;\s]+) ?(?:&&|;) ?/u, '')

/** Whether a result may change with the files: a status, a build, a test. */
const restsOnFiles = ({ query }: Work): boolean => query.answer === 'state' || query.answer === 'waits'

/** Routine commands, whose outcome the next step shows: lists, changes of folders, and all of git but commits. */
const ROUTINE = /^(?:cd|ls|lsd|exa|tree|pwd|rm|rmdir|mkdir|ln|cp|mv|touch|chmod|which|git(?!.* commit))(?![\w-])/u
const COMMAND_END = /\s*(?:&&|\|\||;|\n)\s*/u
const COMMITTED = /^\[[^\]\n]* [0-9a-f]{7,40}\] .+$/u

/** A command with its outcome; undefined for a routine step. Of a commit, the line that git prints. */
function resultText(command: string, lines: readonly string[]): string | undefined {
  const committed = /\bgit\b.* commit\b/u.test(command) ? lines.find((line) => COMMITTED.test(line)) : undefined
  if (committed !== undefined) return `committed ${quote(committed, MOST_COMMAND)}`
  if (command.split(COMMAND_END).every((part) => ROUTINE.test(part))) return undefined
  const outcome = outcomeOf(lines)
  return `${quote(command, MOST_COMMAND)} → ${outcome === '' ? 'no output' : outcome}`
}

/** The last run of each command, unless a later change of a file outdates it. */
function updateResults(editor: StateEditor, works: readonly Work[], failures: ReadonlyMap<Work, Failure>): void {
  const edits = works.filter(isEdit)
  const [firstEdit] = edits
  const lastEdit = edits.at(-1)?.position ?? -1
  const last = new Map<string, Work>()
  for (const work of works)
    if (work.query.key.startsWith('command ') && work.query.answer !== 'files' && work.result !== undefined)
      last.set(work.query.key, work)
  for (const item of editor.ofKind('result')) {
    const rerun = last.get(item.about ?? '')
    if (rerun !== undefined) editor.drop(item)
    else if (firstEdit !== undefined && item.untilEdit === true) editor.close(item, firstEdit.by.revision)
  }
  const lines = new ResultLines(works)
  const holding = [...last.values()].filter(
    (work) =>
      !isRefusal(work.result?.text ?? '') && !failures.has(work) && (!restsOnFiles(work) || work.position > lastEdit),
  )
  const results = holding.flatMap((work) => {
    const text = resultText(withoutFolder(work.query.subject), lines.of(work))
    return text === undefined ? [] : [{ work, text }]
  })
  for (const { work, text } of results.slice(-MOST_RESULTS)) {
    const item = itemAt(work.by, { kind: 'result', by: 'tool', text, weight: RESULT, about: work.query.key })
    // An action stays done, whatever changes later.
    editor.add(restsOnFiles(work) ? { ...item, untilEdit: true } : item)
  }
  for (const item of editor.ofKind('result').slice(0, -MOST_RESULTS)) editor.drop(item)
}

/** Errors, each with the call that resolved it. An earlier error is closed once the same call works. */
function updateErrors(editor: StateEditor, works: readonly Work[], failures: readonly Failure[]): void {
  for (const item of editor.ofKind('error')) {
    const solved = works.find(
      (work) =>
        work.query.key === item.about && work.result !== undefined && !failures.some((each) => each.work === work),
    )
    if (solved !== undefined) editor.close(item, solved.by.revision)
  }
  const listed = new Set(editor.ofKind('error').map(({ text }) => text))
  for (const { work, text, resolvedBy } of failures) {
    const failed = `${quote(withoutFolder(work.query.subject), MOST_COMMAND)}: ${quote(text, MOST_LINE)}`
    const words = resolvedBy === undefined ? failed : `${failed} → worked later`
    if (listed.has(words)) continue
    listed.add(words)
    const weight = resolvedBy === undefined ? OPEN_ERROR : SOLVED_ERROR
    editor.add(
      itemAt(work.result ?? work.by, { kind: 'error', by: 'tool', text: words, weight, about: work.query.key }),
    )
  }
}

const CHANGED = /: changed (?:once|(\d+) times)$/u
const changesOf = ({ text }: StateItem): number => Number(CHANGED.exec(text)?.[1] ?? '1')

/** The changed files, each with the number of its changes. */
function updateFiles(editor: StateEditor, works: readonly Work[]): void {
  const files: { path: string; changes: number; by: ReportMessage }[] = []
  for (const work of works.filter(isEdit))
    for (const path of work.query.files) {
      const known = files.find((file) => isSamePath(file.path, path))
      if (known === undefined) files.push({ path, changes: 1, by: work.by })
      else
        Object.assign(known, {
          changes: known.changes + 1,
          by: work.by,
          path: path.length > known.path.length ? path : known.path,
        })
    }
  for (const { path, changes, by } of files) {
    const known = editor.ofKind('file').find(({ about }) => about !== undefined && isSamePath(about, path))
    const total = changes + (known === undefined ? 0 : changesOf(known))
    if (known !== undefined) editor.drop(known)
    const name = known?.about !== undefined && known.about.length > path.length ? known.about : path
    const text = `${name}: changed ${total === 1 ? 'once' : `${String(total)} times`}`
    editor.add(itemAt(by, { kind: 'file', by: 'agent', text, weight: FILE, about: name }))
  }
}

/** Brings the state of the work up to date with some messages and their calls. */
export function updateWork(editor: StateEditor, messages: readonly ReportMessage[], works: readonly Work[]): void {
  const failures = failuresIn(works)
  closeAnswered(editor, messages)
  updatePlan(editor, works)
  updateProposal(editor, works)
  addRunning(editor, messages, works)
  if (works.length > 0) updateReport(editor, messages)
  updateResults(editor, works, new Map(failures.map((failure) => [failure.work, failure])))
  updateErrors(editor, works, failures)
  updateFiles(editor, works)
}
