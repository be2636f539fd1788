import { z } from 'zod'
import { PLAIN_SPAN, short, spanOf, summarizerLine } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { id, revision, span } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { summarizerRecordSchema, summarizerRenamed, summaryFromOutside } from './summarizer-record.js'
import { chunkTexts } from './texts.js'

// Version 2: eleven sections, and paid answers before the accepted one. Version 3: another name of a field.
export const chunkSummarized = defineEvent({
  description: 'a chunk of messages was summarized; with strategy, model, prompt and cost',
  version: 3,
  activity: 'create',
  label: 'Summary written',
  withoutContent: ['chunkId', 'messageIds', 'continues', ...PLAIN_SPAN],
  texts: chunkTexts,
  schema: z.object({
    chunkId: id,
    messageIds: z.array(id).min(1),
    firstRevision: revision,
    lastRevision: revision,
    ...span,
    /** The previous chunk, whose summary was the background for this one. */
    continues: z.string().optional(),
    summary: id,
    sections: sectionsSchema.optional(),
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    summarizer: summarizerRecordSchema,
  }),
  upcasters: { 1: withSections, 2: summarizerRenamed },
  ...summaryFromOutside,
  describe: ({ messageCount, messageIds, summarizer, summary }) =>
    `${many(messageCount, 'message')} (${spanOf(messageIds)}) ${summarizerLine(summarizer)}: ${short(summary)}`,
  describeShortly: ({ messageCount, summarizer, summary }) =>
    `${many(messageCount, 'message')}, by ${summarizer.strategy}: ${short(summary)}`,
})
