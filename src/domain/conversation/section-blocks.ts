/**
 * The merged sections in the form of the session-summary view: a heading, and one line for each entry. The headings fit
 * a coding agent (work on files) as well as a dialogue between two people. Pure text.
 */
import type { ViewPart } from './clip-archive.js'
import type { MergedSections, Span } from './merge-sections.js'
import type { Sections } from '../events/index.js'
import { daysText, many, minuteText, omittedText, wholeSpan } from './view-lines.js'
import type { Estimator } from '../values/tokens.js'

/** Cells of a table cannot hold a bar or a line break. */
const cell = (text: string): string =>
  text
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`

type Work = Sections['completedWork'][number]
const fileRow = ({ file, action, description }: Work): string => row([file, action, description])
const actionRow = ({ action, description }: Work): string => row([action, description])
const item = (text: string): string => `- ${text}`
const openItem = (text: string): string => `- [ ] ${text}`

/** Every line in which this view, in any renderer version, shows an entry of a batch's sections. */
export const sectionLines = (sections: Sections): string[] => {
  const { completedWork, openItems, ...lists } = sections
  return [
    ...completedWork.flatMap((work) => [fileRow(work), actionRow(work)]),
    ...Object.values(lists)
      .flat()
      .map((entry) => item(entry.trim())),
    ...openItems.map((entry) => openItem(entry.trim())),
  ]
}

/** One line of a section, with the time of the batch that states it. */
interface Row extends Span {
  readonly text: string
}

/** A section that may be shown in part. */
export interface Block {
  readonly id: string
  /** The heading, and for a table its header lines. */
  readonly heading: string
  readonly frame: readonly string[]
  /** Oldest first. */
  readonly rows: readonly Row[]
  /** Weight relative to the other sections that need more than they get. */
  readonly weight: number
  /** Whether the section gets tokens before the others. */
  readonly isFirst: boolean
  /** Singular and plural noun, for the line that counts omitted entries. */
  readonly noun: readonly [string, string]
}

function workBlock(work: MergedSections['completedWork']): Pick<Block, 'heading' | 'frame' | 'rows'> {
  const hasFiles = work.some(({ file }) => file.trim() !== '')
  const show = hasFiles ? fileRow : actionRow
  return {
    heading: hasFiles ? 'Completed work' : 'Actions and events',
    frame: hasFiles
      ? ['| File | Action | Description |', '| --- | --- | --- |']
      : ['| Action | Description |', '| --- | --- |'],
    rows: work.map((entry) => ({ ...entry, text: show(entry) })),
  }
}

/** The sections in the order in which they are shown. */
export function blocksOf(merged: MergedSections): Block[] {
  const list = (
    id: string,
    heading: string,
    section: keyof Omit<MergedSections, 'completedWork'>,
    weight: number,
    noun: readonly [string, string],
    isFirst = false,
  ): Block => {
    const rows = merged[section].map((entry) => ({
      ...entry,
      text: (section === 'openItems' ? openItem : item)(entry.text),
    }))
    return { id, heading, frame: [], rows, weight, isFirst, noun }
  }
  const asOf = (heading: string, entries: readonly Span[]): string => {
    const span = wholeSpan(entries)
    return span === undefined ? heading : `${heading} (as of ${minuteText(span.endTime)})`
  }
  const earlier = wholeSpan(merged.earlierState)
  const blocks: Block[] = [
    list('requests', 'Requests', 'requests', 4, ['request', 'requests'], true),
    list('constraints', 'Constraints and preferences', 'constraints', 4, ['constraint', 'constraints'], true),
    list('decisions', 'Key decisions', 'decisions', 3, ['decision', 'decisions']),
    list('facts', 'Facts', 'facts', 3, ['fact', 'facts']),
    {
      id: 'completed-work',
      ...workBlock(merged.completedWork),
      weight: 5,
      isFirst: false,
      noun: ['action', 'actions'],
    },
    list('errors', 'Errors and resolutions', 'errors', 2, ['error', 'errors']),
    list('superseded', 'No longer valid', 'superseded', 1, ['superseded statement', 'superseded statements']),
    list(
      'earlier-state',
      `Earlier state${earlier === undefined ? '' : ` (${daysText(earlier)}, may have changed)`}`,
      'earlierState',
      1,
      ['earlier state', 'earlier states'],
    ),
    list('current-state', asOf('Current state', merged.currentState), 'currentState', 3, ['state', 'states']),
    list('open-items', 'Open items', 'openItems', 4, ['open item', 'open items'], true),
    list('next-steps', asOf('Next steps', merged.nextSteps), 'nextSteps', 3, ['next step', 'next steps']),
  ]
  return blocks.filter((block) => block.rows.length > 0)
}

/** The line about rows that are not shown. */
const omittedLine = (rows: readonly Row[], [one, several]: Block['noun']): string =>
  omittedText(many(rows.length, one, several), rows)

/** Tokens of a line with its line break. */
export const costOf = (text: string, estimator: Estimator): number => estimator.text(`${text}\n`)

const headCost = (block: Block, estimator: Estimator): number =>
  costOf(['### ', block.heading, ...block.frame].join('\n'), estimator)

/** Tokens of a section that is shown whole. */
export const needOf = (block: Block, estimator: Estimator): number =>
  block.rows.reduce((sum, { text }) => sum + costOf(text, estimator), headCost(block, estimator))

/** The shown and the omitted rows of a section, both oldest first. */
export interface FittedBlock {
  readonly block: Block
  readonly shownRows: readonly Row[]
  readonly omittedRows: readonly Row[]
  /** Tokens of the shown rows and of the line about omitted ones. */
  readonly tokens: number
}

/** The newest rows that fit. A section without room for a row takes no tokens. */
export function fitBlock(block: Block, maxTokens: number, estimator: Estimator): FittedBlock {
  const need = needOf(block, estimator)
  if (need <= maxTokens) return { block, shownRows: block.rows, omittedRows: [], tokens: need }
  let left = maxTokens - headCost(block, estimator) - costOf(omittedLine(block.rows, block.noun), estimator)
  const fits = new Set<Row>()
  for (const each of block.rows.toReversed()) {
    const cost = costOf(each.text, estimator)
    if (cost > left) continue
    left -= cost
    fits.add(each)
  }
  return {
    block,
    shownRows: block.rows.filter((each) => fits.has(each)),
    omittedRows: block.rows.filter((each) => !fits.has(each)),
    tokens: fits.size === 0 ? 0 : maxTokens - left,
  }
}

/** The parts of a section: its heading, and its rows, which may be shortened together. */
export const blockParts = ({ block, shownRows, omittedRows }: FittedBlock): ViewPart[] => [
  { kind: 'line', text: `### ${block.heading}` },
  {
    kind: 'batch',
    batchId: block.id,
    text: [
      ...(omittedRows.length === 0
        ? []
        : [omittedLine(omittedRows, block.noun), ...(block.frame.length === 0 ? [] : [''])]),
      ...block.frame,
      ...shownRows.map(({ text }) => text),
    ].join('\n'),
  },
]
