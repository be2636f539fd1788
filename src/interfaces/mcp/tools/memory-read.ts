import { z } from 'zod'
import { MEMORY_HITS, memoryAnswer, memoryQuerySchema, toolOf } from '../../../library/agent-tools.js'
import { MEMORY_READ } from '../../../application/search/read-memory.js'
import { titlesOf } from '../../../library/titles.js'
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { QUOTATION, quotation } from '../quotation.js'
import { search } from '../../../schema/calls/conversations.js'
import { READS, toolOfAny } from '../tool.js'

const { query, limit } = memoryQuerySchema.shape

const output = z.object({
  ...quotation,
  hits: z.array(
    z.object({
      conversationId: z.string(),
      title: z.string().optional(),
      batchId: z.string().nullable(),
      messageIds: z.array(z.string()),
      messages: z.number().int().optional(),
      startTime: z.string(),
      endTime: z.string(),
      text: z.string(),
    }),
  ),
  leftOut: z.string().optional(),
})
const toolAnswer = output.omit({ quotation: true }).extend({
  hits: z.array(output.shape.hits.element.extend({ conversationId: z.string().optional() })),
})

/** Characters reserved for the conversation ids and titles in the hits. */
const ID_CHARACTERS = 1_200

export const memoryRead = toolOfAny(
  {
    name: MEMORY_READ,
    title: 'Search earlier messages',
    description:
      'Searches earlier messages: summaries and original messages, best match first. In one conversation it finds messages that are no longer in its context; without a conversation it searches all that this server can access. Use it before you say that you do not remember.',
    annotations: READS,
    calls: [search],
    input: { query: query.max(4_000), limit },
    output,
  },
  async (args, { ledger, binding, limits, conversationId }) => {
    const size = {
      hitCharacters: limits.textCharacters,
      answerCharacters: limits.answerCharacters - ID_CHARACTERS,
    }
    if (conversationId !== undefined) {
      const tool = toolOf(ledger.conversation(conversationId, size).tools.list, MEMORY_READ)
      const { hits, leftOut } = toolAnswer.parse(await tool.call(args))
      return { quotation: QUOTATION, hits: hits.map((hit) => ({ ...hit, conversationId })), leftOut }
    }
    const { hits } = await ledger.search(args.query, {
      limit: args.limit ?? MEMORY_HITS,
      // Without a scope the ledger searches the conversations without a scope.
      ...(typeof binding.scope === 'string' ? { scope: binding.scope } : {}),
    })
    const answer = output.parse({ quotation: QUOTATION, ...memoryAnswer(hits, size, true) })
    const titles = await titlesOf(
      ledger,
      answer.hits.map((hit) => hit.conversationId),
    )
    return {
      ...answer,
      hits: answer.hits.map((hit) => withoutUndefined({ ...hit, title: titles.get(hit.conversationId) })),
    }
  },
)
