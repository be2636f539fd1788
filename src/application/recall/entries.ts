/**
 * The content that an agent needs after a compaction: rules, open work, decisions, files under change, commands and how they
 * ended, errors and names. Each entry is one line with the revision of the message that said it. Entries quote the log;
 * no model is called.
 */
import { hasCue } from '../../domain/text/cues.js'
import { tellingTerms } from '../loss-report/stretches.js'
import type { RecallSection } from '../../domain/values/recall-note.js'
import { isSamePath, nameOf } from '../../domain/tools/call-query.js'
import { isEdit, worksOf, type Work } from '../loss-report/tool-calls.js'
import { failuresIn, type Failure } from '../loss-report/failures.js'
import { inOrderOfConsequence, NAMES } from '../loss-report/foremost.js'
import { itemsOf, type Item } from '../loss-report/items.js'
import { createJudge } from '../loss-report/judge.js'
import type { JudgedItem } from '../loss-report/judged-item.js'
import { judgedOf } from '../loss-report/forgotten.js'
import { quote } from '../../domain/text/quote.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import type { MissingContext } from './missing-context.js'
import { refusalIn } from '../../domain/text/refusals.js'
import { endsTurn, linesOf, outcomeOf, withoutFolder } from '../working-state/work-items.js'
import { ResultLines } from '../working-state/result-lines.js'
import { todoListOf } from '../working-state/todo-list.js'

/** One line of a note. */
export interface RecallEntry {
  /** Its section. */
  readonly section: RecallSection
  /** The text; quotations are in the original words. */
  readonly text: string
  /** Revision of the message that it is from. Undefined for a rule of the settings. */
  readonly revision?: number
}

const MOST_RULE = 400
const MOST_LINE = 240
const MOST_OUTPUT = 100
const MOST_COMMAND = 120
const LAST_COMMANDS = 4
const MOST_RESULT = 360
const MOST_LINES_OF_MESSAGE = 14

const entry = (section: RecallSection, text: string, { revision }: ReportMessage): RecallEntry => ({
  section,
  text,
  revision,
})

const quoted = (text: string, most = MOST_LINE): string => `“${quote(text, most)}”`

/** Names of parts alone, for example `[reasoning]` or `[image]`. */
const PARTS_ONLY = /^(?:\s*\[[\w -]{1,40}\])*\s*$/u

const isByRole =
  (role: ReportMessage['role']) =>
  (message: ReportMessage): boolean =>
    message.role === role && message.byProgram !== true && !PARTS_ONLY.test(message.ownText)

/** The last message of a role, unless a later one is in the context. */
function lastMissing({ removed, remaining }: MissingContext, role: ReportMessage['role']): ReportMessage | undefined {
  const last = removed.findLast(isByRole(role))
  const present = remaining.findLast(isByRole(role))
  return last === undefined || (present !== undefined && present.revision > last.revision) ? undefined : last
}

/** The open tasks of the agent's own list. */
function openTasks(works: readonly Work[], { remaining }: MissingContext): RecallEntry[] {
  const list = todoListOf(works)
  if (list === undefined || remaining.includes(list.by)) return []
  const { todos, by } = list
  const doneCount = todos.filter(({ status }) => status === 'done').length
  const open = todos.filter(({ status }) => status !== 'done')
  if (open.length === 0) return []
  return [
    ...(doneCount === 0
      ? []
      : [entry('work', `plan: ${String(doneCount)} of ${String(todos.length)} tasks done, open are:`, by)]),
    ...open.map(({ text, status }) =>
      entry('work', `${status === 'inProgress' ? 'in progress' : 'to do'}: ${quote(text, MOST_LINE)}`, by),
    ),
  ]
}

const LEAST_TERMS = 3

/** Whether a message says more than that the agent may go on. */
const saysEnough = (text: string): boolean => tellingTerms(text).length >= LEAST_TERMS

/** The state of the work: the last request, the agent's last words, its open tasks, and calls without an answer. */
function workEntries(
  missing: MissingContext,
  works: readonly Work[],
  items: readonly JudgedItem[],
  isKept: (message: ReportMessage) => boolean,
): RecallEntry[] {
  const request = lastMissing(missing, 'user')
  const first = missing.removed.find(isByRole('user'))
  const words = lastMissing(missing, 'assistant')
  return [
    ...(request === undefined ? [] : [entry('work', `last request: ${quoted(request.ownText, MOST_RULE)}`, request)]),
    ...openTasks(works, missing),
    ...(words === undefined ? [] : [entry('work', `you said last: ${quoted(words.ownText, MOST_RULE)}`, words)]),
    ...items
      .filter(({ kind }) => kind === 'openCall' || kind === 'subAgent')
      .map((item) => itemEntry('work', `started, without a result: ${item.text}`, item)),
    ...(first === undefined || first === request
      ? []
      : [entry('work', `first request: ${quoted(first.ownText, MOST_RULE)}`, first)]),
    ...missing.removed
      .filter((message) => isByRole('user')(message) && message !== request && message !== first && !isKept(message))
      .filter(({ ownText }) => saysEnough(ownText))
      .toReversed()
      .map((message) => entry('work', `said: ${quoted(message.ownText, MOST_RULE)}`, message)),
  ]
}

const itemEntry = (section: RecallSection, text: string, { said: { revision } }: JudgedItem): RecallEntry => ({
  section,
  text,
  revision: Number(revision),
})

const isMissing = ({ verdict }: JudgedItem): boolean => verdict !== 'kept'

/** The changed files, the last changed first. */
function fileEntries(works: readonly Work[], missingIds: ReadonlySet<string>): RecallEntry[] {
  const files: { path: string; changes: number; last: Work }[] = []
  for (const work of works.filter(isEdit))
    for (const path of work.query.files) {
      const known = files.find((file) => isSamePath(file.path, path))
      if (known === undefined) files.push({ path, changes: 1, last: work })
      else {
        known.changes += 1
        known.last = work
        if (path.length > known.path.length) known.path = path
      }
    }
  return files
    .filter(({ last }) => missingIds.has(last.by.messageId))
    .toSorted((a, b) => b.last.position - a.last.position)
    .map(({ path, changes, last }) =>
      entry('files', `${path}: changed ${changes === 1 ? 'once' : `${String(changes)} times`}`, last.by),
    )
}

/** The last run of each command that changes or checks something, and the last commands of any kind. */
function commandEntries(
  works: readonly Work[],
  failures: ReadonlyMap<Work, Failure>,
  missingIds: ReadonlySet<string>,
  lines: ResultLines,
): RecallEntry[] {
  const last = new Map<string, Work>()
  for (const work of works) if (work.query.key.startsWith('command ')) last.set(work.query.key, work)
  const newest = new Set([...last.values()].slice(-LAST_COMMANDS))
  return [...last.values()]
    .filter((work) => work.query.answer !== 'files' || newest.has(work))
    .filter(
      ({ by, result }) => missingIds.has(by.messageId) && result !== undefined && refusalIn(result.text) === undefined,
    )
    .toSorted((a, b) => b.position - a.position)
    .map((work) => {
      const failure = failures.get(work)
      const outcome = failure === undefined ? outcomeOf(lines.of(work)) : `failed: ${quote(failure.text, MOST_OUTPUT)}`
      return entry(
        'commands',
        `${quote(withoutFolder(work.query.subject), MOST_COMMAND)} → ${outcome === '' ? 'no output' : outcome}`,
        work.by,
      )
    })
}

/** Errors, those without a solution first. */
function errorEntries(items: readonly JudgedItem[]): RecallEntry[] {
  const errors = items.filter((item) => item.kind === 'error' && isMissing(item))
  const open = errors.filter(({ resolvedBy }) => resolvedBy === undefined)
  const resolved = errors.filter(({ resolvedBy }) => resolvedBy !== undefined)
  return [...open, ...resolved].map((item) =>
    itemEntry(
      'errors',
      item.resolvedBy === undefined
        ? quote(item.text, MOST_LINE)
        : `${quote(item.text, MOST_LINE)} → worked later: ${quote(item.resolvedBy.text, MOST_OUTPUT)}`,
      item,
    ),
  )
}

const ofKind = (
  items: readonly JudgedItem[],
  kind: JudgedItem['kind'],
  section: RecallSection,
  most: number,
): RecallEntry[] =>
  items
    .filter((item) => item.kind === kind && isMissing(item))
    .map((item) => itemEntry(section, quoted(item.text, most), item))

/** Calls that the user refused, with the user's words. */
function refusalEntries(works: readonly Work[]): RecallEntry[] {
  return works.flatMap(({ call, query, result }) => {
    const words = result === undefined ? undefined : refusalIn(result.text)
    return words === undefined || result === undefined
      ? []
      : [entry('rules', `refused ${call.name}(${query.subject}): ${quoted(words, MOST_RULE)}`, result)]
  })
}

/** Whether a sentence reports a decision, a result, an error, a reason or open work. */
const TELLS = ['decision', 'outcome', 'error', 'reason', 'pending'] as const
const tells = (text: string): boolean => TELLS.some((cue) => hasCue(text, cue))

/**
 * The agent's findings in its own words: the lines of its reports to the user, the newest first, then telling
 * sentences from the texts between its calls.
 */
function findingItems({ before, removed }: MissingContext): Item[] {
  const missing = new Set(removed)
  const itemOf = (text: string, message: ReportMessage): Item => ({
    kind: 'decision',
    key: text,
    text,
    message,
    mentions: 1,
  })
  const texts = before
    .map((message, at) => ({ message, isReport: endsTurn(message, before[at + 1]) }))
    .filter(({ message }) => missing.has(message) && isByRole('assistant')(message))
    .toReversed()
  return [
    ...texts
      .filter(({ isReport }) => isReport)
      .flatMap(({ message }) =>
        linesOf(message.text)
          .slice(0, MOST_LINES_OF_MESSAGE)
          .map((text) => itemOf(text, message)),
      ),
    ...texts
      .filter(({ isReport }) => !isReport)
      .flatMap(({ message }) =>
        linesOf(message.text)
          .filter(tells)
          .slice(0, 2)
          .map((text) => itemOf(text, message)),
      ),
  ]
}

/** The newest results of tools. They use the tokens that the other sections leave. */
const resultEntries = (works: readonly Work[], lines: ResultLines): RecallEntry[] =>
  works.toReversed().flatMap((work) => {
    const text = quote(lines.of(work).join('\n'), MOST_RESULT)
    return text === '' || work.result === undefined || work.query.use === 'note'
      ? []
      : [entry('results', `${work.call.name}(${work.query.subject}): ${text}`, work.result)]
  })

/** Everything that the context misses, by section, the most important of each first. */
export function entriesOf(missing: MissingContext, rules: readonly string[]): RecallEntry[] {
  const { removed, remaining, before, after } = missing
  const works = worksOf(before)
  const missingIds = new Set(removed.map(({ messageId }) => messageId))
  const removedWorks = works.filter(({ by }) => missingIds.has(by.messageId))
  const found = itemsOf(removed, removedWorks, remaining)
  const findings = findingItems(missing)
  const judge = createJudge(missing, [...found, ...findings])
  // The whole text: a report has it shortened.
  const items = inOrderOfConsequence(
    found.map((item) => ({ ...judgedOf(item, judge(item)), text: item.text })),
    after,
  )
  const lines = new ResultLines(removedWorks)
  const failures = new Map(failuresIn(works).map((failure) => [failure.work, failure]))
  const files = fileEntries(works, missingIds)
  return [
    ...ruleEntries(missing, rules, removedWorks, items),
    ...workEntries(missing, works, items, (message) => isWholeKept(message, items)),
    ...ofKind(items, 'decision', 'decisions', MOST_LINE),
    ...findings
      .filter((item) => judge(item).verdict !== 'kept')
      .map(({ text, message }) => entry('findings', quote(text, MOST_LINE), message)),
    ...commandEntries(works, failures, missingIds, lines),
    ...files,
    ...errorEntries(items),
    ...nameEntries(items, files),
    ...resultEntries(removedWorks, lines),
  ]
}

/** Whether the context has all that a message says. */
function isWholeKept({ messageId }: ReportMessage, items: readonly JudgedItem[]): boolean {
  const ofMessage = items.filter(({ said: message }) => message.messageId === messageId)
  return ofMessage.length > 0 && ofMessage.every(({ verdict }) => verdict === 'kept')
}

/** Rules of the caller, pinned messages, rules that the user stated, and refusals. */
const ruleEntries = (
  { removed, pinnedIds }: MissingContext,
  rules: readonly string[],
  works: readonly Work[],
  items: readonly JudgedItem[],
): RecallEntry[] => [
  ...rules.map((text): RecallEntry => ({ section: 'rules', text })),
  ...removed
    .filter(({ messageId }) => pinnedIds.has(messageId))
    .map((message) => entry('rules', `pinned: ${quoted(message.text, MOST_RULE)}`, message)),
  ...ofKind(items, 'constraint', 'rules', MOST_RULE),
  ...refusalEntries(works).toReversed(),
]

/** Names that the user wrote or that the agent needed again, unless they are in the list of files. */
const nameEntries = (items: readonly JudgedItem[], files: readonly RecallEntry[]): RecallEntry[] =>
  items
    .filter(
      (item) => NAMES.has(item.kind) && isMissing(item) && (item.isNeededAgain === true || item.saidBy === 'user'),
    )
    .filter(({ text }) => !files.some(({ text: line }) => line.includes(nameOf(text))))
    .map((item) =>
      itemEntry(
        'names',
        item.text === item.said.text ? item.text : `${item.text} (${quote(item.said.text, MOST_OUTPUT)})`,
        item,
      ),
    )
