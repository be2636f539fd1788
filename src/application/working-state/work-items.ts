/**
 * The state of the agent's work: its open tasks and calls, its last report, results that still hold, errors and changed
 * files. Changing a file closes the earlier results that depend on files. A weight decides which
 * items a small view shows.
 */
import { argumentsOf } from '../../domain/tools/call-query.js'
import { quote } from '../../domain/text/quote.js'
import { isRefusal } from '../../domain/text/refusals.js'
import { failuresIn, type Failure } from '../loss-report/failures.js'
import { runningIn } from '../loss-report/running.js'
import { isEdit, type Work } from '../loss-report/tool-calls.js'
import type { ReportMessage, ReportToolCall } from '../loss-report/report-input.js'
import { ResultLines } from './result-lines.js'
import type { StateItem } from '../../domain/events/index.js'
import type { NewItem, StateEditor } from '../../domain/conversation/state-editor.js'
import { todoListOf } from './todo-list.js'
import { wholeText } from './agent-passages.js'
import { withoutFolder } from './command-text.js'
import { updateErrors } from './error-items.js'
import { updateFiles } from './file-items.js'

export const OPEN = 75
const REPORT = 68
const STEP_WEIGHT = 60
const RESULT = 45

const MOST_LINE = 240
const MOST_COMMAND = 120
const MOST_OUTPUT = 100
const MOST_REPORT = 700
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

/** A program says where it stored the plan that the user approved. */
const SAVED = /\bsaved (?:to|at|in):?\s+(\S+\.\w{1,5})(?=[\s.,)]|$)/iu
const MOST_NOTICE = 1_000

/** The last plan that the agent proposed to the user, unless the user refused it. */
function updateProposal(editor: StateEditor, works: readonly Work[]): void {
  const proposed = works.findLast(({ call }) => /plan/iu.test(call.name) && planIn(call) !== undefined)
  if (proposed === undefined) return
  for (const item of editor.ofKind('open').filter(({ about }) => about === PROPOSAL)) editor.drop(item)
  if (isRefusal(proposed.result?.text ?? '')) return
  const lines = linesOf(planIn(proposed.call) ?? '')
  const path = SAVED.exec(proposed.result?.text.slice(0, MOST_NOTICE) ?? '')?.[1]
  const text = `plan${path === undefined ? '' : ` (${path})`}: ${quote(lines.slice(0, MOST_PLAN_LINES).join(' / '), MOST_PLAN)}`
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

/** A report: its beginning and its last words, which often name the next step. */
function reportText(passages: readonly string[]): string {
  const [last = ''] = passages.slice(-1)
  const whole = passages.join(' / ')
  if (whole.length <= MOST_REPORT) return whole
  const end = quote(last, MOST_LINE)
  return `${quote(passages.slice(0, -1).join(' / '), MOST_REPORT - end.length)} … ${end}`
}

/** The last report of the agent replaces the one before. */
function updateReport(editor: StateEditor, messages: readonly ReportMessage[]): void {
  const report = messages.findLast((message, at) => endsTurn(message, messages[at + 1]))
  if (report === undefined) return
  const passages = wholeText(report.ownText)
  const text = reportText(passages)
  const brief = quote([...passages.slice(0, 1), ...passages.slice(1).slice(-1)].join(' … '), MOST_LINE)
  if (text === '') return
  for (const item of editor.ofKind('progress').filter(({ about }) => about !== STEP)) editor.drop(item)
  editor.add(itemAt(report, { kind: 'progress', by: 'agent', text, brief, weight: REPORT }))
}

const STEP = 'step'
const MOST_STEP = 200

/** The words by which the agent announced the last step, if it has not reported on it. */
export function updateStep(editor: StateEditor, messages: readonly ReportMessage[]): void {
  for (const item of editor.ofKind('progress').filter(({ about }) => about === STEP)) editor.drop(item)
  const at = messages.findLastIndex((message) => message.role === 'assistant' && wholeText(message.ownText).length > 0)
  const last = messages[at]
  if (last === undefined || (last.toolCalls ?? []).length === 0) return
  const words = quote(wholeText(last.ownText).at(-1) ?? '', MOST_STEP)
  editor.add(
    itemAt(last, { kind: 'progress', by: 'agent', text: `last step: ${words}`, weight: STEP_WEIGHT, about: STEP }),
  )
}

/** The first and the last line of an output that say something. */
function outcomeOf(output: readonly string[]): string {
  const lines = output.filter((line) => /\p{L}{3}|\d/u.test(line))
  const [first = '', last = ''] = [lines[0], lines.at(-1)]
  return lines.length < 2 ? quote(first, MOST_OUTPUT) : `${quote(first, MOST_OUTPUT)} … ${quote(last, MOST_OUTPUT)}`
}

/** Whether a result may change with the files: a status, a build, a test. */
const restsOnFiles = ({ query }: Work): boolean => query.answer === 'state' || query.answer === 'waits'

/** Routine commands: lists, changes of folders, and all of git but commits and settings. The next step shows their outcome. */
const ROUTINE =
  /^(?:cd|ls|lsd|exa|tree|pwd|rm|rmdir|mkdir|ln|cp|mv|touch|chmod|which|git(?!.* (?:commit|config)))(?![\w-])/u
const COMMAND_END = /\s*(?:&&|\|\||;|\n)\s*/u
const COMMIT = /\bgit\b.* commit\b/u
const COMMITTED = /^\[[^\]\n]* [0-9a-f]{7,40}\] .+$/u

/** A command with its outcome; undefined for a routine step. Of a commit, the line that git prints. */
function resultText(command: string, lines: readonly string[]): string | undefined {
  const committed = COMMIT.test(command) ? lines.find((line) => COMMITTED.test(line)) : undefined
  if (committed !== undefined) return `committed ${quote(committed, MOST_COMMAND)}`
  if (command.split(COMMAND_END).every((part) => ROUTINE.test(part))) return undefined
  const outcome = outcomeOf(lines)
  return `${quote(command, MOST_COMMAND)} → ${outcome === '' ? 'no output' : outcome}`
}

/** The end of a command that shortens its output. */
const SHORTENED = /(?:\s*2>&1)?(?:\s*\|\s*(?:tail|head|grep|cat|less|wc|sort)\b.*)?$/u
const MOST_VALUE = 80
/** An address, a version, a name with a digit or a path. */
const EXACT = /https?:|@|\d\.\d|(?<![\p{L}\p{N}])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{3,}|\/\w/iu
/** Without output, a command shows only that it was run. */
const NO_OUTPUT = 30

/** Tests and other checks, which end with a verdict, and git: its state changes all the time. */
const VERDICT =
  /(?<![\w-])(?:tests?|pytest|jest|vitest|build|check|lint|compile|tsc|make|cargo|gradle|mvn|git|status)(?![\w-])/iu

/** Whether the output of a run is a value: one short line with a name, a version or an address. */
const isValue = ({ query }: Work, [line = '', ...others]: readonly string[]): boolean =>
  others.length === 0 && line.length <= MOST_VALUE && EXACT.test(line) && !VERDICT.test(query.subject)

/** The item of a run; undefined for a routine step. */
function itemOfRun(work: Work, lines: readonly string[]): NewItem | undefined {
  const command = withoutFolder(work.query.subject)
  const text = resultText(command, lines)
  if (text === undefined) return undefined
  const weight = lines.length === 0 && !SETS.test(command) ? NO_OUTPUT : RESULT
  const kind = isValue(work, lines) ? 'value' : 'result'
  const item = itemAt(work.by, { kind, by: 'tool', text, weight, about: runOf(work) })
  // An action stays done, whatever changes later.
  return kind === 'result' && restsOnFiles(work) ? { ...item, untilEdit: true } : item
}

/** Commands that set something up: settings, packages. */
const SETS =
  /(?<![\w-])(?:git config|(?:npm|pnpm|yarn|bun|pip3?|uv|cargo|go|brew|apt(?:-get)?|gem|composer)\s+(?:i|install|add|get|config)|export|set)(?![\w-])/u

/** The subject of a run: a command is the same whatever part of its output is shown. */
const runOf = ({ query }: Work): string => query.key.replace(SHORTENED, '')

const VERSION = /(?:^|\s)(?:--version|-V|version)$/u

/** Whether a call ran a command with an outcome. The content of a file is none; a version is one. */
const isRun = ({ query, result }: Work): boolean =>
  query.key.startsWith('command ') && result !== undefined && (query.answer !== 'files' || VERSION.test(query.subject))

/** The items of runs: those that rules made. */
const runsIn = (editor: StateEditor): StateItem[] =>
  [...editor.ofKind('result'), ...editor.ofKind('value')].filter(({ by }) => by === 'tool')

/** A whole output of a few letters is no line of an output for `ResultLines`. */
const MOST_TINY = 3

function outputOf(work: Work, lines: ResultLines): readonly string[] {
  const whole = work.result?.text.trim() ?? ''
  return whole !== '' && whole.length <= MOST_TINY ? [whole] : lines.of(work)
}

/** The last run of each command, unless a later change of a file outdates it. */
function updateResults(editor: StateEditor, works: readonly Work[], failures: ReadonlyMap<Work, Failure>): void {
  const edits = works.filter(isEdit)
  const [firstEdit] = edits
  const lastEdit = edits.at(-1)?.position ?? -1
  const last = new Map<string, Work>()
  for (const work of works) if (isRun(work)) last.set(runOf(work), work)
  for (const item of runsIn(editor)) {
    const rerun = last.get(item.about ?? '')
    if (rerun !== undefined) editor.drop(item)
    else if (firstEdit !== undefined && item.untilEdit === true) editor.close(item, firstEdit.by.revision)
  }
  const lines = new ResultLines(works)
  const holding = [...last.values()].filter(
    (work) =>
      !isRefusal(work.result?.text ?? '') &&
      !failures.has(work) &&
      (!restsOnFiles(work) || work.position > lastEdit || isValue(work, outputOf(work, lines))),
  )
  const items = holding.flatMap((work) => itemOfRun(work, outputOf(work, lines)) ?? [])
  for (const kind of ['result', 'value'] as const) {
    for (const item of items.filter((each) => each.kind === kind).slice(-MOST_RESULTS)) editor.add(item)
    for (const item of runsIn(editor)
      .filter((each) => each.kind === kind)
      .slice(0, -MOST_RESULTS))
      editor.drop(item)
  }
}

const COMMANDS = 'commands'
const COMMAND_WEIGHT = 50
const LEAST_RUNS = 2
const MOST_COMMANDS = 6
const MOST_OF_COMMANDS = 80
const COMMANDS_TEXT = 'commands in use: '

const NO_CHECK = /^(?:git|gh|echo|sed|cat|export|kill|sleep|curl|wget|ssh|source)(?![\w-])/u

/** A build, a test or another check, without the parts that shorten its output; undefined for other commands. */
function checkIn({ query }: Work): string | undefined {
  if (!query.key.startsWith('command ') || query.answer === 'files' || query.inBackground) return undefined
  const command = withoutFolder(query.subject).replace(SHORTENED, '').trim()
  const isPlain = command !== '' && command.length <= MOST_OF_COMMANDS && !/\n|; /u.test(command)
  return isPlain && !command.split(COMMAND_END).some((part) => ROUTINE.test(part) || NO_CHECK.test(part))
    ? command
    : undefined
}

/** The checks that the agent runs again and again. The outcome of each may be outdated; the command is not. */
function updateCommands(editor: StateEditor, works: readonly Work[]): void {
  const known = editor.ofKind('value').find(({ about }) => about === COMMANDS)
  const before = known?.text.slice(COMMANDS_TEXT.length).split('; ') ?? []
  const runs = new Map<string, Work[]>()
  for (const work of works) {
    const command = checkIn(work)
    if (command !== undefined) runs.set(command, [...(runs.get(command) ?? []), work])
  }
  const repeated = [...runs].filter(([command, each]) => each.length >= LEAST_RUNS || before.includes(command))
  const [last] = repeated.flatMap(([, each]) => each.slice(-1)).toSorted((a, b) => b.position - a.position)
  if (last === undefined) return
  const now = repeated.map(([command]) => command)
  const commands = [...before.filter((command) => !now.includes(command)), ...now].slice(-MOST_COMMANDS)
  if (known !== undefined) editor.drop(known)
  const text = `${COMMANDS_TEXT}${commands.join('; ')}`
  editor.add(itemAt(last.by, { kind: 'value', by: 'agent', text, weight: COMMAND_WEIGHT, about: COMMANDS }))
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
  updateCommands(editor, works)
  updateErrors(editor, messages, works, failures)
  updateFiles(editor, works)
}
