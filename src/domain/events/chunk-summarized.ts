import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id, revision, span } from './fields.js'
import { sectionsSchema } from './sections.js'
import { summarizerRecordSchema } from './summarizer-record.js'

export const chunkSummarized = defineEvent({
  says: 'a chunk of messages has a summary; by which strategy, model and prompt, and what it cost',
  version: 1,
  schema: z.object({
    chunkId: id,
    messageIds: z.array(id).min(1),
    firstRevision: revision,
    lastRevision: revision,
    ...span,
    /** The chunk whose summary was its background. */
    continues: z.string().optional(),
    summary: id,
    sections: sectionsSchema.optional(),
    summarizer: summarizerRecordSchema,
  }),
})
