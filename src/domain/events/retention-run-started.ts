import { z } from 'zod'
import { durationSchema } from '../values/duration.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { id, time } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const retentionRunStarted = defineEvent({
  description:
    'conversations that are older than their rule allows will be erased: the plan of a run, recorded before anything is erased',
  version: 1,
  stream: 'retention',
  effect: 'none',
  activity: 'delete',
  withoutContent: ['runId', 'due'],
  texts: NO_TEXTS,
  schema: z.object({
    /** Also the id of the erasures of this run. */
    runId: id,
    due: z.array(z.object({ conversationId: id, lastMessageAt: time, eraseAfter: durationSchema })).min(1),
  }),
  describe: ({ runId, due }) => `run ${runId} will erase ${many(due.length, 'conversation')}`,
})
