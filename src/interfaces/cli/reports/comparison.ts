/** Prints edition comparisons: tables, lists of losses, and the difference of the views. */
import type { Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import type { ComparisonTotals, EditionComparison, EditionComparisons, EditionReport } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
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

/** For each kind: items kept and shown by both sides, lost and gained. */
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
  const evidenceRows =
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
      'total',
      `kept: ${otherName}`,
      'edition',
      'lost',
      'gained',
      `shown: ${otherName}`,
      'edition',
      'lost',
      'gained',
    ],
    [...rows, ...evidenceRows],
    new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]),
  )
}

type LossList = EditionReport['losses'][number]['lost']['kept']

function listLines(title: string, { count: all, items }: LossList, colour: (text: string) => string): string[] {
  if (all === 0) return []
  const mentionsText = (mentions: number): string => (mentions > 1 ? `, in ${many(mentions, 'message')}` : '')
  return [
    `${colour(title)} (${count(all)})`,
    ...items.map(
      ({ text, messageId, mentions }) =>
        `  ${printable(text)} ${colours.dim(`[${printable(messageId)}${mentionsText(mentions)}]`)}`,
    ),
    ...(all > items.length ? [colours.dim(`  … and ${many(all - items.length, 'more', 'more')}`)] : []),
  ]
}

/** Items that only the other side has, then items that only the edition has. */
function namedLosses({ losses, evidence }: EditionReport): string[] {
  const lost = losses.flatMap(({ kind, lost: { kept, shown } }) => [
    ...listLines(`lost ${kind}`, kept, colours.red),
    ...listLines(`${kind} no longer shown`, shown, colours.yellow),
  ])
  const gained = losses.flatMap(({ kind, gained: { kept } }) => listLines(`gained ${kind}`, kept, colours.green))
  const evidenceLines =
    evidence === undefined
      ? []
      : [
          ...listLines('evidence no longer reachable', evidence.lost, colours.red),
          ...listLines('evidence reachable again', evidence.gained, colours.green),
        ]
  return [...lost, ...evidenceLines, ...gained]
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
  titles: Titles,
  otherName: string,
  withView: boolean,
): Promise<void> {
  const known = recorded ? 'recorded' : 'recorded earlier'
  await section(
    `${idWithTitle(conversationId, titles)} ${colours.dim(`as of revision ${String(report.conversationRevision)}, ${known}`)}`,
    asTotals(report),
    otherName,
  )
  await line()
  const named = namedLosses(report)
  for (const text of named.length === 0 ? [colours.green('nothing lost')] : named) await line(text)
  await line()
  if (!withView) return
  const { same, removed, added } = report.viewLines
  if (removed === 0 && added === 0) await line('the views are equal')
  else {
    await line(
      `view: ${many(same, 'line')} unchanged, ${colours.red(`${count(removed)} removed`)}, ${colours.green(`${count(added)} added`)}`,
    )
    for (const text of viewLines(view)) await line(text)
  }
  await line()
}

/** Prints comparisons. `named` is true if the conversations were named on the command line. */
export async function showComparisons(
  { editionId, against, conversations, skipped, totals }: EditionComparisons,
  named: boolean,
  titles: Titles,
): Promise<void> {
  const otherName = against === 'in-force' ? 'active' : against
  // With `--all` the views would be too much text, so only those of named conversations are printed.
  const withView = named || conversations.length === 1
  for (const comparison of conversations) await printOne(comparison, titles, otherName, withView)
  if (conversations.length > 1)
    await section(colours.bold(`${many(conversations.length, 'conversation')} in total`), totals, otherName)
  for (const each of skipped) await line(colours.yellow(`skipped: ${problem(each).message}`))
  if (!withView)
    await line(colours.dim(`\`editions compare ${editionId} CONVERSATION\` shows the difference of the views`))
}
