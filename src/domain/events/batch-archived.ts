import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { batchTexts } from './texts.js'

// Version 2: eleven sections.
export const batchArchived = defineEvent({
  description: 'a summary was archived under its label',
  version: 2,
  texts: batchTexts,
  schema: z.object({
    batchId: id,
    label: id,
    depth: z.literal(0),
    ...span,
    firstRevision: revision,
    lastRevision: revision,
    messageIds: z.array(id).min(1),
    /** Header line and summary, for people and tools that know the format. */
    content: id,
    sections: sectionsSchema.optional(),
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    tokens: count,
    chunkId: id,
  }),
  upcasters: { 1: withSections },
  tokensFromOutside: ({ tokens }) => ({ tokens }),
})
