import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const retentionHoldPlaced = defineEvent({
  description: 'nothing is erased in a conversation, or in a scope, until the hold is released',
  version: 1,
  texts: NO_TEXTS,
  schema: z.object({
    holdId: id,
    /** Either the conversation or the scope is present. */
    conversationId: id.optional(),
    scope: id.optional(),
    reason: id,
  }),
  namesFromOutside: ({ conversationId, scope }) => ({ conversationId, scope }),
})
