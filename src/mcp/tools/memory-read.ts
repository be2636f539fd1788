import { z } from 'zod'
import { MEMORY_HITS, memoryAnswer, memoryQuerySchema, toolOf } from '../../library/agent-tools.js'
import { MEMORY_READ } from '../../search/read-memory.js'
import { QUOTATION, quotation } from '../quotation.js'
import { READS, toolOfAny } from '../tool.js'

const { query, limit } = memoryQuerySchema.shape

const output = z.object({
  ...quotation,
  hits: z.array(
    z.object({
      conversationId: z.string(),
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
const found = output.omit({ quotation: true }).extend({
  hits: z.array(output.shape.hits.element.extend({ conversationId: z.string().optional() })),
})

/** Room for the conversation's id in each hit. */
const FRAME = 600

export const memoryRead = toolOfAny(
  {
    name: MEMORY_READ,
    title: 'Search what was said',
    description:
      'Searches what was said earlier: summaries and original messages, best first. Of one conversation it finds what is no longer in its context; without a conversation it searches all that this server may see. Use it before you say that you do not remember.',
    annotations: READS,
    input: { query: query.max(4_000), limit },
    output,
  },
  async (asked, { ledger, binding, limits, conversationId }) => {
    const room = {
      hitCharacters: limits.textCharacters,
      answerCharacters: limits.answerCharacters - FRAME,
    }
    if (conversationId !== undefined) {
      const tool = toolOf(ledger.tools(conversationId, room), MEMORY_READ)
      const { hits, leftOut } = found.parse(await tool.call(asked))
      return { quotation: QUOTATION, hits: hits.map((hit) => ({ ...hit, conversationId })), leftOut }
    }
    const { hits } = await ledger.search(asked.query, {
      limit: asked.limit ?? MEMORY_HITS,
      // Without a scope the ledger searches the conversations that name none.
      ...(typeof binding.scope === 'string' ? { scope: binding.scope } : {}),
    })
    return output.parse({ quotation: QUOTATION, ...memoryAnswer(hits, room, true) })
  },
)
