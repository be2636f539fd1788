import { z } from 'zod'
import { short, spanOf, summarizerLine } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { summarizerRecordSchema, summarizerRenamed } from './summarizer-record.js'
import { asideTexts } from './texts.js'
import { saysNoMore } from './upcast.js'
import { rejectedOperationSchema, stateOperationSchema } from './working-state.js'

/** Exactly one of the two lists is present: the messages of a chunk, or batches. */
// Version 2: eleven sections, and paid answers before the accepted one. Version 3: another name of a field.
// Version 4: changes of the working state.
export const summarySetAside = defineEvent({
  description:
    'a paid summary came too late: its messages or batches had been compacted in the meantime; it is reused for the same request, or once its messages are live again',
  version: 4,
  effect: 'none',
  activity: 'create',
  label: 'Late summary kept',
  withoutContent: ['messageIds', 'sourceBatchIds', 'continues'],
  texts: asideTexts,
  schema: z.object({
    messageIds: z.array(id).min(1).optional(),
    sourceBatchIds: z.array(id).min(2).optional(),
    /** The previous chunk, whose summary was the background for this one. */
    continues: z.string().optional(),
    summary: id,
    sections: sectionsSchema.optional(),
    /** The changes of the working state that the model asked for. */
    operations: z.array(stateOperationSchema).optional(),
    rejectedOperations: z.array(rejectedOperationSchema).optional(),
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    summarizer: summarizerRecordSchema,
  }),
  upcasters: { 1: withSections, 2: summarizerRenamed, 3: saysNoMore },
  describe: ({ messageIds = [], sourceBatchIds = [], summarizer, summary }) => {
    const what =
      messageIds.length > 0
        ? `${many(messageIds.length, 'message')} (${spanOf(messageIds)})`
        : many(sourceBatchIds.length, 'batch', 'batches')
    return `${what} ${summarizerLine(summarizer)}. These messages were compacted in the meantime, so the summary is kept for an identical request: ${short(summary)}`
  },
  describeShortly: ({ summary }) => `kept for an identical request: ${short(summary)}`,
})
