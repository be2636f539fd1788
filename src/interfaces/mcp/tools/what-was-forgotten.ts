import { z } from 'zod'
import type { ForgottenCycle } from '../../../library/ledger.js'
import { QUOTATION, quotation, budgetOf, type CharacterBudget } from '../quotation.js'
import { diff, forgotten } from '../../../schema/calls/history.js'
import { READS, toolOfConversation } from '../tool.js'

const VERDICTS = ['kept', 'partial', 'lost', 'unknown'] as const
const count = z.number().int()
const verdicts = z.object({ kept: count, partial: count, lost: count, unknown: count })

const item = z.object({
  kind: z.string(),
  text: z.string(),
  verdict: z.enum(VERDICTS),
  messageId: z.string(),
  revision: z.string(),
  mentions: count,
  matters: z.literal(true).optional(),
  neededAtRevision: z.string().optional().describe('The first later message that needed it again'),
})
const repeatedCall = z.object({
  tool: z.string(),
  subject: z.string(),
  firstMessageId: z.string(),
  againMessageId: z.string(),
  tokens: z.number(),
})
const cycle = z.object({
  cycle: count,
  revision: z.string(),
  recordedAt: z.string(),
  program: z.string().optional(),
  strategy: z.string().optional(),
  left: z.object({ messages: count, tokens: count }),
  losses: count.describe('Losses that matter'),
  verdicts,
  items: z.array(item),
  itemsLeftOut: count,
  doneAgain: z.array(repeatedCall),
  doneAgainLeftOut: count,
})

const output = z.object({
  ...quotation,
  conversationId: z.string(),
  totals: z.object({
    cycles: count,
    messages: count,
    tokens: count,
    losses: count,
    verdicts,
    doneAgain: count,
  }),
  cycles: z.array(cycle).describe('Newest first'),
  leftOut: z.string().optional(),
})

function quoteCycle(
  { cycle: number, revision, recordedAt, keys, report }: ForgottenCycle,
  verdictFilter: ReadonlySet<string> | undefined,
  budget: CharacterBudget,
): z.input<typeof cycle> | undefined {
  const sums = { kept: 0, partial: 0, lost: 0, unknown: 0 }
  for (const counts of Object.values(report.counts)) for (const each of VERDICTS) sums[each] += counts[each]
  const head = {
    cycle: number,
    revision: revision.toString(),
    recordedAt,
    ...(keys.program === undefined ? {} : { program: keys.program }),
    ...(keys.strategy === undefined ? {} : { strategy: keys.strategy }),
    left: { messages: report.left.messages, tokens: report.left.tokens },
    losses: report.losses,
    verdicts: sums,
  }
  if (!budget.take({ ...head, items: [], itemsLeftOut: 0, doneAgain: [], doneAgainLeftOut: 0 })) return undefined
  const items = report.items
    .filter(({ verdict, matters }) => (verdictFilter === undefined ? matters === true : verdictFilter.has(verdict)))
    .map(({ kind, text, verdict, said, mentions, matters, neededAt }) => ({
      kind,
      text,
      verdict,
      messageId: said.messageId,
      revision: said.revision,
      mentions,
      ...(matters === undefined ? {} : { matters }),
      ...(neededAt === undefined ? {} : { neededAtRevision: neededAt.revision }),
    }))
  const repeatedCalls = report.doneAgain
    .filter(({ verdict }) => verdict === 'doneAgain')
    .map(({ tool, subject, first, again: repeated, cost }) => ({
      tool,
      subject: subject.slice(0, 200).toWellFormed(),
      firstMessageId: first.messageId,
      againMessageId: repeated.messageId,
      tokens: cost.tokens,
    }))
  const doneAgain = [...budget.takeFirst(repeatedCalls)]
  const fittingItems = [...budget.takeFirst(items)]
  return {
    ...head,
    items: fittingItems,
    itemsLeftOut: items.length - fittingItems.length,
    doneAgain,
    doneAgainLeftOut: repeatedCalls.length - doneAgain.length,
  }
}

export const whatWasForgotten = toolOfConversation(
  {
    name: 'what_was_forgotten',
    title: 'What compactions removed',
    description:
      'What compactions removed from the context, and how much of it their summaries contain. First the losses that matter: rules, refusals, decisions and open work of the user, and what was needed again later; with `verdicts` all items, also files, names and numbers, each kept, partial, lost or unknown (it may be lost), with its message. Also tool calls that were repeated after a compaction. Computed without a model.',
    annotations: READS,
    calls: [diff, forgotten],
    input: {
      cycle: z.number().int().min(1).max(1_000_000_000).optional().describe('Only the cycle with this number, from 1'),
      verdicts: z
        .array(z.enum(VERDICTS))
        .min(1)
        .max(VERDICTS.length)
        .optional()
        .describe('All items with these verdicts. Default: the losses that matter'),
    },
    output,
  },
  async ({ cycle: number, verdicts: verdictFilter }, { ledger, conversationId, limits, signal }) => {
    const found: ForgottenCycle[] = []
    const { totals } = await ledger.forgotten(conversationId, {
      ...(number === undefined ? {} : { cycle: number }),
      onCycle(each) {
        // A long conversation takes seconds: stop if the client has cancelled the call.
        signal.throwIfAborted()
        found.push(each)
      },
    })
    // `diff` throws the error that explains why there is no such cycle.
    if (number !== undefined && found.length === 0) await ledger.diff(conversationId, { cycle: number })
    const budget = budgetOf(limits.answerCharacters)
    const cycles: z.input<typeof cycle>[] = []
    for (const each of found.toReversed()) {
      const quoted = quoteCycle(each, verdictFilter === undefined ? undefined : new Set(verdictFilter), budget)
      if (quoted === undefined) break
      cycles.push(quoted)
    }
    const { all } = totals
    return {
      quotation: QUOTATION,
      conversationId,
      totals: {
        cycles: all.compactions,
        messages: all.left.messages,
        tokens: all.left.tokens,
        losses: all.losses,
        verdicts: all.verdicts,
        doneAgain: all.behind.calls,
      },
      cycles,
      ...(cycles.length === found.length
        ? {}
        : {
            leftOut: `${String(found.length - cycles.length)} older cycles exceed the size of an answer: ask for one of them`,
          }),
    }
  },
)
