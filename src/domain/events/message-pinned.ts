import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'

export const messagePinned = defineEvent({
  says: 'a message stays out of compaction and is shown word for word',
  version: 1,
  schema: z.object({ messageId: id, revision }),
})
