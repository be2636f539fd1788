import { z } from 'zod'
import type { CheckedRule, RuleBreak, RuleVerdict } from '../../../library/ledger.js'
import { QUOTATION, quotation, budgetOf, cut, cutText, type CharacterBudget } from '../quotation.js'
import { checkRules as checkRulesCall } from '../../../schema/calls/rules.js'
import { READS, toolOfConversation } from '../tool.js'

const VERDICTS = ['broken', 'kept', 'unjudged'] as const satisfies readonly RuleVerdict[]
const count = z.number().int()

const ruleBreak = z.object({
  id: z.string(),
  revision: z.string(),
  messageId: z.string(),
  tool: z.string().optional(),
  words: z.string(),
  inContext: z
    .string()
    .describe(
      'Whether the rule was in the context of the model: there, changed by a summary, gone, or unclear (words alone cannot decide)',
    ),
  sinceCompaction: count.optional(),
  failed: z.literal(true).optional(),
  noticedBy: z.string().optional(),
  noticedAtRevision: z.string().optional(),
})
const rule = z.object({
  id: z.string(),
  ...cutText,
  source: z.string(),
  standing: z.string().describe('found by the ledger and not judged by a person, or confirmed'),
  verdict: z.string(),
  calls: count.describe('Calls that were compared with it'),
  unjudged: z.string().optional().describe('Why calls cannot be compared with it'),
  takenBackAtRevision: z.string().optional(),
  breaks: z.array(ruleBreak),
  breaksLeftOut: count,
})

const output = z.object({
  ...quotation,
  conversationId: z.string(),
  totals: z.object({
    rules: count,
    judged: count,
    broken: count,
    breaks: count,
    withoutRule: count.describe('Breaks at which the rule was not, or not whole, in the context'),
  }),
  rules: z.array(rule).describe('Broken ones first'),
  leftOut: z.string().optional(),
})

const quoteBreak = ({ context, noticed, revision, ...found }: RuleBreak): z.input<typeof ruleBreak> => ({
  id: found.id,
  revision: String(revision),
  messageId: found.messageId,
  ...(found.tool === undefined ? {} : { tool: found.tool }),
  words: found.words.toWellFormed(),
  inContext: context.presence,
  ...(context.sinceCycle === undefined ? {} : { sinceCompaction: context.sinceCycle }),
  ...(found.failed === undefined ? {} : { failed: found.failed }),
  ...(noticed === undefined ? {} : { noticedBy: noticed.by, noticedAtRevision: String(noticed.revision) }),
})

function quoteRule(
  { id, text, source, standing, verdict, calls, unjudged, takenBack, breaks }: CheckedRule,
  maxCharacters: number,
  budget: CharacterBudget,
): z.input<typeof rule> | undefined {
  const head = {
    id,
    ...cut(text, maxCharacters),
    source,
    standing,
    verdict,
    calls,
    ...(unjudged === undefined ? {} : { unjudged }),
    ...(takenBack?.revision === undefined ? {} : { takenBackAtRevision: String(takenBack.revision) }),
  }
  if (!budget.take({ ...head, breaks: [], breaksLeftOut: 0 })) return undefined
  const quoted = [...budget.takeFirst(breaks.map(quoteBreak))]
  return { ...head, breaks: quoted, breaksLeftOut: breaks.length - quoted.length }
}

export const checkRules = toolOfConversation(
  {
    name: 'check_rules',
    title: 'Rules of the user, and calls that broke them',
    description:
      'The rules that the user stated in a conversation, in the user’s words, and the tool calls that broke them: for each break the call, whether the rule was in the context of the model at that moment or since which compaction it was gone, and who noticed it. Rules that calls cannot be compared with are listed with the reason. Computed without a model.',
    annotations: READS,
    calls: [checkRulesCall],
    input: {
      verdicts: z
        .array(z.enum(VERDICTS))
        .min(1)
        .max(VERDICTS.length)
        .optional()
        .describe('Only rules with these verdicts. Default: all'),
    },
    output,
  },
  async ({ verdicts }, { ledger, conversationId, limits, signal }) => {
    const found: CheckedRule[] = []
    const { rules, judged, broken, breaks, withoutRule } = await ledger.rules.check(conversationId, {
      onConversation(check) {
        // A long conversation takes seconds: stop if the client has cancelled the call.
        signal.throwIfAborted()
        found.push(...check.rules)
      },
    })
    const chosen = found
      .filter(({ verdict }) => verdicts === undefined || verdicts.includes(verdict))
      .toSorted((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict))
    const budget = budgetOf(limits.answerCharacters)
    const quoted: z.input<typeof rule>[] = []
    for (const each of chosen) {
      const one = quoteRule(each, limits.textCharacters, budget)
      if (one === undefined) break
      quoted.push(one)
    }
    return {
      quotation: QUOTATION,
      conversationId,
      totals: { rules, judged, broken, breaks, withoutRule },
      rules: quoted,
      ...(quoted.length === chosen.length
        ? {}
        : {
            leftOut: `${String(chosen.length - quoted.length)} rules exceed the size of an answer: use verdicts to list fewer`,
          }),
    }
  },
)
