import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'

export const messagePinned = defineEvent({
  description: 'a message is excluded from compaction and shown word for word',
  version: 1,
  schema: z.object({ messageId: id, revision }),
})
