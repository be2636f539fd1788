import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { triggerSchema } from './trigger.js'

export const compactionCouldNotHelp = defineEvent({
  says: 'the context is at a limit, and nothing may be compacted that would help',
  version: 1,
  schema: z.object({
    reason: z.enum(['recent-messages', 'pinned-and-leading', 'too-little-to-fold', 'open-calls', 'summaries']),
    tokens: count,
    limit: count,
    trigger: triggerSchema,
    /** Messages that it may not compact. */
    messageIds: z.array(id),
  }),
})
