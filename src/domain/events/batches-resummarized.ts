import { z } from 'zod'
import { PLAIN_SPAN, summarizerLine } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { summarizerRecordSchema, summarizerRenamed, summaryFromOutside } from './summarizer-record.js'
import { resummarizedTexts } from './texts.js'

// Version 2: eleven sections, and paid answers before the accepted one. Version 3: another name of a field.
export const batchesResummarized = defineEvent({
  description: 'several batches were merged into one, a level deeper',
  version: 3,
  activity: 'create',
  label: 'Summaries merged',
  withoutContent: ['batchId', 'label', 'sourceBatchIds', 'depth', 'tokens', ...PLAIN_SPAN],
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
  describe: ({ sourceBatchIds, batchId, depth, messageCount, summarizer }) =>
    `${many(sourceBatchIds.length, 'batch', 'batches')} became ${batchId}, depth ${String(depth)}, ${many(messageCount, 'message')}, ${summarizerLine(summarizer)}`,
  describeShortly: ({ sourceBatchIds, messageCount, tokens }) =>
    `${many(sourceBatchIds.length, 'summary', 'summaries')} of ${many(messageCount, 'message')} became one, ${many(tokens, 'token')}`,
})
