import { z } from 'zod'
import { many } from '../text/count.js'
import { brief, printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { namesOfSummarizer, rejectedAnswerSchema } from './summarizer-record.js'
import { saysNoMore } from './upcast.js'
import { triggerSchema } from './trigger.js'
import { failureTexts } from './texts.js'

// Version 2: another trigger, `ahead`. Version 3: the rejected answers that were paid for.
export const compactionFailed = defineEvent({
  description: 'a summary failed; the context is unchanged',
  version: 3,
  activity: 'update',
  isFailure: true,
  label: 'Compaction failed',
  withoutContent: [
    'step',
    'failure',
    'trigger',
    'attempt',
    'strategy',
    'provider',
    'model',
    'requestHash',
    'timesSent',
  ],
  texts: failureTexts,
  schema: z.object({
    step: z.enum(['chunk', 'resummarize']),
    failure: id,
    detail: z.string(),
    /** `ahead`: no limit required the summary yet. */
    trigger: z.enum([...triggerSchema.options, 'ahead']),
    /** Consecutive failures, including this one. */
    attempt: count.min(1),
    /** The next attempt waits for this many further messages, unless it is requested manually. */
    retryAfterMessages: count,
    strategy: id,
    provider: id,
    model: id,
    requestHash: z.string().optional(),
    /** How often this request was sent in a row and may have been charged; absent if it never was. */
    timesSent: count.min(1).optional(),
    /** Time limit of the request in milliseconds, if it had its own. */
    timeoutMs: z.number().positive().optional(),
    /** Paid answers that were rejected. */
    rejectedAnswers: z.array(rejectedAnswerSchema).optional(),
  }),
  upcasters: { 1: saysNoMore, 2: saysNoMore },
  namesFromOutside: (data) => ({ ...namesOfSummarizer(data), failure: data.failure }),
  describe: ({ failure, detail, step, strategy, model, attempt, retryAfterMessages, trigger }) => {
    const at = trigger === 'ahead' ? 'ahead of need' : `at the ${trigger} limit`
    const by = `${strategy}${model === strategy ? '' : ` (${printable(model)})`}`
    return `FAILED (${failure}) ${at}, attempt ${String(attempt)}, ${step} by ${by}: ${brief(detail, 400)}; next try after ${many(retryAfterMessages, 'more message')}`
  },
})
