/** Prints what compactions lost. */
import { NAMES } from '../../../application/loss-report/foremost.js'
import { ITEM_KINDS, ITEM_NAMES } from '../../../domain/reports/loss-items.js'
import { VERDICTS, VERDICT_NAMES } from '../../../application/loss-report/judged-item.js'
import type { Proof } from '../../../application/loss-report/proofs.js'
import type { ForgottenCycle, ForgottenTotal, ForgottenTotals, JudgedItem } from '../../../library/ledger.js'
import { brief, colours, count, many, printable } from '../output.js'
import { duration } from '../progress.js'
import { table } from '../layout.js'

const TEXT_CHARACTERS = 120

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
    : `  still in the context, revision ${proof.revision}: ${brief(proof.text, TEXT_CHARACTERS)}`
}

const VERDICT_TITLES = VERDICTS.map((verdict) => VERDICT_NAMES[verdict])

const lossColour = (verdict: JudgedItem['verdict']): ((text: string) => string) =>
  verdict === 'lost' ? colours.red : colours.yellow

function lossLines(loss: ForgottenCycle['report']['foremost']['losses'][number]): string[] {
  if (loss.kind === 'repeated')
    return [
      `  ${colours.red('repeated')} ${printable(loss.tool)} ${printable(wholeWords(loss.subject))}: ${costText(loss.cost)}  (revision ${loss.first.revision}, repeated at ${loss.again.revision})`,
    ]
  const { item } = loss
  const needed = item.neededAt === undefined ? '' : `, needed again at ${item.neededAt.revision}`
  return [
    `  ${ITEM_NAMES[item.kind].one} ${lossColour(item.verdict)(VERDICT_NAMES[item.verdict])}: ${printable(wholeText(item))}  (revision ${item.said.revision}${needed})`,
    ...(item.proof === undefined ? [] : [`        ${proofText(item.proof)}`]),
  ]
}

/** A subject that was shortened, without the part of a word at its end. */
const wholeWords = (subject: string): string => subject.replace(/(?<=\s)\S*…$/u, '…')

/** The text of an item, and the sentence around a name. */
const wholeText = ({ kind, text, said }: JudgedItem): string =>
  NAMES.has(kind) && said.text !== text ? `${text} in “${said.text}”` : text

/** Kinds of statements that the context may have in other words. */
const STATEMENTS: ReadonlySet<JudgedItem['kind']> = new Set(['constraint', 'refusal', 'decision', 'statement'])
const MOST_UNSURE = 5

/** Statements of the user of which it is not sure that the summary has them. */
const unsureItems = ({ items }: ForgottenCycle['report']): readonly JudgedItem[] =>
  items.filter(
    ({ kind, verdict, saidBy, matters, takenBackAt }) =>
      STATEMENTS.has(kind) &&
      verdict === 'unknown' &&
      saidBy === 'user' &&
      matters !== true &&
      takenBackAt === undefined,
  )

/** The losses that matter, the statements that may be lost, and the count of the rest. */
function foremostLines(report: ForgottenCycle['report']): string[] {
  const { summary, foremost } = report
  const { losses, more, others } = foremost
  const unsure = summary.kind === 'text' ? unsureItems(report) : []
  const listed = unsure.slice(0, MOST_UNSURE)
  const rest = ITEM_KINDS.flatMap((kind) => {
    const number = (others[kind] ?? 0) - listed.filter((item) => item.kind === kind).length
    return number === 0 ? [] : [`${count(number)} ${number === 1 ? ITEM_NAMES[kind].one : ITEM_NAMES[kind].many}`]
  })
  return [
    ...(losses.length === 0 && summary.kind === 'text'
      ? [`  no ${unsure.length === 0 ? '' : 'certain '}loss that matters was found`]
      : losses.flatMap(lossLines)),
    ...(unsure.length === 0 ? [] : [colours.dim('  the summary may have these in other words:')]),
    ...listed.flatMap((item) => lossLines({ kind: 'item', item })),
    ...(more === 0 ? [] : [`  ${many(more, 'more loss', 'more losses')}; --json lists ${more === 1 ? 'it' : 'them'}`]),
    ...(rest.length === 0
      ? []
      : [colours.dim(`  less important, and lost, partly kept or uncertain: ${rest.join(', ')}; --json lists them`)]),
  ]
}

/** A row for each kind that occurs; no lines if none does. */
function verdictTable(counts: ForgottenTotal['counts']): string[] {
  const kinds = ITEM_KINDS.filter((kind) => VERDICTS.some((verdict) => counts[kind][verdict] > 0))
  if (kinds.length === 0) return []
  return table(
    ['removed content', ...VERDICT_TITLES],
    kinds.map((kind) => [ITEM_NAMES[kind].many, ...VERDICTS.map((verdict) => count(counts[kind][verdict]))]),
    new Set([1, 2, 3, 4]),
  )
}

const costText = ({
  calls,
  tokens,
  milliseconds,
}: Pick<ForgottenTotal['behind'], 'calls' | 'tokens' | 'milliseconds'>): string =>
  `${many(calls, 'tool call')}, ${count(tokens)} tokens${milliseconds < 1_000 ? '' : `, ${duration(milliseconds / 1_000)}`}`

const comparedLine = ({ messages, behind, before }: ForgottenTotal['compared']): string =>
  `  repeated within ${many(messages, 'message')} before: ${costText(before)}; after: ${costText(behind)}`

/** Lines after an empty line, if there are any. */
const block = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : ['', ...lines])

/** The lines for one compaction. */
export function cycleLines({ cycle, revision, keys, report }: ForgottenCycle): string[] {
  const { left, summary, counts, behind, compared } = report
  const origin = [keys.version ?? keys.program, keys.trigger, keys.strategy].filter(
    (each) => each !== undefined && each !== 'unknown',
  )
  const summaryText =
    summary.kind === 'text'
      ? many(summary.lines, 'line')
      : summary.kind === 'opaque'
        ? 'not readable (encrypted, or not in the transcript), so what it keeps is unknown'
        : 'none: nothing replaces these messages in the context; the most important losses are listed'
  return [
    `${colours.bold(`compaction ${String(cycle)}`)}, by ${printable(origin.join(', '))} (revision ${revision.toString()})`,
    `  removed: ${many(left.messages, 'message')}, ${count(left.tokens)} tokens: ${amounts(left.byRole)}`,
    ...(Object.keys(left.byTool).length === 0 ? [] : [`  tool results: ${amounts(left.byTool)}`]),
    `  summary: ${summaryText}`,
    // Without a readable summary all verdicts are equal, so the table is omitted.
    ...block(summary.kind === 'text' ? verdictTable(counts).map((row) => `  ${row}`) : []),
    ...block(foremostLines(report)),
    '',
    `  repeated after the compaction: ${costText(behind)}${behind.unknown === 0 ? '' : `; ${many(behind.unknown, 'call')} could not be compared`}`,
    comparedLine(compared),
    '',
  ]
}

const totalRow = (
  name: string,
  { compactions, left, losses, verdicts, behind, compared }: ForgottenTotal,
): string[] => [
  printable(name),
  count(compactions),
  count(left.tokens),
  count(losses),
  ...VERDICTS.map((verdict) => count(verdicts[verdict])),
  count(behind.calls),
  count(behind.tokens),
  `${count(compared.before.calls)} → ${count(compared.behind.calls)}`,
]

/** The totals of all compactions, by program, version, trigger and strategy. */
export function totalLines({ all, by }: ForgottenTotals): string[] {
  const head = [
    'by',
    'compactions',
    'tokens removed',
    'losses',
    ...VERDICT_TITLES,
    'repeated calls',
    'tokens',
    'repeated, before → after',
  ]
  const rows = Object.entries(by).flatMap(([key, values]) =>
    Object.entries(values)
      .filter(([value]) => value !== 'unknown')
      .map(([value, total]) => totalRow(`${key} ${value}`, total)),
  )
  return [
    ...table(head, [...rows, totalRow('all', all)], new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])),
    ...block(verdictTable(all.counts)),
  ]
}
