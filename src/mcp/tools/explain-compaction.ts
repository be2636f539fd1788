import { z } from 'zod'
import { bad } from '../../library/options.js'
import { summaryOf } from '../../domain/conversation/batch.js'
import type { BatchOrigin, Explanation, OriginalMessage } from '../../history/explanation.js'
import {
  cut,
  cutIds,
  cutText,
  manyIds,
  QUOTATION,
  quotation,
  quotedMessage,
  quoteMessage,
  roomOf,
  type Room,
} from '../quotation.js'
import { READS, toolOfConversation, type McpLedger } from '../tool.js'

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
  standIn: z.boolean().optional(),
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
  madeBy: z.string().optional().describe('The other program that made it, where one did'),
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
      left: z.object(manyIds).describe('The messages that left the context'),
      outOfForce: z.object({ type: z.string(), ...recorded }).optional(),
    })
    .optional(),
  batches: z.array(batch),
  message: originalMessage.optional(),
  said: z.array(originalMessage).optional().describe('The messages that say the line, word for word'),
  withdrawnAt: z.string().optional(),
  sources: z
    .array(z.object({ kind: z.enum(['batch', 'message']), id: z.string(), excerpt: z.string() }))
    .optional()
    .describe('The line stands in several places: ask for one of them'),
  shownOnly: z.string().optional().describe('A line that the context shows and nobody recorded'),
  leftOut: z.string().optional(),
})
type Told = z.input<typeof output>

function batchTold(origin: BatchOrigin, most: number): z.input<typeof batch> {
  const { batchId, depth, state, startTime, endTime, messageCount, tokens, cycle, sources, chunk, observed } = origin
  const made = origin.summarizer ?? chunk?.summarizer
  const messageIds = chunk?.messageIds ?? observed?.messageIds
  return {
    batchId,
    depth,
    state,
    startTime,
    endTime,
    messagesCovered: messageCount,
    tokens,
    ...cut(summaryOf(origin), most),
    ...(made === undefined
      ? {}
      : {
          summarizer: {
            strategy: made.strategy,
            provider: made.provider,
            model: made.model,
            prompt: made.prompt,
            requestHash: made.requestHash,
            ...made.usage,
            ...(made.standIn === undefined ? {} : { standIn: made.standIn }),
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

const messageTold = (
  { message, messageId, createdAt, recorded: at }: OriginalMessage,
  most: number,
): z.input<typeof originalMessage> => ({
  ...quoteMessage(message, messageId, most),
  revision: at.revision.toString(),
  createdAt,
  recordedAt: at.recordedAt,
  actor: at.actor,
})

/** Batches, so many as there is room for, and a sentence about those that are left out. */
function batchesTold(
  origins: readonly BatchOrigin[],
  room: Room,
  most: number,
): { batches: z.input<typeof batch>[]; leftOut?: string } {
  const batches = [...room.first(origins.map((origin) => batchTold(origin, most)))]
  if (batches.length === origins.length) return { batches }
  return {
    batches,
    leftOut: `${String(origins.length - batches.length)} more batches, for which there is no room here: ask for a batchId or a cycle`,
  }
}

function explanationTold(explanation: Explanation, room: Room, most: number): Omit<Told, 'quotation'> {
  const { conversationId, kind } = explanation
  switch (kind) {
    case 'view':
      return { conversationId, kind, ...batchesTold(explanation.batches, room, most) }
    case 'batch':
      return {
        conversationId,
        kind,
        ...batchesTold([explanation.batch, ...explanation.batch.sources], room, most),
        ...(explanation.said === undefined
          ? {}
          : { said: [...room.first(explanation.said.map((message) => messageTold(message, most)))] }),
      }
    case 'message': {
      const { message, batch: origin, withdrawn } = explanation
      return {
        conversationId,
        kind,
        message: messageTold(message, most),
        ...batchesTold(origin === undefined ? [] : [origin], room, most),
        ...(withdrawn === undefined ? {} : { withdrawnAt: withdrawn.recordedAt }),
      }
    }
    case 'several':
      return {
        conversationId,
        kind,
        batches: [],
        sources: [
          ...room.first(
            explanation.sources.map((source) => ({
              kind: source.kind,
              id: source.kind === 'batch' ? source.batchId : source.messageId,
              excerpt: cut(source.excerpt, most).text,
            })),
          ),
        ],
      }
    case 'shown-only':
      return { conversationId, kind, batches: [], shownOnly: cut(explanation.text, most).text }
  }
}

type Asked = {
  readonly cycle?: number | undefined
  readonly line?: string | undefined
  readonly batchId?: string | undefined
}

/** What a cycle did, with the batches that came by it. */
export async function cycleTold(
  ledger: Pick<McpLedger, 'diff' | 'explain'>,
  conversationId: string,
  cycle: number,
  most: { readonly text: number; readonly answer: number },
): Promise<Told> {
  const { from, to, messages, batches, cycle: found } = await ledger.diff(conversationId, { cycle })
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
      firstRevision: (from.revision + 1n).toString(),
      lastRevision: to.revision.toString(),
      recordedAt: to.recordedAt,
      tokensBefore: from.tokens,
      tokensAfter: to.tokens,
      left: cutIds(messages.left.map(({ messageId }) => messageId)),
      ...(found?.outOfForce === undefined
        ? {}
        : {
            outOfForce: {
              type: found.outOfForce.type,
              recordedAt: found.outOfForce.recordedAt,
              actor: found.outOfForce.actor,
            },
          }),
    },
    ...batchesTold(origins, roomOf(most.answer), most.text),
  }
}

export const explainCompaction = toolOfConversation(
  {
    name: 'explain_compaction',
    title: 'Why the context is as it is',
    description:
      'Where a summary or a line of the context comes from: which messages, summarized by whom (strategy, model, prompt), in which cycle, and why then. Ask with a cycle, a line or a batchId; with none of them it tells of all that is compacted.',
    annotations: READS,
    input: {
      cycle: z.number().int().min(1).max(1_000_000_000).optional().describe('Number of a compaction cycle, from 1'),
      line: z.string().min(1).max(4_000).optional().describe('Any text that the model saw, or part of one'),
      batchId: z.string().min(1).max(512).optional().describe('Id of a batch, or the beginning of one'),
    },
    output,
  },
  async (asked: Asked, { ledger, conversationId, limits }) => {
    const most = { text: limits.textCharacters, answer: limits.answerCharacters }
    const { cycle, line, batchId } = asked
    if ([cycle, line, batchId].filter((each) => each !== undefined).length > 1)
      throw bad(cycle === undefined ? 'line' : 'cycle', 'goes alone: ask with one of cycle, line and batchId')
    if (cycle !== undefined) return await cycleTold(ledger, conversationId, cycle, most)
    const explanation = await ledger.explain(conversationId, {
      ...(line === undefined ? {} : { line }),
      ...(batchId === undefined ? {} : { batchId }),
    })
    return { quotation: QUOTATION, ...explanationTold(explanation, roomOf(most.answer), most.text) }
  },
)
