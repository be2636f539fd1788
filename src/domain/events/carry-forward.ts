/** What the next load needs from before the live window. An origin event carries it forward. */
import { z } from 'zod'
import { contentSchema } from '../values/message.js'
import { configurationSchema } from './configuration.js'
import { count, id, revision } from './fields.js'

export const carryForwardSchema = z.object({
  configuration: configurationSchema,
  messagesCompressed: count,
  /** Messages appended before this event, live ones included. */
  messagesAppended: count,
  /**
   * Messages that were withdrawn before this event; absent before the first. `folded` of them a batch covers: only an
   * edition, which compacts by itself, has such.
   */
  withdrawn: z.object({ messages: count, folded: count }).optional(),
  originalTask: revision.optional(),
  leading: z.array(revision),
  /** Pinned messages, and ones that were unpinned and are not compacted yet, from before the window. */
  kept: z.array(z.object({ revision, pinned: z.boolean() })),
  /**
   * The active batches in order. A prune says how deep each is, since version 4: by depth and place the view chooses
   * what it shows, so that a context needs nothing of the others.
   */
  batches: z.array(z.object({ batchId: id, revision, depth: count.optional() })),
  chunks: z.array(revision),
  /** Calls that were compacted before their result came; a result that comes names the batch. */
  foldedCalls: z.array(z.object({ callId: id, name: z.string(), batchId: id })),
  /**
   * Since when the batches are of another lineage than the one before: the last adoption, reverted adoption or undone
   * cycle. Absent before the first.
   */
  line: z
    .object({
      since: revision,
      /** The edition in force, and the fact that adopted it; absent where the conversation's own batches are. */
      edition: z.object({ editionId: id, adoptedAt: revision }).optional(),
    })
    .optional(),
  /**
   * Present while the context is the one that another program makes: the event that says so, and the last compaction of
   * that program.
   */
  observed: z
    .object({
      since: revision,
      program: id,
      programVersion: z.string().optional(),
      compaction: revision.optional(),
      /** What the model is given in place of messages since then. */
      edits: z.array(z.object({ messageId: id, content: contentSchema })).optional(),
    })
    .optional(),
})
export type CarryForward = z.infer<typeof carryForwardSchema>
