import { z } from 'zod'
import { operation, findRecordedEvent, operationIdReused } from '../operations.js'
import { RECORDS, toolOfConversation } from '../tool.js'

const NAME = 'pin_message'

const describePin = (messageId: string): string => `${NAME} of ${messageId}`

export const pinMessage = toolOfConversation(
  {
    name: NAME,
    title: 'Pin a message',
    description:
      'Excludes a live message from compaction: every context contains it word for word. All pinned messages may take a quarter of the window.',
    annotations: RECORDS,
    input: { messageId: z.string().min(1).max(512), ...operation },
    output: z.object({ conversationId: z.string(), messageId: z.string(), pinned: z.literal(true) }),
  },
  ({ messageId, operationId }, { ledger, actorOptions: asking, operations, conversationId }) => {
    const answer = { conversationId, messageId, pinned: true as const }
    return operations.once({
      conversationId,
      operationId,
      description: describePin(messageId),
      // The message may have been unpinned later, so its current state does not show whether the operation ran.
      async findRecorded() {
        const event = await findRecordedEvent(ledger, conversationId, operationId, 'MessagePinned')
        if (event === undefined) return undefined
        if (event.data.messageId !== messageId) throw operationIdReused(operationId, describePin(event.data.messageId))
        return answer
      },
      async run() {
        await ledger.conversation(conversationId).pin(messageId, { correlationId: operationId, ...asking })
        return answer
      },
    })
  },
)
