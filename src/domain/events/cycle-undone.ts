import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, revision } from './fields.js'
import { originUpcasters, replacementWithShape } from './origin.js'
import { replacement } from './replacement.js'

// Version 3: the shape of contexts, and batches with eleven sections.
export const cycleUndone = defineEvent({
  description:
    'the last cycles were undone: their messages are live again, and their batches are inactive; a checkpoint event',
  version: 3,
  schema: z.object({
    /** The undone cycles, and the events that had ended them. */
    undone: z.array(z.object({ cycle: count.min(1), revision })).min(1),
    /** The soft limit starts no cycle until the conversation has this many messages. */
    restsUntilMessages: count,
    ...replacement,
  }),
  upcasters: { ...originUpcasters, 2: replacementWithShape },
})
