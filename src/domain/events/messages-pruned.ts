import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { origin, originUpcasters } from './origin.js'
import { triggerSchema } from './trigger.js'

const whySchema = z.object({
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

export const messagesPruned = defineEvent({
  says: 'messages left the live context, archived batches cover them; closes the books: what the next load needs is carried forward',
  version: 2,
  schema: z.object({
    cycle: count.min(1),
    ...origin,
    pruned: z.array(z.object({ batchId: id, messageIds: z.array(id).min(1) })).min(1),
    why: whySchema,
  }),
  upcasters: originUpcasters,
})
