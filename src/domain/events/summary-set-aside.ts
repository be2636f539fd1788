import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { sectionsSchema } from './sections.js'
import { summarizerRecordSchema } from './summarizer-record.js'

/** Of a chunk of messages, or of batches: one of the two lists is there. */
export const summarySetAside = defineEvent({
  says: 'a summary that was paid for came too late: what it is of was compacted meanwhile; it is found again where the same is asked for, and waits to be archived once its messages are live again',
  version: 1,
  schema: z.object({
    messageIds: z.array(id).min(1).optional(),
    sourceBatchIds: z.array(id).min(2).optional(),
    /** The chunk whose summary was its background. */
    continues: z.string().optional(),
    summary: id,
    sections: sectionsSchema.optional(),
    summarizer: summarizerRecordSchema,
  }),
})
