import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { revision } from './fields.js'

export const editionAdvanced = defineEvent({
  says: 'an edition has seen the conversation up to a revision; what follows was decided on that',
  version: 1,
  schema: z.object({
    /** The edition has seen the conversation's facts up to this one; what follows was decided on them. */
    conversationRevision: revision,
  }),
})
