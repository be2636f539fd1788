import { z } from 'zod'
import { configurationSchema } from './configuration.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'

export const editionStarted = defineEvent({
  says: 'the same history is compacted again, under this configuration and by this summarizer; first in the stream of an edition, and again when a dropped one is taken up',
  version: 1,
  schema: z.object({
    editionId: id,
    conversationId: id,
    configuration: configurationSchema,
    /** Whose summaries it is made of. */
    summarizer: z.object({ strategy: id, provider: id, model: id }),
    /** The conversation's last fact when it was begun. */
    conversationRevision: revision,
    /**
     * Messages that were pinned then. They are never compacted, though the pin came later than the edition comes to them.
     */
    pinned: z.array(revision),
  }),
})
