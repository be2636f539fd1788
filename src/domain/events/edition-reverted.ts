import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { originUpcasters } from './origin.js'
import { replacement } from './replacement.js'
import { saysNoMore } from './upcast.js'

export const editionReverted = defineEvent({
  says: 'what an edition had replaced is in force again, with all messages that came since; closes the books',
  version: 3,
  schema: z.object({
    /** The edition that is in force no more. */
    editionId: id,
    /** The one that is in force again; absent where the conversation's own batches are. */
    restores: id.optional(),
    /** The fact that had adopted the edition: the batches are those before it. */
    adoptedAt: revision,
    ...replacement,
  }),
  // Version 3 knows that the context may be another program's again.
  upcasters: { ...originUpcasters, 2: saysNoMore },
})
