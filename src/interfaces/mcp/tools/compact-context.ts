import { z } from 'zod'
import { COMPACT_CONTEXT, toolOf } from '../../../library/agent-tools.js'
import { operation } from '../operations.js'
import { RECORDS, toolOfConversation } from '../tool.js'

const result = z.object({
  messagesCompressed: z.number().int(),
  batchesCreated: z.number().int(),
  tokensBefore: z.number().int(),
  tokensAfter: z.number().int(),
  failure: z.string().optional().describe('Why there is no new summary; the context did not change'),
})

export const compactContext = toolOfConversation(
  {
    name: COMPACT_CONTEXT,
    title: 'Compact the context',
    description:
      'Compacts the conversation now if its context has reached its limit: old messages become summaries, and stay searchable with memory_read. Does nothing below the limit.',
    // The summarizer may call the API of a model.
    annotations: { ...RECORDS, openWorldHint: true },
    input: operation,
    output: result.extend({ conversationId: z.string() }),
  },
  ({ operationId }, { ledger, actorOptions: asking, operations, conversationId }) =>
    operations.once({
      conversationId,
      operationId,
      description: COMPACT_CONTEXT,
      async run() {
        const tool = toolOf(ledger.conversation(conversationId, asking).tools.list, COMPACT_CONTEXT)
        return { conversationId, ...result.parse(await tool.call({})) }
      },
    }),
)
