import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, time } from './fields.js'
import { whereSchema } from './source.js'
import { wholeTexts } from './texts.js'

export const conversationObserved = defineEvent({
  description:
    'another program owns this conversation, and later events were read from its transcript: that program makes the context until an edition of the ledger is adopted or a cycle undone',
  version: 1,
  texts: wholeTexts({ title: 'optional', cwd: 'optional' }),
  schema: z.object({
    /** The program's name, as in `import --from`. */
    program: id,
    programVersion: z.string().optional(),
    /** The program's own id of the conversation. */
    sourceId: id,
    /** The parent conversation, by the program's own id and by the ledger's. */
    parent: z
      .object({ sourceId: id, conversationId: id, how: z.enum(['sub-agent', 'fork']), callId: id.optional() })
      .optional(),
    title: z.string().optional(),
    cwd: z.string().optional(),
    startedAt: time.optional(),
    where: whereSchema,
  }),
})
