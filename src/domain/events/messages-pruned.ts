import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { origin, originUpcasters } from './origin.js'
import { saysNoMore } from './upcast.js'
import { triggerSchema } from './trigger.js'

/** A limit that was reached, or somebody who asked by hand. */
const limitSchema = z.object({
  trigger: triggerSchema,
  threshold: count,
  /** The settings whose product the threshold is. */
  terms: z.object({
    modelMaxTokens: count,
    systemReserve: count,
    outputReserve: count,
    safetyBuffer: count,
    contextBudget: z.number(),
  }),
})

/** Another program did it: the `CompactionObserved` before it says why. */
const observedSchema = z.object({ trigger: z.literal('observed') })

// Version 3 knows contexts that other programs made. An older program would render one by its own rules. Version 4 says
// how deep each batch is that it carries.
export const messagesPruned = defineEvent({
  says: 'messages left the live context, archived batches cover them; closes the books: what the next load needs is carried forward',
  version: 4,
  schema: z.object({
    cycle: count.min(1),
    ...origin,
    /** By the batches that cover them. None where another program compacted what its transcript does not hold. */
    pruned: z.array(z.object({ batchId: id, messageIds: z.array(id).min(1) })),
    why: z.union([limitSchema, observedSchema]),
  }),
  upcasters: { ...originUpcasters, 2: saysNoMore, 3: saysNoMore },
})
