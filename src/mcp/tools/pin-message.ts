import { z } from 'zod'
import { operation, recordedFor, usedBefore } from '../operations.js'
import { RECORDS, toolOfConversation } from '../tool.js'

const NAME = 'pin_message'

const whatOf = (messageId: string): string => `${NAME} of ${messageId}`

export const pinMessage = toolOfConversation(
  {
    name: NAME,
    title: 'Pin a message',
    description:
      'Keeps a live message out of compaction: it stands in every context word for word. Pinned messages may take a quarter of the window together.',
    annotations: RECORDS,
    input: { messageId: z.string().min(1).max(512), ...operation },
    output: z.object({ conversationId: z.string(), messageId: z.string(), pinned: z.literal(true) }),
  },
  ({ messageId, operationId }, { ledger, asking, operations, conversationId }) => {
    const answer = { conversationId, messageId, pinned: true as const }
    return operations.once({
      conversationId,
      operationId,
      what: whatOf(messageId),
      // Somebody may have unpinned it since.
      async recorded() {
        const fact = await recordedFor(ledger, conversationId, operationId, 'MessagePinned')
        if (fact === undefined) return undefined
        if (fact.data.messageId !== messageId) throw usedBefore(operationId, whatOf(fact.data.messageId))
        return answer
      },
      async run() {
        await ledger.pin(conversationId, messageId, { correlationId: operationId, ...asking })
        return answer
      },
    })
  },
)
