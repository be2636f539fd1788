import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { summarizerRecordSchema, summarizerRenamed, summaryFromOutside } from './summarizer-record.js'
import { resummarizedTexts } from './texts.js'

// Version 2: eleven sections, and paid answers before the accepted one. Version 3: another name of a field.
export const batchesResummarized = defineEvent({
  description: 'several batches were merged into one, a level deeper',
  version: 3,
  texts: resummarizedTexts,
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
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    tokens: count,
    summarizer: summarizerRecordSchema,
  }),
  upcasters: { 1: withSections, 2: summarizerRenamed },
  ...summaryFromOutside,
})
