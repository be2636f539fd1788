import { z } from 'zod'
import { count as countText, many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { triggerSchema } from './trigger.js'
import { NO_TEXTS } from './texts.js'

export const compactionCouldNotHelp = defineEvent({
  description: 'the context is at a limit, and nothing that would help may be compacted',
  version: 1,
  activity: 'update',
  isFailure: true,
  label: 'Could not reduce enough',
  withoutContent: ['reason', 'tokens', 'limit', 'trigger', 'messageIds'],
  texts: NO_TEXTS,
  schema: z.object({
    reason: z.enum(['recent-messages', 'pinned-and-leading', 'too-little-to-fold', 'open-calls', 'summaries']),
    tokens: count,
    limit: count,
    trigger: triggerSchema,
    /** Messages that may not be compacted. */
    messageIds: z.array(id),
  }),
  describe: ({ reason, trigger, tokens, limit, messageIds }) =>
    `COULD NOT REDUCE ENOUGH (${reason}) at the ${trigger} limit: ${countText(tokens)} tokens, limit ${countText(limit)}; ${many(messageIds.length, 'message')} cannot be compacted`,
})
