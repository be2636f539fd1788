import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, revision } from './fields.js'
import { originUpcasters } from './origin.js'
import { replacement } from './replacement.js'

export const cycleUndone = defineEvent({
  says: 'the messages of the last cycles are live again, and what these cycles had made is out of use; closes the books',
  version: 2,
  schema: z.object({
    /** The cycles that were undone, and the facts that they had ended with. */
    undone: z.array(z.object({ cycle: count.min(1), revision })).min(1),
    /** The soft limit starts no cycle before the conversation has so many messages. */
    restsUntilMessages: count,
    ...replacement,
  }),
  upcasters: originUpcasters,
})
