import { z } from 'zod'
import { PLAIN_SPAN, short, spanOf, summarizerLine } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { id, revision, span } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { summarizerRecordSchema, summarizerRenamed, summaryFromOutside } from './summarizer-record.js'
import { chunkTexts } from './texts.js'
import { saysNoMore } from './upcast.js'
import { rejectedOperationSchema, stateOperationSchema } from './working-state.js'

// Version 2: eleven sections, and paid answers before the accepted one. Version 3: another name of a field.
// Version 4: changes of the working state.
export const chunkSummarized = defineEvent({
  description: 'a chunk of messages was summarized; with strategy, model, prompt and cost',
  version: 4,
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
    /** The changes of the working state. Absent in events from before version 4. */
    operations: z.array(stateOperationSchema).optional(),
    /** Version of the rules that made the operations; absent if the model of the summary did. */
    stateRules: z.string().optional(),
    /** Changes that a model asked for and that do not follow from the messages. */
    rejectedOperations: z.array(rejectedOperationSchema).optional(),
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    summarizer: summarizerRecordSchema,
  }),
  upcasters: { 1: withSections, 2: summarizerRenamed, 3: saysNoMore },
  ...summaryFromOutside,
  describe: ({ messageCount, messageIds, summarizer, summary }) =>
    `${many(messageCount, 'message')} (${spanOf(messageIds)}) ${summarizerLine(summarizer)}: ${short(summary)}`,
  describeShortly: ({ messageCount, summarizer, summary }) =>
    `${many(messageCount, 'message')}, by ${summarizer.strategy}: ${short(summary)}`,
})
