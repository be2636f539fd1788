/** The data from before the live window that the next load needs. A checkpoint event carries it forward. */
import { z } from 'zod'
import { contentSchema } from '../values/message.js'
import { configurationSchema } from './configuration.js'
import { count, id, revision, time } from './fields.js'

export const carryForwardSchema = z.object({
  configuration: configurationSchema,
  messagesCompressed: count,
  /** Messages appended before this event, live ones included. */
  messagesAppended: count,
  /**
   * Messages that were withdrawn before this event; absent before the first. `folded` counts those that a batch covers:
   * only an edition, which has its own compactions, can have such.
   */
  withdrawn: z.object({ messages: count, folded: count }).optional(),
  originalTask: revision.optional(),
  leading: z.array(revision),
  /** Pinned messages, and unpinned ones that are not compacted yet, from before the window. */
  kept: z.array(z.object({ revision, pinned: z.boolean() })),
  /**
   * The active batches in order. A prune event records the depth of each since version 4, and the other optional fields
   * since version 5. With them the view chooses the batches to show and describes the others, so a load reads only the
   * shown ones.
   */
  batches: z.array(
    z.object({
      batchId: id,
      revision,
      depth: count.optional(),
      /** Tokens of its summary. */
      tokens: count.optional(),
      startTime: time.optional(),
      endTime: time.optional(),
      messageCount: count.optional(),
    }),
  ),
  chunks: z.array(revision),
  /** Calls that were compacted before their result arrived. A later result names the batch. */
  compactedCalls: z.array(z.object({ callId: id, name: z.string(), batchId: id })),
  /**
   * The start of the current lineage: the last adoption, reverted adoption or undone cycle. Absent in the first
   * lineage.
   */
  lineage: z
    .object({
      since: revision,
      /** The edition in force, and the event that adopted it; absent if the conversation's own batches are in force. */
      edition: z.object({ editionId: id, adoptedAt: revision }).optional(),
    })
    .optional(),
  /**
   * Present while another program makes the context: the event that records this, and the last compaction of that
   * program.
   */
  observed: z
    .object({
      since: revision,
      program: id,
      programVersion: z.string().optional(),
      compaction: revision.optional(),
      /** Content that the program has sent to its model instead of messages since then. */
      edits: z.array(z.object({ messageId: id, content: contentSchema })).optional(),
    })
    .optional(),
})
export type CarryForward = z.infer<typeof carryForwardSchema>
