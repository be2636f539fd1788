/**
 * The content that an agent needs after a compaction: the items of the working state, less what its context already says.
 * Each entry is one line with the revision of the message that said it. Entries quote the log; no model is called.
 */
import { workingStateOf } from '../../domain/conversation/batch.js'
import { byImportance } from '../../domain/conversation/working-state-view.js'
import { groupsOf, newestSource, type ItemGroup } from '../../domain/conversation/working-state.js'
import type { StateItem, StateItemKind, WorkingState } from '../../domain/events/index.js'
import { quote } from '../../domain/text/quote.js'
import type { RecallSection } from '../../domain/values/recall-note.js'
import { CORRECTION } from '../working-state/statements.js'
import { stateByRules } from '../working-state/operations.js'
import type { MissingContext } from './missing-context.js'
import { createAlready } from './already-said.js'

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
const MOST_FILES = 12
const MOST_RESULTS = 4
const MOST_ERRORS = 4
const LAST_REQUESTS = 3

/** Items with less weight do not change what an agent does: stories, questions, errors that were solved. */
const LEAST_WEIGHT = 45
/** A statement with less weight is a request. */
const LEAST_LASTING = 60

/** The kinds of items that only a model makes. */
const BY_MODEL: ReadonlySet<StateItemKind> = new Set(['rule', 'value'])

/**
 * The working state of a conversation: as a model made it, or else by rules from all messages, because a recorded state has
 * only what fits into two views.
 */
export async function stateOf({ state, before }: MissingContext): Promise<WorkingState> {
  const recorded = workingStateOf(state.batches)
  return recorded.items.some(({ kind }) => BY_MODEL.has(kind)) ? recorded : await stateByRules(before)
}

const SECTIONS: Readonly<Record<StateItemKind, RecallSection>> = {
  rule: 'rules',
  statement: 'words',
  open: 'work',
  progress: 'work',
  decision: 'decisions',
  value: 'facts',
  result: 'results',
  error: 'errors',
  file: 'files',
  fact: 'facts',
}

const sectionOf = ({ kind, weight }: StateItem): RecallSection =>
  kind === 'statement' && weight >= CORRECTION ? 'rules' : SECTIONS[kind]

/** Past requests were answered: the first one names the work, the last ones its state. */
function withoutPastRequests(groups: readonly ItemGroup[]): readonly ItemGroup[] {
  const requests = groups.filter(
    ([first]) => first?.kind === 'statement' && Math.max(...groupWeights(groups, first)) < LEAST_LASTING,
  )
  const telling = new Set([...requests.slice(0, 1), ...requests.slice(-LAST_REQUESTS)])
  return groups.filter((group) => !requests.includes(group) || telling.has(group))
}

const groupWeights = (groups: readonly ItemGroup[], first: StateItem): number[] =>
  (groups.find((group) => group[0] === first) ?? []).map(({ weight }) => weight)

/** The newest items of a kind. */
function newestOfKind(groups: readonly ItemGroup[], kind: StateItemKind, most: number): readonly ItemGroup[] {
  const ofKind = groups.filter(([first]) => first?.kind === kind)
  const left = new Set(ofKind.toSorted((a, b) => revisionOf(b) - revisionOf(a)).slice(most))
  return groups.filter((group) => !left.has(group))
}

const revisionOf = (group: ItemGroup): number => Math.max(...group.map(newestSource))

/** The items that may be needed, the most important first. */
function neededOf(state: WorkingState): readonly ItemGroup[] {
  const weighty = groupsOf(state).filter((group) => group.some(({ weight }) => weight >= LEAST_WEIGHT))
  const few = newestOfKind(newestOfKind(weighty, 'result', MOST_RESULTS), 'error', MOST_ERRORS)
  return byImportance(
    withoutPastRequests(few).filter(([first]) => first?.kind !== 'fact' || first.weight >= LEAST_LASTING),
  )
}

/** Pinned messages are quoted whole, as far as a line allows. */
const pinnedEntries = ({ removed, pinnedIds }: MissingContext): RecallEntry[] =>
  removed
    .filter(({ messageId }) => pinnedIds.has(messageId))
    .map(({ text, revision }) => ({ section: 'rules', text: `pinned: “${quote(text, MOST_LINE)}”`, revision }))

/** Everything that the context misses, the most important first. */
export function entriesOf(missing: MissingContext, state: WorkingState, rules: readonly string[]): RecallEntry[] {
  if (missing.removed.length === 0) return rules.length === 0 || missing.compactions === 0 ? [] : ownRules(rules)
  const revisions = new Set(missing.remaining.map(({ revision }) => revision))
  const isShown = (item: StateItem): boolean => revisions.has(newestSource(item))
  const candidates = neededOf(state)
  const already = createAlready(missing, candidates.flat())
  const files: StateItem[] = []
  const entries = candidates.flatMap((group): RecallEntry[] => {
    const [first] = group
    if (first?.kind === 'file') {
      if (!isShown(first) && !already.isSaid(first)) files.push(first)
      return []
    }
    const parts = group.flatMap((item, at): RecallEntry[] => {
      const text = isShown(item) ? '' : already.missingOf(item, group.slice(at + 1))
      return text === '' ? [] : [entryOf(item, text)]
    })
    return joined(parts)
  })
  return [...ownRules(rules), ...pinnedEntries(missing), ...entries, ...fileEntry(files)]
}

/** Statements of which the later one changes the earlier one, as one entry: neither is shown without the other. */
function joined(parts: readonly RecallEntry[]): RecallEntry[] {
  const last = parts.at(-1)
  if (last === undefined) return []
  const [first, ...later] = parts.map(({ text }) => text)
  const lines = later.map((text, at) => `→ later r${String(parts[at + 1]?.revision ?? '')}: ${text}`)
  return [{ ...last, text: [first ?? '', ...lines].join(' ') }]
}

const ownRules = (rules: readonly string[]): RecallEntry[] => rules.map((text) => ({ section: 'rules', text }))

const entryOf = (item: StateItem, text: string): RecallEntry => ({
  section: sectionOf(item),
  text: [
    item.kind === 'statement' && !/^(?:asked|refused) /u.test(text)
      ? `“${quote(text, MOST_LINE)}”`
      : quote(text, MOST_LINE),
    ...(item.reason === undefined ? [] : [`because ${quote(item.reason, MOST_LINE)}`]),
    ...(item.next === undefined ? [] : [`next: ${quote(item.next, MOST_LINE)}`]),
  ].join('; '),
  revision: newestSource(item),
})

/** The files that were changed last, in one line. */
function fileEntry(files: readonly StateItem[]): RecallEntry[] {
  const newest = files.toSorted((a, b) => newestSource(b) - newestSource(a)).slice(0, MOST_FILES)
  const [first] = newest
  return first === undefined
    ? []
    : [{ section: 'files', text: newest.map(({ text }) => text).join('; '), revision: newestSource(first) }]
}
