import { z } from 'zod'
import { bad } from '../../../library/options.js'
import { summaryOf } from '../../../domain/conversation/batch.js'
import type { BatchOrigin, Explanation, OriginalMessage } from '../../../application/history/explanation.js'
import {
  cut,
  cutIds,
  cutText,
  manyIds,
  QUOTATION,
  quotation,
  quotedMessage,
  quoteMessage,
  budgetOf,
  type CharacterBudget,
} from '../quotation.js'
import { diff, explain } from '../../../schema/calls/history.js'
import { type ToolLedger, READS, toolOfConversation } from '../tool.js'

const count = z.number().int()
const recorded = { recordedAt: z.string(), actor: z.string() }

const summarizer = z.object({
  strategy: z.string(),
  provider: z.string(),
  model: z.string(),
  prompt: z.object({ name: z.string(), sha256: z.string() }),
  requestHash: z.string(),
  promptTokens: count.optional(),
  completionTokens: count.optional(),
  fallback: z.boolean().optional(),
})

const batch = z.object({
  batchId: z.string(),
  depth: count,
  state: z.enum(['shown', 'active', 'retired']),
  startTime: z.string(),
  endTime: z.string(),
  messagesCovered: count,
  tokens: count,
  ...cutText,
  summarizer: summarizer.optional(),
  cycle: z
    .object({
      cycle: count,
      trigger: z.string(),
      threshold: z.number().optional(),
      tokensBefore: count,
      tokensAfter: count,
      undoneAt: z.string().optional(),
      ...recorded,
    })
    .optional(),
  madeBy: z.string().optional().describe('The other program that made it, if one did'),
  sourceBatchIds: z.array(z.string()),
  covers: z.object(manyIds).optional(),
  missing: z.array(z.string()).optional(),
})

const originalMessage = quotedMessage.extend({ revision: z.string(), createdAt: z.string(), ...recorded })

const output = z.object({
  ...quotation,
  conversationId: z.string(),
  kind: z.enum(['cycle', 'batch', 'message', 'view', 'several', 'shown-only']),
  cycle: z
    .object({
      cycle: count,
      firstRevision: z.string(),
      lastRevision: z.string(),
      recordedAt: z.string(),
      tokensBefore: count,
      tokensAfter: count,
      left: z.object(manyIds).describe('The messages removed from the context'),
      outOfForce: z.object({ type: z.string(), ...recorded }).optional(),
    })
    .optional(),
  batches: z.array(batch),
  message: originalMessage.optional(),
  said: z.array(originalMessage).optional().describe('The messages that contain the line, word for word'),
  withdrawnAt: z.string().optional(),
  sources: z
    .array(z.object({ kind: z.enum(['batch', 'message']), id: z.string(), excerpt: z.string() }))
    .optional()
    .describe('The line occurs in several places: ask for one of them'),
  shownOnly: z.string().optional().describe('A line of the context that was not recorded'),
  leftOut: z.string().optional(),
})
type ExplanationOutput = z.input<typeof output>

function quoteBatch(origin: BatchOrigin, maxCharacters: number): z.input<typeof batch> {
  const { batchId, depth, state, startTime, endTime, messageCount, tokens, cycle, sources, chunk, observed } = origin
  const summarizedBy = origin.summarizer ?? chunk?.summarizer
  const messageIds = chunk?.messageIds ?? observed?.messageIds
  return {
    batchId,
    depth,
    state,
    startTime,
    endTime,
    messagesCovered: messageCount,
    tokens,
    ...cut(summaryOf(origin), maxCharacters),
    ...(summarizedBy === undefined
      ? {}
      : {
          summarizer: {
            strategy: summarizedBy.strategy,
            provider: summarizedBy.provider,
            model: summarizedBy.model,
            prompt: summarizedBy.prompt,
            requestHash: summarizedBy.requestHash,
            ...summarizedBy.usage,
            ...(summarizedBy.fallback === undefined ? {} : { fallback: summarizedBy.fallback }),
          },
        }),
    ...(cycle === undefined
      ? {}
      : {
          cycle: {
            cycle: cycle.cycle,
            trigger: cycle.trigger,
            threshold: cycle.threshold,
            tokensBefore: cycle.tokensBefore,
            tokensAfter: cycle.tokensAfter,
            recordedAt: cycle.recorded.recordedAt,
            actor: cycle.recorded.actor,
            ...(cycle.undone === undefined ? {} : { undoneAt: cycle.undone.recordedAt }),
          },
        }),
    ...(observed === undefined ? {} : { madeBy: observed.program }),
    sourceBatchIds: sources.map((source) => source.batchId),
    ...(messageIds === undefined ? {} : { covers: cutIds(messageIds) }),
    ...(origin.missing.length === 0 ? {} : { missing: cutIds(origin.missing).messageIds }),
  }
}

const quoteOriginal = (
  { message, messageId, createdAt, recorded: at }: OriginalMessage,
  maxCharacters: number,
): z.input<typeof originalMessage> => ({
  ...quoteMessage(message, messageId, maxCharacters),
  revision: at.revision.toString(),
  createdAt,
  recordedAt: at.recordedAt,
  actor: at.actor,
})

/** The batches that fit, and a sentence about the others. */
function quoteBatches(
  origins: readonly BatchOrigin[],
  budget: CharacterBudget,
  maxCharacters: number,
): { batches: z.input<typeof batch>[]; leftOut?: string } {
  const batches = [...budget.takeFirst(origins.map((origin) => quoteBatch(origin, maxCharacters)))]
  if (batches.length === origins.length) return { batches }
  return {
    batches,
    leftOut: `${String(origins.length - batches.length)} more batches exceed the size of an answer: ask for a batchId or a cycle`,
  }
}

function quoteExplanation(
  explanation: Explanation,
  budget: CharacterBudget,
  maxCharacters: number,
): Omit<ExplanationOutput, 'quotation'> {
  const { conversationId, kind } = explanation
  switch (kind) {
    case 'view':
      return { conversationId, kind, ...quoteBatches(explanation.batches, budget, maxCharacters) }
    case 'batch':
      return {
        conversationId,
        kind,
        ...quoteBatches([explanation.batch, ...explanation.batch.sources], budget, maxCharacters),
        ...(explanation.said === undefined
          ? {}
          : { said: [...budget.takeFirst(explanation.said.map((message) => quoteOriginal(message, maxCharacters)))] }),
      }
    case 'message': {
      const { message, batch: origin, withdrawn } = explanation
      return {
        conversationId,
        kind,
        message: quoteOriginal(message, maxCharacters),
        ...quoteBatches(origin === undefined ? [] : [origin], budget, maxCharacters),
        ...(withdrawn === undefined ? {} : { withdrawnAt: withdrawn.recordedAt }),
      }
    }
    case 'several':
      return {
        conversationId,
        kind,
        batches: [],
        sources: [
          ...budget.takeFirst(
            explanation.sources.map((source) => ({
              kind: source.kind,
              id: source.kind === 'batch' ? source.batchId : source.messageId,
              excerpt: cut(source.excerpt, maxCharacters).text,
            })),
          ),
        ],
      }
    case 'shown-only':
      return { conversationId, kind, batches: [], shownOnly: cut(explanation.text, maxCharacters).text }
  }
}

type ExplainArguments = {
  readonly cycle?: number | undefined
  readonly line?: string | undefined
  readonly batchId?: string | undefined
}

/** The effect of a cycle, with the batches that it added. */
export async function quoteCycle(
  ledger: ToolLedger<'diff' | 'explain'>,
  conversationId: string,
  cycle: number,
  limit: { readonly text: number; readonly answer: number },
): Promise<ExplanationOutput> {
  const { from, to, messages, batches, cycle: details } = await ledger.diff(conversationId, { cycle })
  const origins: BatchOrigin[] = []
  for (const { batchId } of batches.came) {
    const explanation = await ledger.explain(conversationId, { batchId })
    if (explanation.kind === 'batch') origins.push(explanation.batch)
  }
  return {
    quotation: QUOTATION,
    conversationId,
    kind: 'cycle',
    cycle: {
      cycle,
      firstRevision: (from.revision + 1).toString(),
      lastRevision: to.revision.toString(),
      recordedAt: to.recordedAt,
      tokensBefore: from.tokens,
      tokensAfter: to.tokens,
      left: cutIds(messages.left.map(({ messageId }) => messageId)),
      ...(details?.outOfForce === undefined
        ? {}
        : {
            outOfForce: {
              type: details.outOfForce.type,
              recordedAt: details.outOfForce.recordedAt,
              actor: details.outOfForce.actor,
            },
          }),
    },
    ...quoteBatches(origins, budgetOf(limit.answer), limit.text),
  }
}

export const explainCompaction = toolOfConversation(
  {
    name: 'explain_compaction',
    title: 'Explain the context',
    description:
      'The source of a summary or of a line of the context: its messages, its summarizer (strategy, model, prompt), its cycle and the reason for the compaction. Pass a cycle, a line or a batchId; without them it explains everything that is compacted.',
    annotations: READS,
    calls: [diff, explain],
    input: {
      cycle: z.number().int().min(1).max(1_000_000_000).optional().describe('Number of a compaction cycle, from 1'),
      line: z.string().min(1).max(4_000).optional().describe('Any text of the context, or part of one'),
      batchId: z.string().min(1).max(512).optional().describe('Id of a batch, or its first characters'),
    },
    output,
  },
  async (args: ExplainArguments, { ledger, conversationId, limits }) => {
    const limit = { text: limits.textCharacters, answer: limits.answerCharacters }
    const { cycle, line, batchId } = args
    if ([cycle, line, batchId].filter((each) => each !== undefined).length > 1)
      throw bad(cycle === undefined ? 'line' : 'cycle', 'cannot be combined: pass one of cycle, line and batchId')
    if (cycle !== undefined) return await quoteCycle(ledger, conversationId, cycle, limit)
    const explanation = await ledger.explain(conversationId, {
      ...(line === undefined ? {} : { line }),
      ...(batchId === undefined ? {} : { batchId }),
    })
    return { quotation: QUOTATION, ...quoteExplanation(explanation, budgetOf(limit.answer), limit.text) }
  },
)
