/**
 * What an event says that puts other batches and another window into force. It holds all that comes back whole, so that
 * it is understood alone.
 */
import { z } from 'zod'
import { compactionObserved } from './compaction-observed.js'
import { count, id, revision, span } from './fields.js'
import { messageAppended } from './message-appended.js'
import { origin } from './origin.js'
import { sectionsSchema } from './sections.js'

/** An active batch, whole. */
const batchInForce = z.object({
  batchId: id,
  label: id,
  depth: count,
  ...span,
  firstRevision: revision,
  lastRevision: revision,
  content: id,
  sections: sectionsSchema.optional(),
  tokens: count,
  /** The event that recorded it: in the edition's stream where one is named, else in the conversation's. */
  origin: z.object({ editionId: id.optional(), revision }),
})

export const replacement = {
  ...origin,
  /** Cycles that the batches in force took. */
  cycle: count,
  /** The active batches in order. */
  batches: z.array(batchInForce),
  /** Batches that were active and are not any more. */
  retired: z.array(id),
  /** Messages that are live again, in order. */
  restored: z.array(messageAppended.schema.extend({ revision })),
  /** Messages that were live and are covered by the batches now, in order. */
  left: z.array(id),
  /** Where the context is another program's again: the compaction that it goes by, whole. */
  observed: compactionObserved.schema.extend({ revision }).optional(),
}
