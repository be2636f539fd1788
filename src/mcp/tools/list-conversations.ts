import { z } from 'zod'
import { quotation, QUOTATION, budgetOf } from '../quotation.js'
import { READS, toolOfScope } from '../tool.js'

const output = z.object({
  // An id is written by the client that started the conversation, so it is quoted as well.
  ...quotation,
  conversations: z.array(
    z.object({
      conversationId: z.string(),
      messages: z.number().int(),
      cycles: z.number().int(),
      lastRecordedAt: z.string(),
    }),
  ),
  more: z.boolean().optional().describe('There are more: pass a part of their ids as `match`'),
})

/** Conversations in an answer if `limit` is not set. */
const DEFAULT_LIMIT = 20

export const listConversations = toolOfScope(
  {
    name: 'list_conversations',
    title: 'List conversations',
    description:
      'The conversations that this server can access, most recently changed first: their ids, for the other tools, and their lengths.',
    annotations: READS,
    input: {
      match: z.string().max(512).optional().describe('A part of the id; upper and lower case are equal'),
      limit: z
        .number()
        .int()
        .min(1)
        .max(100)
        .optional()
        .describe(`Maximum number. Default: ${String(DEFAULT_LIMIT)}`),
    },
    output,
  },
  async ({ match = '', limit = DEFAULT_LIMIT }, { binding, limits }) => {
    const found = await binding.find(match, limit + 1)
    const conversations = budgetOf(limits.answerCharacters).takeFirst(
      found.slice(0, limit).map(({ conversationId, messages, cycles, lastRecordedAt }) => ({
        conversationId,
        messages,
        cycles,
        lastRecordedAt,
      })),
    )
    return {
      quotation: QUOTATION,
      conversations: [...conversations],
      ...(conversations.length < found.length ? { more: true } : {}),
    }
  },
)
