/**
 * The content that an agent needs after a compaction: the losses that matter, by the rules of the loss report, and, if the
 * context has no summary that can be read, the state of the work. Each entry is one line with the revision of the message
 * that said it. Entries quote the log; no model is called.
 */
import type { StateItem, StateItemKind } from '../../domain/events/index.js'
import { newestSource } from '../../domain/conversation/working-state.js'
import { quote } from '../../domain/text/quote.js'
import { readAnswerText } from '../../domain/text/question-answers.js'
import type { RecallSection } from '../../domain/values/recall-note.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import type { JudgedItem } from '../loss-report/judged-item.js'
import { worksOf } from '../loss-report/tool-calls.js'
import { foundItems } from '../losses/found-items.js'
import { lossesInOrder } from '../losses/losses.js'
import { workByRules } from '../working-state/operations.js'
import type { ContextComparison } from './context-comparison.js'

/** One line of a note. */
export interface RecallEntry {
  /** Its section. */
  readonly section: RecallSection
  /** The text; quotations are in the original words. */
  readonly text: string
  /** Revision of the message that it is from. Undefined for a rule of the settings. */
  readonly revision?: number
}

const MOST_LINE = 400
const MOST_OF_KIND = 4
const MOST_FILES = 12

const SECTIONS: Readonly<Record<ItemKind, RecallSection>> = {
  constraint: 'rules',
  refusal: 'rules',
  request: 'work',
  task: 'work',
  openCall: 'work',
  subAgent: 'work',
  statement: 'words',
  decision: 'decisions',
  error: 'errors',
  file: 'facts',
  identifier: 'facts',
  number: 'facts',
}

const RUNNING: ReadonlySet<ItemKind> = new Set(['openCall', 'subAgent'])
const NAMES: ReadonlySet<ItemKind> = new Set(['file', 'identifier', 'number'])

/** The words of an item: those of the user alone are quoted. */
function wordsOf({ kind, text, said, saidBy }: JudgedItem): string {
  if (RUNNING.has(kind)) return `started, without a result: ${text}`
  if (kind === 'task') return `to do: ${text}`
  if (NAMES.has(kind)) return text === said.text ? text : `${text} (${said.text})`
  return saidBy !== 'user' || kind === 'refusal' || readAnswerText(text) !== undefined ? text : `“${text}”`
}

/** The losses that matter, the most important first. */
function lostEntries(missing: ContextComparison): RecallEntry[] {
  const { removed, before, after } = missing
  const { matters } = foundItems(missing, worksOf(removed), worksOf(after, before.length))
  return lossesInOrder(matters, []).flatMap((loss): RecallEntry[] => {
    if (loss.kind !== 'item') return []
    const { item } = loss
    return [{ section: SECTIONS[item.kind], text: wordsOf(item), revision: Number(item.said.revision) }]
  })
}

/** Pinned messages are quoted whole, as far as a line allows. */
const pinnedEntries = ({ removed, pinnedIds }: ContextComparison): RecallEntry[] =>
  removed
    .filter(({ messageId }) => pinnedIds.has(messageId))
    .map(({ text, revision }) => ({ section: 'rules', text: `pinned: “${quote(text, MOST_LINE)}”`, revision }))

const entryOf = (section: RecallSection, item: StateItem): RecallEntry => ({
  section,
  text: quote(item.text, MOST_LINE),
  revision: newestSource(item),
})

/** The state of the work: the last report, the results that still hold, and the changed files. Summaries have it. */
function workEntries({ before, removed, summary }: ContextComparison): RecallEntry[] {
  if (summary.kind === 'text' && summary.text !== '') return []
  const lacking = new Set(removed.map(({ revision }) => revision))
  const items = workByRules(before).items.filter((item) => lacking.has(newestSource(item)))
  const newest = (kinds: readonly StateItemKind[], most: number): readonly StateItem[] =>
    items.filter((item) => kinds.includes(item.kind) && item.endedAt === undefined).slice(-most)
  const runs = newest(['result', 'value'], items.length)
    .filter(({ by }) => by === 'tool')
    .slice(-MOST_OF_KIND)
  const files = newest(['file'], MOST_FILES).toSorted((a, b) => newestSource(b) - newestSource(a))
  const [lastFile] = files
  return [
    ...newest(['progress'], 1).map((item) => entryOf('work', item)),
    ...runs.map((item) => entryOf('results', item)),
    ...(lastFile === undefined
      ? []
      : [
          {
            section: 'files' as const,
            text: files.map(({ text, brief = text }) => brief).join('; '),
            revision: newestSource(lastFile),
          },
        ]),
  ]
}

/**
 * Everything that the context misses, the most important first.
 * @param rules rules of the settings, which begin every note
 */
export function entriesOf(compared: ContextComparison, rules: readonly string[]): RecallEntry[] {
  const { before, unchangedIds } = compared
  // A message that another program shortened in its context has lost the rest.
  const missing = { ...compared, removed: before.filter(({ messageId }) => !unchangedIds.has(messageId)) }
  const ofSettings = rules.map((text): RecallEntry => ({ section: 'rules', text }))
  if (missing.removed.length === 0) return missing.compactions === 0 ? [] : ofSettings
  return [...ofSettings, ...pinnedEntries(missing), ...lostEntries(missing), ...workEntries(missing)]
}
