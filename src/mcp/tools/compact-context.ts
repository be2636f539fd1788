import { z } from 'zod'
import { COMPACT_CONTEXT, toolOf } from '../../library/agent-tools.js'
import { operation } from '../operations.js'
import { RECORDS, toolOfConversation } from '../tool.js'

const done = z.object({
  messagesCompressed: z.number().int(),
  batchesCreated: z.number().int(),
  tokensBefore: z.number().int(),
  tokensAfter: z.number().int(),
  failure: z.string().optional().describe('Why no summary was made; the context is as it was'),
})

export const compactContext = toolOfConversation(
  {
    name: COMPACT_CONTEXT,
    title: 'Compact the context',
    description:
      'Compacts the conversation at once where its context is at its limit: old messages become summaries, and stay searchable by memory_read. Does nothing while there is room.',
    // A summarizer may be a model behind somebody’s API.
    annotations: { ...RECORDS, openWorldHint: true },
    input: operation,
    output: done.extend({ conversationId: z.string() }),
  },
  ({ operationId }, { ledger, asking, operations, conversationId }) =>
    operations.once({
      conversationId,
      operationId,
      what: COMPACT_CONTEXT,
      async run() {
        const tool = toolOf(ledger.tools(conversationId, asking), COMPACT_CONTEXT)
        return { conversationId, ...done.parse(await tool.call({})) }
      },
    }),
)
