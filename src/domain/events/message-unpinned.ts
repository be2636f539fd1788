import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const messageUnpinned = defineEvent({
  description: 'a pinned message may be compacted again',
  version: 1,
  texts: NO_TEXTS,
  schema: z.object({ messageId: id, revision }),
})
