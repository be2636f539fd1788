/**
 * The common data of events that replace the batches and the window. It holds everything that is restored, so that the
 * event can be understood by itself.
 */
import { z } from 'zod'
import { compactionObserved } from './compaction-observed.js'
import { count, id, revision, span } from './fields.js'
import { messageAppended } from './message-appended.js'
import { origin } from './origin.js'
import { sectionsSchema } from './sections.js'
import { workingStateSchema } from './working-state.js'

/** A complete active batch. */
const batchInForce = z.object({
  batchId: id,
  label: id,
  depth: count,
  ...span,
  firstRevision: revision,
  lastRevision: revision,
  content: id,
  sections: sectionsSchema.optional(),
  /** Of the last batch: the working state in force. */
  workingState: workingStateSchema.optional(),
  /** True if the texts were erased. A reader adds it if the key is destroyed. */
  erased: z.literal(true).optional(),
  tokens: count,
  /**
   * The event that recorded the batch: in the edition's stream if `editionId` is present, or else in the
   * conversation's.
   */
  origin: z.object({ editionId: id.optional(), revision }),
})

export const replacement = {
  ...origin,
  /** Number of cycles that produced the batches in force. */
  cycle: count,
  /** The active batches in order. */
  batches: z.array(batchInForce),
  /** Batches that are no longer active. */
  retired: z.array(id),
  /** Messages that are live again, in order. */
  restored: z.array(messageAppended.schema.extend({ revision })),
  /** Messages that were live and are now covered by the batches, in order. */
  left: z.array(id),
  /** Present if another program makes the context again: its complete compaction. */
  observed: compactionObserved.schema.extend({ revision }).optional(),
}
