/**
 * The working-state view: the items of the working state under a heading for each kind, then the newest summary. Within
 * its limit the most important items are shown, in order; a statement is never shown without the newest one that
 * corrects it. Pure text.
 */
import { summaryOf, type Batch } from './batch.js'
import type { ViewPart } from './clip-archive.js'
import { many, spanText } from './view-lines.js'
import { groupsOf, newestSource, type ItemGroup } from './working-state.js'
import { ITEM_KINDS, NO_STATE, type StateItem, type StateItemKind, type WorkingState } from '../events/index.js'
import type { Estimator } from '../values/tokens.js'

/** The id of the view's part that has the items. */
export const STATE_PART = 'working-state'

const HEADINGS: Readonly<Record<StateItemKind, string>> = {
  rule: 'Rules of the user',
  statement: 'What the user said, oldest first',
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
const LASTING_WEIGHT = 7
/** Approximate tokens of the headings and of the line that counts omitted items. */
const HEADINGS_TOKENS = 60

const sourcesText = ({ sourceRevisions }: StateItem): string => sourceRevisions.map((revision) => `r${String(revision)}`).join(', ')

const wordsOf = ({ text, reason, next, files = [] }: StateItem): string =>
  [
    text.replaceAll(/\s*\n\s*/gu, ' / '),
    ...(reason === undefined ? [] : [`because ${reason}`]),
    ...(next === undefined ? [] : [`next: ${next}`]),
    ...(files.length === 0 || files.every((file) => text.includes(file)) ? [] : [`files: ${files.join(', ')}`]),
  ].join('; ')

/** The line of items that are shown together. `later` precedes a statement that corrects the one before it. */
export const groupLine = (group: ItemGroup): string =>
  `- ${group.map((item, at) => `${at === 0 ? '' : '→ later '}${sourcesText(item)}: ${wordsOf(item)}`).join(' ')}`

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

/** The groups that fit. Of one that does not fit whole, the newest statement alone may. */
function groupsThatFit(groups: readonly ItemGroup[], maxTokens: number, estimator: Estimator): ItemGroup[] {
  let left = maxTokens
  return byImportance(groups).flatMap((group): ItemGroup[] => {
    for (const shown of group.length === 1 ? [group] : [group, group.slice(-1)]) {
      const cost = estimator.text(`${groupLine(shown)}\n`)
      if (cost > left) continue
      left -= cost
      return [shown]
    }
    return []
  })
}

const kindOf = ([first]: ItemGroup): StateItemKind | undefined => first?.kind
const dayOf = (group: ItemGroup): string | undefined => group[0]?.day

/** The lines of one kind, under the day if there are several. */
function linesOf(groups: readonly ItemGroup[]): string[] {
  const ordered = groups.toSorted((a, b) => (a[0]?.sourceRevisions[0] ?? 0) - (b[0]?.sourceRevisions[0] ?? 0))
  const hasDays = new Set(ordered.map(dayOf)).size > 1
  return ordered.flatMap((group, at) => {
    const day = dayOf(group)
    const before = at === 0 ? undefined : dayOf(ordered[at - 1] ?? [])
    return [...(hasDays && day !== undefined && day !== before ? [`[${day}]`] : []), groupLine(group)]
  })
}

/**
 * The items as text: at most `maxTokens`, the most important ones if not all fit.
 * @returns undefined if there are none
 */
export function stateText(state: WorkingState, maxTokens: number, estimator: Estimator): string | undefined {
  const groups = groupsOf(state)
  const all = textOf(groups, 0)
  if (all === undefined || estimator.text(all) <= maxTokens) return all
  for (let room = maxTokens - HEADINGS_TOKENS; room > 0; room = Math.floor(room * 0.9) - 1) {
    const shown = groupsThatFit(groups, room, estimator)
    const text = textOf(shown, groups.length - shown.length)
    if (text !== undefined && estimator.text(text) <= maxTokens) return text
  }
  return undefined
}

function textOf(shown: readonly ItemGroup[], omitted: number): string | undefined {
  if (shown.length === 0) return undefined
  const sections = ITEM_KINDS.flatMap((kind) => {
    const groups = shown.filter((group) => kindOf(group) === kind)
    return groups.length === 0 ? [] : [[`### ${HEADINGS[kind]}`, ...linesOf(groups)].join('\n')]
  })
  const note = omitted === 0 ? [] : [`[... ${many(omitted, 'item')} omitted, searchable via memory_read ...]`]
  return [...sections, ...note].join('\n\n')
}

/** The parts of the view. `maxTokens` limits everything; the newest summary is always shown. */
export function workingStateParts(
  batches: readonly Batch[],
  { messagesCompressed, cycles }: { readonly messagesCompressed: number; readonly cycles: number },
  maxTokens: number,
  estimator: Estimator,
): ViewPart[] {
  const last = batches.at(-1)
  const text = stateText(last?.workingState ?? NO_STATE, Math.max(0, maxTokens - (last?.tokens ?? 0)), estimator)
  return [
    {
      kind: 'line',
      text: `[Context Summary — ${many(messagesCompressed, 'message')} compressed across ${many(cycles, 'compaction cycle')}; r163 is the message at revision 163]`,
    },
    ...(text === undefined
      ? []
      : ([
          { kind: 'line', text: '## Working state' },
          { kind: 'batch', batchId: STATE_PART, text },
        ] as const)),
    ...(last === undefined
      ? []
      : ([
          { kind: 'line', text: `## Newest summary: ${spanText(last)}` },
          { kind: 'batch', batchId: last.batchId, text: summaryOf(last) },
        ] as const)),
  ]
}
