/** What compactions forgot, for people. */
import { ITEM_KINDS, ITEM_NAMES } from '../../domain/reports/forgotten/items.js'
import type { Proof } from '../../domain/reports/forgotten/quote.js'
import type { ForgottenCycle, ForgottenTotal, ForgottenTotals, JudgedItem } from '../../library/ledger.js'
import { brief, colours, count, many, printable } from '../output.js'
import { duration } from '../progress.js'
import { table } from '../layout.js'

/** Items of a kind that are shown one by one. */
const ITEMS_SHOWN = 5
const TEXT_CHARACTERS = 120
const VERDICTS = ['kept', 'blurred', 'gone', 'unknown'] as const

const amounts = (all: Readonly<Record<string, { readonly messages: number; readonly tokens: number }>>): string =>
  Object.entries(all)
    .toSorted(([, a], [, b]) => b.tokens - a.tokens)
    .slice(0, 6)
    .map(([name, { messages, tokens }]) => `${printable(name)} ${count(messages)} (${count(tokens)} tokens)`)
    .join(', ')

const proofText = (proof: Proof | undefined): string => {
  if (proof === undefined) return ''
  return proof.kind === 'summary'
    ? `  summary line ${String(proof.line)}: ${brief(proof.text, TEXT_CHARACTERS)}`
    : `  still there, revision ${proof.revision}: ${brief(proof.text, TEXT_CHARACTERS)}`
}

/** What is gone, or blurred, of a kind. */
function itemLines(items: readonly JudgedItem[], verdict: 'gone' | 'blurred'): string[] {
  const mark = verdict === 'gone' ? colours.red('gone') : colours.yellow('blurred')
  return ITEM_KINDS.flatMap((kind) => {
    const found = items.filter((item) => item.kind === kind && item.verdict === verdict)
    const shown = found
      .slice(0, ITEMS_SHOWN)
      .flatMap((item) => [
        `  ${mark} ${ITEM_NAMES[kind]}: ${brief(item.text, TEXT_CHARACTERS)}  (revision ${item.said.revision})`,
        ...(item.proof === undefined ? [] : [`        ${proofText(item.proof)}`]),
      ])
    return found.length > ITEMS_SHOWN
      ? [...shown, `  ${mark} ${ITEM_NAMES[kind]}: ${count(found.length - ITEMS_SHOWN)} more (--json has them)`]
      : shown
  })
}

const verdictTable = (counts: ForgottenTotal['counts']): string[] =>
  table(
    ['what the messages said', ...VERDICTS],
    ITEM_KINDS.filter((kind) => VERDICTS.some((verdict) => counts[kind][verdict] > 0)).map((kind) => [
      ITEM_NAMES[kind],
      ...VERDICTS.map((verdict) => count(counts[kind][verdict])),
    ]),
    new Set([1, 2, 3, 4]),
  )

const costText = ({ calls, tokens, milliseconds }: ForgottenTotal['behind']): string =>
  `${many(calls, 'call')}, ${count(tokens)} tokens${milliseconds < 1_000 ? '' : `, ${duration(milliseconds / 1_000)}`}`

const comparedLine = ({ messages, behind, before }: ForgottenTotal['compared']): string =>
  `  over ${many(messages, 'message')} each: ${costText(behind)} behind the compaction, ${costText(before)} before it`

/** One compaction. */
export function cycleLines({ conversationId, cycle, revision, keys, report }: ForgottenCycle): string[] {
  const { left, summary, counts, items, doneAgain, behind, compared } = report
  const who = [keys.version ?? keys.program, keys.trigger, keys.strategy].filter((each) => each !== undefined)
  const again = doneAgain.filter(({ verdict }) => verdict === 'doneAgain')
  const ofSummary =
    summary.kind === 'text'
      ? many(summary.lines, 'line')
      : summary.kind === 'opaque'
        ? 'only its provider reads it, so what it has is unknown'
        : 'none'
  return [
    `${colours.bold(`cycle ${String(cycle)}`)} of ${printable(conversationId)} at revision ${revision.toString()}, by ${printable(who.join(', '))}`,
    `  left: ${many(left.messages, 'message')}, ${count(left.tokens)} tokens: ${amounts(left.byRole)}`,
    ...(Object.keys(left.byTool).length === 0 ? [] : [`  results of ${amounts(left.byTool)}`]),
    `  summary: ${ofSummary}`,
    '',
    ...verdictTable(counts).map((row) => `  ${row}`),
    '',
    ...itemLines(items, 'gone'),
    ...itemLines(items, 'blurred'),
    '',
    `  done again behind it: ${costText(behind)}${behind.unknown === 0 ? '' : `; of ${many(behind.unknown, 'more call')} it is not known`}`,
    comparedLine(compared),
    ...again
      .slice(0, ITEMS_SHOWN)
      .map(
        ({ tool, subject, first, again: second }) =>
          `    ${printable(tool)} ${brief(subject, TEXT_CHARACTERS)}: revision ${first.revision}, again at ${second.revision}`,
      ),
    ...(again.length > ITEMS_SHOWN ? [`    ${count(again.length - ITEMS_SHOWN)} more (--json has them)`] : []),
    '',
  ]
}

const totalRow = (name: string, { compactions, left, verdicts, behind, compared }: ForgottenTotal): string[] => [
  printable(name),
  count(compactions),
  count(left.tokens),
  ...VERDICTS.map((verdict) => count(verdicts[verdict])),
  count(behind.calls),
  count(behind.tokens),
  `${count(compared.before.calls)} → ${count(compared.behind.calls)}`,
]

/** What compactions add up to, by who did them. */
export function totalLines({ all, by }: ForgottenTotals): string[] {
  const head = [
    'by',
    'compactions',
    'tokens left',
    ...VERDICTS,
    'done again',
    'tokens',
    'same stretch, before → behind',
  ]
  const rows = Object.entries(by).flatMap(([key, values]) =>
    Object.entries(values)
      .filter(([value]) => value !== 'unknown')
      .map(([value, total]) => totalRow(`${key} ${value}`, total)),
  )
  return [
    ...table(head, [...rows, totalRow('all', all)], new Set([1, 2, 3, 4, 5, 6, 7, 8, 9])),
    '',
    ...verdictTable(all.counts),
  ]
}
