/** Editions beside each other, as they are shown: tables, lists of what is lost, and the difference of the views. */
import type { ComparisonTotals, EditionComparison, EditionComparisons, EditionReport } from '../../library/ledger.js'
import { problem } from '../../library/problem.js'
import { table } from '../layout.js'
import { colours, count, line, many, printable } from '../output.js'
import { viewLines } from './difference.js'

type Figures = EditionReport['figures']['edition']

const figureNames: Readonly<Record<keyof Figures, string>> = {
  contextTokens: 'tokens of the context',
  viewTokens: 'tokens of the view',
  batches: 'batches',
  depth: 'depth',
  cycles: 'cycles',
  messagesCompressed: 'messages compressed',
  calls: 'summaries bought',
  tokensBought: 'tokens bought',
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the record's own keys
const figureKeys = Object.keys(figureNames) as (keyof Figures)[]

const signed = (value: number): string => (value > 0 ? `+${count(value)}` : value < 0 ? `−${count(-value)}` : '0')

function figureLines({ against, edition }: EditionReport['figures'], otherName: string): string[] {
  const rows = figureKeys.map((key) => [
    figureNames[key],
    count(against[key]),
    count(edition[key]),
    signed(edition[key] - against[key]),
  ])
  return table(['', otherName, 'edition', 'difference'], rows, new Set([1, 2, 3]))
}

/** Kinds with what both sides keep and show of them, and what only one of them does. */
function lossLines(
  losses: ComparisonTotals['losses'],
  evidence: ComparisonTotals['evidence'],
  otherName: string,
): string[] {
  const cells =
    (level: 'kept' | 'shown') =>
    ({ against, edition, lost, gained }: ComparisonTotals['losses'][number]): string[] => [
      count(against[level]),
      count(edition[level]),
      count(lost[level]),
      count(gained[level]),
    ]
  const rows = losses.map((kind) => [kind.kind, count(kind.total), ...cells('kept')(kind), ...cells('shown')(kind)])
  const reached =
    evidence === undefined
      ? []
      : [
          [
            'evidence',
            count(evidence.total),
            count(evidence.against),
            count(evidence.edition),
            count(evidence.lost),
            count(evidence.gained),
            '',
            '',
            '',
            '',
          ],
        ]
  return table(
    [
      '',
      'in all',
      `kept: ${otherName}`,
      'edition',
      'lost',
      'gained',
      `shown: ${otherName}`,
      'edition',
      'lost',
      'gained',
    ],
    [...rows, ...reached],
    new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]),
  )
}

type LossList = EditionReport['losses'][number]['lost']['kept']

function listLines(title: string, { count: all, items }: LossList, paint: (text: string) => string): string[] {
  if (all === 0) return []
  const said = (mentions: number): string => (mentions > 1 ? `, in ${many(mentions, 'message')}` : '')
  return [
    `${paint(title)} (${count(all)})`,
    ...items.map(
      ({ text, messageId, mentions }) =>
        `  ${printable(text)} ${colours.dim(`[${printable(messageId)}${said(mentions)}]`)}`,
    ),
    ...(all > items.length ? [colours.dim(`  … and ${many(all - items.length, 'more', 'more')}`)] : []),
  ]
}

/** What the edition has not, and the other side has; then what only the edition has. */
function namedLosses({ losses, evidence }: EditionReport): string[] {
  const lost = losses.flatMap(({ kind, lost: { kept, shown: seen } }) => [
    ...listLines(`lost ${kind}`, kept, colours.red),
    ...listLines(`${kind} not shown any more`, seen, colours.yellow),
  ])
  const gained = losses.flatMap(({ kind, gained: { kept } }) => listLines(`gained ${kind}`, kept, colours.green))
  const reach =
    evidence === undefined
      ? []
      : [
          ...listLines('evidence out of reach', evidence.lost, colours.red),
          ...listLines('evidence within reach again', evidence.gained, colours.green),
        ]
  return [...lost, ...reach, ...gained]
}

const asTotals = ({
  figures,
  losses,
  evidence,
}: EditionReport): Pick<ComparisonTotals, 'figures' | 'losses' | 'evidence'> => ({
  figures,
  losses: losses.map(({ lost, gained, ...kind }) => ({
    ...kind,
    lost: { kept: lost.kept.count, shown: lost.shown.count },
    gained: { kept: gained.kept.count, shown: gained.shown.count },
  })),
  ...(evidence === undefined
    ? {}
    : { evidence: { ...evidence, lost: evidence.lost.count, gained: evidence.gained.count } }),
})

async function section(
  title: string,
  { figures, losses, evidence }: Pick<ComparisonTotals, 'figures' | 'losses' | 'evidence'>,
  otherName: string,
): Promise<void> {
  await line(title)
  for (const text of figureLines(figures, otherName)) await line(text)
  await line()
  for (const text of lossLines(losses, evidence, otherName)) await line(text)
}

async function printOne(
  { conversationId, report, view, recorded }: EditionComparison,
  otherName: string,
  withView: boolean,
): Promise<void> {
  const known = recorded ? 'recorded' : 'recorded before'
  await section(
    `${colours.bold(printable(conversationId))} ${colours.dim(`as of revision ${String(report.conversationRevision)}, ${known}`)}`,
    asTotals(report),
    otherName,
  )
  await line()
  const named = namedLosses(report)
  for (const text of named.length === 0 ? [colours.green('nothing is lost')] : named) await line(text)
  await line()
  if (!withView) return
  const { same, removed, added } = report.viewLines
  if (removed === 0 && added === 0) await line('the views are the same')
  else {
    await line(
      `the view: ${many(same, 'line')} the same, ${colours.red(`${count(removed)} removed`)}, ${colours.green(`${count(added)} added`)}`,
    )
    for (const text of viewLines(view)) await line(text)
  }
  await line()
}

/** Shows comparisons; `named` where their conversations were asked for by name. */
export async function showComparisons(
  { editionId, against, conversations, skipped, totals }: EditionComparisons,
  named: boolean,
): Promise<void> {
  const otherName = against === 'in-force' ? 'in force' : against
  // The views of a whole ledger are more than anybody reads; those that were asked for by name are shown.
  const withView = named || conversations.length === 1
  for (const comparison of conversations) await printOne(comparison, otherName, withView)
  if (conversations.length > 1)
    await section(colours.bold(`${many(conversations.length, 'conversation')} in all`), totals, otherName)
  for (const each of skipped) await line(colours.yellow(`left out: ${problem(each).message}`))
  if (!withView) await line(colours.dim(`\`editions compare ${editionId} CONVERSATION\` shows how the views differ`))
}
