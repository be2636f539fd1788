import { z } from 'zod'
import { count as countText, many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { NO_TEXTS } from './texts.js'

/** Why a planned conversation was not erased: the rules, the holds or its messages have changed since the plan. */
const keptReasons = ['hold', 'too-young', 'not-due', 'erased-before'] as const

const retentionReceiptSchema = z.object({
  erased: z.array(z.object({ conversationId: id, messages: count, summaries: count })),
  kept: z.array(z.object({ conversationId: id, reason: z.enum(keptReasons) })),
})
/** The result of a run. The receipts of the erasures are in the streams of the conversations. */
export type RetentionReceipt = z.infer<typeof retentionReceiptSchema>

export const retentionRunCompleted = defineEvent({
  description: 'a run has erased the conversations of its plan, except those that it names; with a receipt',
  version: 1,
  stream: 'retention',
  effect: 'none',
  activity: 'delete',
  withoutContent: ['runId', 'receipt'],
  texts: NO_TEXTS,
  schema: z.object({ runId: id, receipt: retentionReceiptSchema }),
  describe: ({ runId, receipt: { erased, kept } }) =>
    `run ${runId} erased ${many(erased.length, 'conversation')} and kept ${countText(kept.length)} of its plan`,
})
