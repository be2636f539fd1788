import { z } from 'zod'
import { short } from './lines.js'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const retentionHoldReleased = defineEvent({
  description: 'a hold ended',
  version: 1,
  stream: 'retention',
  effect: 'none',
  activity: 'update',
  withoutContent: ['holdId'],
  texts: NO_TEXTS,
  schema: z.object({ holdId: id, reason: id }),
  describe: ({ holdId, reason }) => `hold ${holdId} released: ${short(reason)}`,
})
