import { z } from 'zod'
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { quotation, QUOTATION, budgetOf } from '../quotation.js'
import { READS, toolOfScope } from '../tool.js'

const output = z.object({
  // A client writes the id, and people or programs the title, so all of it is quoted.
  ...quotation,
  conversations: z.array(
    z.object({
      conversationId: z.string(),
      title: z.string().optional(),
      project: z.string().optional(),
      program: z.string().optional(),
      startedAt: z.string(),
      lastMessageAt: z.string().optional(),
      messages: z.number().int(),
      compactions: z.number().int(),
      lost: z.number().int().optional().describe('Items that its compactions lost'),
    }),
  ),
  more: z.boolean().optional().describe('There are more: pass a part of their ids or titles as `match`'),
})

/** Conversations in an answer if `limit` is not set. */
const DEFAULT_LIMIT = 20

export const listConversations = toolOfScope(
  {
    name: 'list_conversations',
    title: 'List conversations',
    description:
      'The conversations that this server can access, most recent message first: their ids, for the other tools, their titles and their lengths.',
    annotations: READS,
    input: {
      match: z
        .string()
        .max(512)
        .optional()
        .describe('A part of the id, the title or the project folder; upper and lower case are equal'),
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
      found
        .slice(0, limit)
        .map(({ conversationId, title, project, program, startedAt, lastMessageAt, messages, compactions, lost }) =>
          withoutUndefined({
            conversationId,
            title,
            project,
            program,
            startedAt,
            lastMessageAt,
            messages,
            compactions,
            lost,
          }),
        ),
    )
    return {
      quotation: QUOTATION,
      conversations: [...conversations],
      ...(conversations.length < found.length ? { more: true } : {}),
    }
  },
)
