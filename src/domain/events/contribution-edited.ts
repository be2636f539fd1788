import { z } from 'zod'
import { contentSchema } from '../values/message.js'
import { defineEvent } from './event-definition.js'
import { id, revision, time } from './fields.js'
import { whereSchema } from './source.js'

export const contributionEdited = defineEvent({
  says: 'another program gives its model something else in place of a message from here on: a result that was pruned, masked or shortened; the message stays as it was recorded',
  version: 1,
  schema: z.object({
    messageId: id,
    revision,
    /** What the model is given in its place; null where it is given nothing. */
    content: contentSchema,
    why: z.enum(['pruned', 'masked', 'shortened', 'replaced']),
    at: time.optional(),
    where: whereSchema,
  }),
})
