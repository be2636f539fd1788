import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span } from './fields.js'
import { sectionsSchema } from './sections.js'
import { summarizerRecordSchema } from './summarizer-record.js'

export const batchesResummarized = defineEvent({
  says: 'several batches became one, a level deeper',
  version: 1,
  schema: z.object({
    batchId: id,
    label: id,
    sourceBatchIds: z.array(id).min(2),
    depth: count.min(1),
    ...span,
    firstRevision: revision,
    lastRevision: revision,
    content: id,
    sections: sectionsSchema.optional(),
    tokens: count,
    summarizer: summarizerRecordSchema,
  }),
})
