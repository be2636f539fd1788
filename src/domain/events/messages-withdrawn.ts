import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'

export const messagesWithdrawn = defineEvent({
  says: 'messages are said no more: edited, removed, cut off or said in another order; they stay in the log',
  version: 1,
  schema: z.object({
    /** Live until here. They stay in the log, and what came in their place is appended behind. */
    messages: z.array(z.object({ messageId: id, revision })).min(1),
    /** Said anew with other content, taken out, cut off at the end, or said anew in another order. */
    why: z.enum(['edited', 'removed', 'rewound', 'reordered']),
  }),
})
