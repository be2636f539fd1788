import { z } from 'zod'
import { quotation, QUOTATION, roomOf } from '../quotation.js'
import { READS, toolOfScope } from '../tool.js'

const output = z.object({
  // Whoever began a conversation wrote its id.
  ...quotation,
  conversations: z.array(
    z.object({
      conversationId: z.string(),
      messages: z.number().int(),
      cycles: z.number().int(),
      lastRecordedAt: z.string(),
    }),
  ),
  more: z.boolean().optional().describe('There are others: ask with `match` for a part of their ids'),
})

/** So many without a limit. */
const USUAL = 20

export const listConversations = toolOfScope(
  {
    name: 'list_conversations',
    title: 'List conversations',
    description:
      'The conversations that this server may see, the one that something happened in last first: their ids, which the other tools take, with how long they are.',
    annotations: READS,
    input: {
      match: z.string().max(512).optional().describe('A part of the id, in capitals or not'),
      limit: z
        .number()
        .int()
        .min(1)
        .max(100)
        .optional()
        .describe(`At most so many. Default: ${String(USUAL)}`),
    },
    output,
  },
  async ({ match = '', limit = USUAL }, { binding, limits }) => {
    const found = await binding.find(match, limit + 1)
    const conversations = roomOf(limits.answerCharacters).first(
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
