import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'

export const messageUnpinned = defineEvent({
  description: 'a pinned message may be compacted again',
  version: 1,
  schema: z.object({ messageId: id, revision }),
})
