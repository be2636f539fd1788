import { z } from 'zod'
import { count as countText, many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { carriedRenamed, carriedWithShape, origin, originUpcasters } from './origin.js'
import { saysNoMore } from './upcast.js'
import { triggerSchema } from './trigger.js'
import { originTexts } from './texts.js'

/** The cycle was started by a limit, or manually. */
const limitSchema = z.object({
  trigger: triggerSchema,
  threshold: count,
  /** The settings that the threshold is computed from. */
  terms: z.object({
    modelMaxTokens: count,
    systemReserve: count,
    outputReserve: count,
    safetyBuffer: count,
    contextBudget: z.number(),
  }),
})

/** Another program compacted: the `CompactionObserved` event before this one has the reason. */
const observedSchema = z.object({ trigger: z.literal('observed') })

// Version 3: contexts of other programs, which an older program would render by its own rules. Version 4: the depth of
// each carried batch. Version 5: the shape of contexts, and the tokens, time span and number of messages of each
// carried batch. Version 6: other names of fields.
export const messagesPruned = defineEvent({
  description:
    'messages were removed from the live context, and archived batches cover them; a checkpoint event, which carries forward the data that the next load needs',
  version: 6,
  activity: 'update',
  label: 'Compaction',
  withoutContent: ['cycle', 'pruned', 'why', 'tokensBefore', 'tokensAfter', 'windowStart', 'contextHash', 'viewHash'],
  texts: originTexts,
  schema: z.object({
    cycle: count.min(1),
    ...origin,
    /**
     * The pruned messages, by the batches that cover them. Empty if another program compacted only messages that are
     * not in its transcript.
     */
    pruned: z.array(z.object({ batchId: id, messageIds: z.array(id).min(1) })),
    why: z.union([limitSchema, observedSchema]),
  }),
  upcasters: { ...originUpcasters, 2: saysNoMore, 3: saysNoMore, 4: carriedWithShape, 5: carriedRenamed },
  describe: ({ cycle, pruned, tokensBefore, tokensAfter, why }) => {
    const removed = pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0)
    const cause = why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit ${countText(why.threshold)}`
    return `cycle ${String(cycle)}: ${many(removed, 'message')} removed, ${countText(tokensBefore)} → ${countText(tokensAfter)} tokens (${cause})`
  },
})
