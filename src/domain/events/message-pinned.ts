import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const messagePinned = defineEvent({
  description: 'a message is excluded from compaction and shown word for word',
  version: 1,
  texts: NO_TEXTS,
  schema: z.object({ messageId: id, revision }),
})
