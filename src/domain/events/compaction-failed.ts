import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { saysNoMore } from './upcast.js'
import { triggerSchema } from './trigger.js'

// Version 2 knows one trigger more, `ahead`.
export const compactionFailed = defineEvent({
  says: 'a summary could not be had; the context is as it was',
  version: 2,
  schema: z.object({
    step: z.enum(['chunk', 'resummarize']),
    failure: id,
    detail: z.string(),
    /** `ahead`: no limit asked for it yet. */
    trigger: z.enum([...triggerSchema.options, 'ahead']),
    /** Failures in a row, this one included. */
    attempt: count.min(1),
    /** The next attempt waits for so many further messages, unless it is asked for by hand. */
    retryAfterMessages: count,
    strategy: id,
    provider: id,
    model: id,
    requestHash: z.string().optional(),
  }),
  upcasters: { 1: saysNoMore },
})
