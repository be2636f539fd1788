/** What conversations came to, as it is shown. */
import type { Cost, ConversationStats, ModelUse, Stats } from '../../library/ledger.js'
import { table } from '../layout.js'
import { colours, count, many, printable } from '../output.js'

const DIGITS = { maximumFractionDigits: 6, minimumFractionDigits: 2 } as const
const money = new Intl.NumberFormat('en-US', DIGITS)

const costText = ({ currency, amount }: Cost): string => `${money.format(amount)} ${currency}`
const costsText = (costs: readonly Cost[]): string => costs.map(costText).join(' + ')

const bought = (stats: Stats): number =>
  stats.models.reduce((sum, use) => sum + use.promptTokens + use.completionTokens, 0)

const chargeText = ({ charge, summaries, estimated }: Stats['models'][number]): string =>
  charge.kind === 'free'
    ? 'no model asked, 0'
    : charge.kind === 'unpriced'
      ? 'no price given'
      : `${costText(charge)}${estimated === 0 ? '' : estimated === summaries ? ', estimated' : ', in part estimated'}`

const usageText = ({ summaries, estimated }: ModelUse): string =>
  `${count(summaries)}${estimated === 0 ? '' : ` (${count(estimated)} estimated)`}`

const kinds = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([kind, times]) => `${printable(kind)} ${count(times)}`)
    .join(', ')

const seconds = (ms: number): string => `${(ms / 1_000).toLocaleString('en-US', { maximumFractionDigits: 1 })} s`

/** What was ever made, and what of it was undone or reverted. The sums of money count all of it. */
function madeText({ made, undone, adopted, reverted }: Stats): string {
  const changes = [
    ...(undone === 0 ? [] : [`${many(undone, 'cycle')} undone`]),
    ...(adopted === 0 ? [] : [`${many(adopted, 'edition')} adopted`]),
    ...(reverted === 0 ? [] : [`${many(reverted, 'adoption')} reverted`]),
  ]
  return `${many(made.cycles, 'cycle')}, ${many(made.batches, 'batch', 'batches')}, ${many(made.resummarizations, 're-summarization')}, editions included; ${changes.length === 0 ? 'nothing was undone, no edition adopted' : changes.join(', ')}`
}

/** Sums for people, a line each. */
export function statsLines(stats: Stats): string[] {
  const { tokensSent, tokensSentUncompacted } = stats
  const share =
    tokensSentUncompacted === 0 ? '' : `, ${(100 * (1 - tokensSent / tokensSentUncompacted)).toFixed(1)} % less`
  const rows = stats.models.map((use) => [
    printable(use.model),
    printable(use.provider),
    usageText(use),
    count(use.promptTokens),
    count(use.completionTokens),
    seconds(use.durationMs),
    chargeText(use),
  ])
  return [
    `messages      ${count(stats.messages)}: ${many(stats.tokensIn, 'token')} in, ${count(stats.tokensOut)} out (by the assistant)`,
    `compaction    ${many(stats.cycles, 'cycle')}, ${many(stats.messagesCompressed, 'message')} compacted into ${many(stats.batches, 'active batch', 'active batches')}`,
    `made in all   ${madeText(stats)}`,
    `tokens saved  ${count(stats.tokensSaved)} at the cycles; over the life ${count(tokensSent)} sent for ${many(stats.answers, 'answer')}, ${count(tokensSentUncompacted)} without compaction${share}`,
    `tokens bought ${count(bought(stats))}${stats.cost.length === 0 ? '' : `: ${costsText(stats.cost)}`}${stats.unpriced.length === 0 ? '' : `${stats.cost.length === 0 ? ': ' : ', and '}no price given for ${stats.unpriced.map(printable).join(', ')}`}`,
    `summarizing   ${seconds(stats.summarizingMs)}${stats.standIns === 0 ? '' : `, ${many(stats.standIns, 'fallback')} to the extractive strategy`}${stats.reused === 0 ? '' : `, ${many(stats.reused, 'summary', 'summaries')} reused at no cost`}`,
    `failures      ${Object.keys(stats.failures).length === 0 ? 'none' : kinds(stats.failures)}${Object.keys(stats.couldNotHelp).length === 0 ? '' : `; could not help: ${kinds(stats.couldNotHelp)}`}`,
    ...(rows.length === 0
      ? []
      : [
          '',
          ...table(
            ['model', 'provider', 'summaries', 'tokens asked', 'answered', 'time', 'cost'],
            rows,
            new Set([2, 3, 4, 5]),
          ),
        ]),
    ...(stats.models.some(({ estimated }) => estimated > 0)
      ? [
          colours.dim(
            'estimated: the model reported no usage; counted are the messages sent and the summary, by our estimate, without the prompt’s own text',
          ),
        ]
      : []),
  ]
}

/** A conversation in one line: it is printed as soon as it is counted, so columns have a width of their own. */
export function conversationLine(stats: ConversationStats): string {
  const failures = Object.values(stats.failures).reduce((sum, times) => sum + times, 0)
  const cells = [
    many(stats.messages, 'message'),
    many(stats.cycles, 'cycle'),
    ...(stats.undone === 0 ? [] : [`${count(stats.undone)} undone`]),
    `${count(bought(stats))} tokens bought`,
    `${count(stats.tokensSaved)} saved`,
    ...(stats.cost.length === 0 ? [] : [costsText(stats.cost)]),
    ...(failures === 0 ? [] : [many(failures, 'failure')]),
  ]
  return `${colours.bold(printable(stats.conversationId))} ${cells.join(', ')}`
}

const weightOf = (stats: Stats): number => bought(stats) * 1e6 + stats.tokensIn + stats.tokensOut

/** The so many that took the most, of all that were offered: no more than twice as many are held at a time. */
export class Foremost {
  private kept: ConversationStats[] = []
  constructor(private readonly limit: number) {}

  offer(stats: ConversationStats): void {
    this.kept.push(stats)
    if (this.kept.length > 2 * this.limit) this.kept = this.all()
  }

  all(): ConversationStats[] {
    return this.kept.toSorted((a, b) => weightOf(b) - weightOf(a)).slice(0, this.limit)
  }
}
