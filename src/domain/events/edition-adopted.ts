import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { originUpcasters } from './origin.js'
import { replacement } from './replacement.js'

export const editionAdopted = defineEvent({
  says: 'an edition is in force: its batches, its window and its configuration; closes the books',
  version: 2,
  schema: z.object({
    editionId: id,
    /** The edition's last fact, and the conversation's last one that it has seen. */
    editionRevision: revision,
    conversationRevision: revision,
    ...replacement,
  }),
  upcasters: originUpcasters,
})
