/** Prints statistics of conversations. */
import type { Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { costsText, costWords, modelTokens } from '../../../domain/text/cost.js'
import type {
  ConversationStats,
  GroupTotals,
  ModelUse,
  Stats,
  TotalGroup,
  UsageTotals,
} from '../../../library/ledger.js'
import { table } from '../layout.js'
import { colours, count, many, printable } from '../output.js'

const tokensSpent = (stats: Stats): number =>
  stats.models.reduce((sum, use) => sum + use.promptTokens + use.completionTokens, 0)

const chargeText = ({ charge, summaries, estimated }: Stats['models'][number]): string =>
  charge.kind === 'free'
    ? 'no model used, 0'
    : charge.kind === 'unpriced'
      ? 'no price'
      : `${costsText([charge])}${charge.asOf === undefined ? '' : `, price of ${charge.asOf}`}${estimated === 0 ? '' : estimated === summaries ? ', estimated' : ', partly estimated'}`

const usageText = ({ summaries, estimated }: ModelUse): string =>
  `${count(summaries)}${estimated === 0 ? '' : ` (${count(estimated)} estimated)`}`

const kinds = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([kind, times]) => `${printable(kind)} ${count(times)}`)
    .join(', ')

const seconds = (ms: number): string => `${(ms / 1_000).toLocaleString('en-US', { maximumFractionDigits: 1 })} s`

/** Everything ever created, and how much was undone or reverted. Costs include all of it. */
function madeText({ made, undone, adopted, reverted }: Stats): string {
  const changes = [
    ...(undone === 0 ? [] : [`${many(undone, 'cycle')} undone`]),
    ...(adopted === 0 ? [] : [`${many(adopted, 'edition')} adopted`]),
    ...(reverted === 0 ? [] : [`${many(reverted, 'adoption')} reverted`]),
  ]
  return `${many(made.cycles, 'cycle')}, ${many(made.batches, 'batch', 'batches')}, ${many(made.resummarizations, 're-summarization')}, including editions; ${changes.length === 0 ? 'nothing undone, no edition adopted' : changes.join(', ')}`
}

/** The totals, one per line. */
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
    `messages      ${count(stats.messages)}: ${many(stats.tokensIn, 'input token')}, ${count(stats.tokensOut)} output tokens (assistant)`,
    `compaction    ${many(stats.cycles, 'cycle')}, ${many(stats.messagesCompressed, 'message')} compacted into ${many(stats.batches, 'active batch', 'active batches')}${stats.unknownSummaries === 0 ? '' : `; ${many(stats.unknownSummaries, 'summary is', 'summaries are')} unknown (encrypted, or not in the transcript), so the tokens saved and sent lack them`}`,
    `all time      ${madeText(stats)}`,
    `tokens saved  ${count(stats.tokensSaved)} by the cycles; ${count(tokensSent)} sent for ${many(stats.answers, 'answer')} instead of ${count(tokensSentUncompacted)} without compaction${share}`,
    `tokens spent  ${count(tokensSpent(stats))}${stats.cost.length === 0 ? '' : `: ${costsText(stats.cost)}`}${stats.unpriced.length === 0 ? '' : `${stats.cost.length === 0 ? ': ' : ', and '}no price for ${stats.unpriced.map(printable).join(', ')}`}`,
    `summarizing   ${seconds(stats.summarizingMs)}${stats.fallbacks === 0 ? '' : `, ${many(stats.fallbacks, 'fallback')} to the extractive strategy`}${stats.reused === 0 ? '' : `, ${many(stats.reused, 'summary', 'summaries')} reused at no cost`}`,
    `failures      ${Object.keys(stats.failures).length === 0 ? 'none' : kinds(stats.failures)}${Object.keys(stats.couldNotHelp).length === 0 ? '' : `; could not reduce enough: ${kinds(stats.couldNotHelp)}`}`,
    ...(stats.unreadable === 0
      ? []
      : [
          `not recorded  ${many(stats.unreadable, 'record or answer', 'records and answers')} that cannot be read: \`log\` has the reasons (TranscriptDamaged)`,
        ]),
    ...(rows.length === 0
      ? []
      : [
          '',
          ...table(
            ['model', 'provider', 'summaries', 'prompt tokens', 'completion tokens', 'time', 'cost'],
            rows,
            new Set([2, 3, 4, 5]),
          ),
        ]),
    ...(stats.models.some(({ estimated }) => estimated > 0)
      ? [
          colours.dim(
            'estimated: the model reported no usage, so the tokens of the messages and the summary were estimated, without the prompt template',
          ),
        ]
      : []),
  ]
}

/** A conversation in one line. It is printed as soon as it is counted, so it is not part of a table. */
export function conversationLine(stats: ConversationStats, titles: Titles): string {
  const failures = Object.values(stats.failures).reduce((sum, times) => sum + times, 0)
  const cells = [
    many(stats.messages, 'message'),
    many(stats.cycles, 'cycle'),
    ...(stats.undone === 0 ? [] : [`${count(stats.undone)} undone`]),
    `${count(tokensSpent(stats))} tokens spent`,
    `${count(stats.tokensSaved)} saved`,
    ...(stats.cost.length === 0 ? [] : [costsText(stats.cost)]),
    ...(failures === 0 ? [] : [many(failures, 'failure')]),
    ...(stats.unreadable === 0 ? [] : [`${count(stats.unreadable)} not readable`]),
  ]
  return `${idWithTitle(stats.conversationId, titles)} ${cells.join(', ')}`
}

const weightOf = (stats: Stats): number => tokensSpent(stats) * 1e6 + stats.tokensIn + stats.tokensOut

/** Keeps the `limit` conversations that spent the most tokens, with at most twice as many in memory. */
export class TopConversations {
  private candidates: ConversationStats[] = []
  constructor(private readonly limit: number) {}

  offer(stats: ConversationStats): void {
    this.candidates.push(stats)
    if (this.candidates.length > 2 * this.limit) this.candidates = this.all()
  }

  all(): ConversationStats[] {
    return this.candidates.toSorted((a, b) => weightOf(b) - weightOf(a)).slice(0, this.limit)
  }
}

const NAMES: Readonly<Record<TotalGroup, (group: GroupTotals) => string>> = {
  program: ({ program = '(none)' }) => printable(program),
  project: ({ project = '(none)' }) => printable(project),
}

/** The totals of each group and of all. */
export function totalsLines({ groups, groupCount, total }: UsageTotals, by: readonly TotalGroup[]): string[] {
  const figures = (totals: Omit<GroupTotals, TotalGroup>): string[] => [
    count(totals.conversations),
    count(totals.messages),
    count(totals.tokens),
    count(modelTokens(totals)),
    printable(costWords(totals)),
  ]
  const rows = groups.map((group) => [...by.map((name) => NAMES[name](group)), ...figures(group)])
  const head = [...by, 'conversations', 'messages', 'message tokens', 'model tokens', 'cost']
  const numbers = new Set([0, 1, 2, 3].map((at) => by.length + at))
  return [
    ...table(head, [...rows, [...by.map((_name, at) => (at === 0 ? 'total' : '')), ...figures(total)]], numbers),
    ...(groupCount > groups.length ? [colours.dim(`${count(groupCount - groups.length)} more: raise --limit`)] : []),
    ...(total.cost.length === 0
      ? []
      : [
          colours.dim(
            'model tokens: as the programs and models reported them; cost: as reported, else by list prices or --prices',
          ),
        ]),
  ]
}
