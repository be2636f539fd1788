import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const retentionHoldReleased = defineEvent({
  description: 'a hold ended',
  version: 1,
  texts: NO_TEXTS,
  schema: z.object({ holdId: id, reason: id }),
})
