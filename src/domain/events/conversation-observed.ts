import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, time } from './fields.js'
import { whereSchema } from './source.js'

export const conversationObserved = defineEvent({
  says: 'another program holds this conversation, and what follows was read from its transcript: the context is the one that the program made, until an edition of ours is adopted or a cycle undone',
  version: 1,
  schema: z.object({
    /** By the name that `import --from` takes. */
    program: id,
    programVersion: z.string().optional(),
    /** The program's own id of the conversation. */
    sourceId: id,
    /** The conversation that this one comes from, by the program's own id and by ours. */
    parent: z
      .object({ sourceId: id, conversationId: id, how: z.enum(['sub-agent', 'fork']), callId: id.optional() })
      .optional(),
    title: z.string().optional(),
    cwd: z.string().optional(),
    startedAt: time.optional(),
    where: whereSchema,
  }),
})
