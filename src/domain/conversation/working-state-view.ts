/**
 * The working-state view: the items of the working state under a heading for each kind, then the newest summary as far as it
 * fits. Within its limit the most important items are shown, in order; a statement is never shown without
 * the newest one that corrects it. Pure text.
 */
import { summaryOf, type Batch } from './batch.js'
import type { ViewPart } from './clip-archive.js'
import { many, spanText } from './view-lines.js'
import { groupsOf, newestSource, type ItemGroup } from './working-state.js'
import { ITEM_KINDS, NO_STATE, type StateItem, type StateItemKind, type WorkingState } from '../events/index.js'
import type { Estimator } from '../values/tokens.js'

/** The id of the view's part that has the items. */
const STATE_PART = 'working-state'

const HEADINGS: Readonly<Record<StateItemKind, string>> = {
  rule: 'Rules of the user',
  statement: "The user's words, oldest first",
  open: 'Open work',
  progress: 'State of the work, in the words of the agent',
  decision: 'Decisions',
  value: 'Exact values',
  result: 'Results that still hold',
  error: 'Errors not to repeat',
  file: 'Changed files',
  fact: 'Other facts',
}

/** From this weight on, the oldest items are as important as the newest. */
const LASTING_WEIGHT = 65
/** From this weight on, a statement is a rule, a refusal or a correction. */
const BINDING_WEIGHT = 80
/** Approximate tokens of the lines around the items. */
const FRAME_TOKENS = 50

/** The revisions of an item, as `r12, r40`. */
export const sourcesText = ({ sourceRevisions }: StateItem): string =>
  sourceRevisions.map((revision) => `r${String(revision)}`).join(', ')

/** Of statements that correct each other, as many of the newest are shown with the first one. */
const NEWEST_SHOWN = 2

/** An item in one line: its text with reason, next step and files. */
export const wordsOf = ({ text, brief, reason, next, files = [] }: StateItem, isBrief: boolean): string =>
  [
    (isBrief ? (brief ?? text) : text).replaceAll(/\s*\n\s*/gu, ' / '),
    ...(reason === undefined || isBrief ? [] : [`because ${reason}`]),
    ...(next === undefined ? [] : [`next: ${next}`]),
    ...(files.every((file) => text.includes(file)) ? [] : [`files: ${files.join(', ')}`]),
  ].join('; ')

/** The line of items that are shown together. `later` precedes a statement that corrects the one before it. */
export function groupLine(group: ItemGroup, isBrief = false): string {
  const visible = group.length > NEWEST_SHOWN + 1 ? [...group.slice(0, 1), ...group.slice(-NEWEST_SHOWN)] : group
  const texts = visible.map(
    (item, at) => `${at === 0 ? '' : '→ later '}${sourcesText(item)}: ${wordsOf(item, isBrief)}`,
  )
  return `- ${texts.join(' ')}`
}

const weightOf = (group: ItemGroup): number => Math.max(...group.map(({ weight }) => weight))
const newestOf = (group: ItemGroup): number => Math.max(...group.map(newestSource))

/** The oldest, the newest, the second oldest and so on. */
function fromBothEnds<T>(items: readonly T[]): T[] {
  const rest = [...items]
  const ordered: T[] = []
  for (let turn = 0; rest.length > 0; turn += 1) ordered.push(...(turn % 2 === 0 ? rest.splice(0, 1) : rest.splice(-1)))
  return ordered
}

/** The groups by importance; among equals those that may have changed come in the order in which they are needed. */
export function byImportance(groups: readonly ItemGroup[]): ItemGroup[] {
  const byWeight = new Map<number, ItemGroup[]>()
  for (const group of groups) byWeight.set(weightOf(group), [...(byWeight.get(weightOf(group)) ?? []), group])
  return [...byWeight.entries()]
    .toSorted(([a], [b]) => b - a)
    .flatMap(([weight, equals]) => {
      const inOrder = equals.toSorted((a, b) => newestOf(a) - newestOf(b))
      return weight >= LASTING_WEIGHT ? fromBothEnds(inOrder) : inOrder.toReversed()
    })
}

/** A group as the view shows it: whole or in brief. */
interface GroupLine {
  readonly group: ItemGroup
  readonly line: string
}

/** Chooses lines within a limit. */
class LineBudget {
  constructor(
    private left: number,
    private readonly estimator: Estimator,
    private readonly whole?: LineBudget,
  ) {}

  /** A part of the limit. */
  share(maxTokens: number): LineBudget {
    return new LineBudget(Math.min(maxTokens, this.left), this.estimator, this)
  }

  private costOf(line: string): number {
    return this.estimator.text(`${line}\n`)
  }

  /** Takes a line if it fits, in place of another one. */
  takes(line: string, instead?: string): boolean {
    const cost = this.costOf(line) - (instead === undefined ? 0 : this.costOf(instead))
    if (cost > this.left) return false
    this.spend(cost)
    return true
  }

  private spend(cost: number): void {
    this.left -= cost
    this.whole?.spend(cost)
  }
}

/** The groups that fit in brief. Of a group the newest statement alone may fit. */
function fittedBrief(groups: readonly ItemGroup[], budget: LineBudget): GroupLine[] {
  return groups.flatMap((whole): GroupLine[] => {
    const forms = whole.length === 1 ? [whole] : [whole, whole.slice(-1)]
    const form = forms.find((each) => budget.takes(groupLine(each, true)))
    return form === undefined ? [] : [{ group: form, line: groupLine(form, true) }]
  })
}

/** The lines, as many as possible whole, in this order. */
const fittedWhole = (lines: readonly GroupLine[], budget: LineBudget): GroupLine[] =>
  lines.map(({ group, line }) => {
    const whole = groupLine(group)
    return { group, line: whole !== line && budget.takes(whole, line) ? whole : line }
  })

/** Long forms of rules and corrections have at most this share before the other kinds. */
const BINDING_SHARE = 0.15

/**
 * The share of the room that each kind has at least, if it needs it, after the rules and corrections: many statements of
 * medium weight must not leave an agent without the state of its work. The rest goes by importance.
 */
const LEAST_SHARES: Readonly<Partial<Record<StateItemKind, number>>> = {
  open: 0.08,
  progress: 0.08,
  decision: 0.08,
  value: 0.06,
  result: 0.04,
  error: 0.1,
  file: 0.06,
  fact: 0.22,
}

/** The groups that fit: rules and corrections, the share of each kind, and then the others by importance. */
function groupsThatFit(groups: readonly ItemGroup[], maxTokens: number, estimator: Estimator): GroupLine[] {
  const budget = new LineBudget(maxTokens, estimator)
  const fitted = (each: readonly ItemGroup[], part: LineBudget): GroupLine[] =>
    fittedWhole(fittedBrief(each, part), part)
  const ordered = byImportance(groups)
  const binding = ordered.filter((group) => weightOf(group) >= BINDING_WEIGHT)
  const lines = fittedWhole(fittedBrief(binding, budget), budget.share(Math.floor(maxTokens * BINDING_SHARE)))
  for (const kind of ITEM_KINDS)
    lines.push(
      ...fitted(
        ordered.filter((group) => group[0]?.kind === kind && !binding.includes(group)),
        budget.share(Math.floor(maxTokens * (LEAST_SHARES[kind] ?? 0))),
      ),
    )
  const listed = new Set(lines.flatMap(({ group }) => group))
  const left = ordered.filter((group) => !group.some((item) => listed.has(item)))
  const isLasting = (group: ItemGroup): boolean => weightOf(group) >= LASTING_WEIGHT
  const lasting = fitted(left.filter(isLasting), budget)
  const whole = fittedWhole(lines, budget)
  return [
    ...whole,
    ...lasting,
    ...fitted(
      left.filter((group) => !isLasting(group)),
      budget,
    ),
  ]
}

const kindOf = ({ group: [first] }: GroupLine): StateItemKind | undefined => first?.kind
const dayOf = (entry: GroupLine | undefined): string | undefined => entry?.group[0]?.day

/** The lines of one kind, under the day if there are several. */
function linesOf(groups: readonly GroupLine[]): string[] {
  const ordered = groups.toSorted(
    (a, b) => (a.group[0]?.sourceRevisions[0] ?? 0) - (b.group[0]?.sourceRevisions[0] ?? 0),
  )
  const hasDays = new Set(ordered.map(dayOf)).size > 1
  return ordered.flatMap((entry, at) => {
    const day = dayOf(entry)
    return [...(hasDays && day !== undefined && day !== dayOf(ordered[at - 1]) ? [`[${day}]`] : []), entry.line]
  })
}

/** The groups without facts that are a part of the last report. */
function withoutRepeated(groups: readonly ItemGroup[]): ItemGroup[] {
  const reports = groups.filter(([first]) => first?.kind === 'progress').flat()
  return groups.filter(
    ([first, ...others]) =>
      first?.kind !== 'fact' || others.length > 0 || !reports.some(({ text }) => text.includes(first.text)),
  )
}

/**
 * The items as text: at most `maxTokens`, the most important ones if not all fit.
 * @returns undefined if there are none
 */
export function stateText(state: WorkingState, maxTokens: number, estimator: Estimator): string | undefined {
  const groups = withoutRepeated(groupsOf(state))
  const all = textOf(
    groups.map((group) => ({ group, line: groupLine(group) })),
    0,
  )
  if (all === undefined || estimator.text(all) <= maxTokens) return all
  for (let limit = maxTokens; limit > 0; limit = Math.floor(limit * 0.95) - 1) {
    const fitting = groupsThatFit(groups, limit, estimator)
    const text = textOf(fitting, groups.length - fitting.length)
    if (text !== undefined && estimator.text(text) <= maxTokens) return text
  }
  return undefined
}

/** The folder that all changed files are in, with its last slash; empty if they have none in common. */
function folderOf(paths: readonly string[]): string {
  const [first = '', ...rest] = paths
  let folder = first.slice(0, first.lastIndexOf('/') + 1)
  while (folder !== '' && !rest.every((path) => path.startsWith(folder)))
    folder = folder.slice(0, folder.slice(0, -1).lastIndexOf('/') + 1)
  return folder.length < LEAST_FOLDER ? '' : folder
}

/** A shorter folder is not worth a heading of its own. */
const LEAST_FOLDER = 8

/** The changed files: their folder once, and then their paths in it. */
function fileLines(groups: readonly GroupLine[]): readonly string[] {
  const folder =
    groups.length < 2 ? '' : folderOf(groups.flatMap(({ group: [first] }) => first?.about ?? first?.text ?? ''))
  if (folder === '') return linesOf(groups)
  return [`In ${folder}:`, ...linesOf(groups.map(({ group, line }) => ({ group, line: line.replace(folder, '') })))]
}

function textOf(lines: readonly GroupLine[], omitted: number): string | undefined {
  if (lines.length === 0) return undefined
  const sections = ITEM_KINDS.flatMap((kind) => {
    const groups = lines.filter((each) => kindOf(each) === kind)
    const entries = kind === 'file' ? fileLines(groups) : linesOf(groups)
    return groups.length === 0 ? [] : [[`### ${HEADINGS[kind]}`, ...entries].join('\n')]
  })
  const note = omitted === 0 ? [] : [`[... ${many(omitted, 'item')} omitted, searchable via memory_read ...]`]
  return [...sections, ...note].join('\n\n')
}

/** The mark between two sentences of a summary without a model that are not adjacent. */
const GAP = ' … '
const SPEAKER = /^[\p{L}\p{N}][\p{L}\p{N} _.()-]{0,39}: (?=\S)/u

/** The lines of a summary that the items do not have already. */
function linesLeft(summary: string, items: string): string {
  const has = (piece: string): boolean => items.includes(piece.replaceAll(/\s+/gu, ' ').trim())
  const lines = summary.split('\n')
  const left = lines.filter(
    (line) => !line.replace(SPEAKER, '').split(GAP).every(has) && !/^\[\d{4}-\d\d-\d\d\]$/u.test(line),
  )
  return left.length === lines.length ? summary : left.join('\n')
}

/** The newest summary has at least this share of the room if it is more than sentences that the items have too. */
const SHARE_OF_SUMMARY = 0.25
/** Fewer characters may be in both by chance. */
const LEAST_PIECE = 24
/** A text of which the items have more pieces than this share was made of the same messages by rules. */
const MOST_SHARED = 0.05

/**
 * Whether a summary consists of sentences of the messages, as the items of the rules do. Only rules give items a subject.
 */
function isExtract(summary: string, { items }: WorkingState): boolean {
  if (items.some(({ about }) => about !== undefined)) return true
  const text = items.map((item) => `${item.text} ${item.reason ?? ''}`).join('\n')
  const pieces = summary
    .split('\n')
    .flatMap((line) => line.replace(SPEAKER, '').split(GAP))
    .flatMap((piece) => piece.split(/(?<=[.!?])\s|(?<=[。！？])/u))
    .map((piece) => piece.trim())
    .filter((piece) => piece.length >= LEAST_PIECE)
  return pieces.filter((piece) => text.includes(piece)).length > pieces.length * MOST_SHARED
}

/** The tokens that the newest summary may have: those that the items leave, or a share if it says more than they do. */
function summaryRoom(state: WorkingState, summary: string, limit: number, estimator: Estimator): number {
  const left = limit - estimator.text(stateText(state, Infinity, estimator) ?? '')
  return Math.max(0, left, isExtract(summary, state) ? 0 : Math.floor(limit * SHARE_OF_SUMMARY))
}

/** The first lines that fit. */
function linesThatFit(text: string, maxTokens: number, estimator: Estimator): string {
  const lines = text.split('\n')
  let left = maxTokens
  const end = lines.findIndex((line) => (left -= estimator.text(`${line}\n`)) < 0)
  return (end === -1 ? lines : lines.slice(0, end)).join('\n')
}

/**
 * The parts of the view. Of the newest summary, the view shows the lines that the items do not have, as far as
 * they fit.
 * @param maxTokens the most that the policy allows
 */
export function workingStateParts(
  batches: readonly Batch[],
  { messagesCompressed, cycles }: { readonly messagesCompressed: number; readonly cycles: number },
  maxTokens: number,
  estimator: Estimator,
): ViewPart[] {
  const last = batches.at(-1)
  const state = last?.workingState ?? NO_STATE
  const summary = last === undefined ? '' : summaryOf(last)
  const limit = Math.max(0, maxTokens - FRAME_TOKENS)
  const alone = stateText(state, limit, estimator) ?? ''
  const room = summaryRoom(state, summary, limit, estimator)
  const left = linesThatFit(linesLeft(summary, alone), room, estimator)
  const text = left === '' ? alone : (stateText(state, Math.max(0, limit - estimator.text(left)), estimator) ?? '')
  return [
    {
      kind: 'line',
      text: `[Context Summary — ${many(messagesCompressed, 'message')} compressed across ${many(cycles, 'compaction cycle')}; r163 is the message at revision 163]`,
    },
    ...(text === ''
      ? []
      : ([
          { kind: 'line', text: '## Working state' },
          { kind: 'batch', batchId: STATE_PART, text },
        ] as const)),
    ...(last === undefined || left === ''
      ? []
      : ([
          { kind: 'line', text: `## Newest summary: ${spanText(last)}` },
          { kind: 'batch', batchId: last.batchId, text: left },
        ] as const)),
  ]
}
