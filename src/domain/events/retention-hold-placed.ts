import { z } from 'zod'
import { scopeText, short } from './lines.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const retentionHoldPlaced = defineEvent({
  description: 'nothing is erased in a conversation, or in a scope, until the hold is released',
  version: 1,
  stream: 'retention',
  opensStream: true,
  effect: 'none',
  activity: 'update',
  withoutContent: ['holdId', 'conversationId', 'scope'],
  texts: NO_TEXTS,
  schema: z.object({
    holdId: id,
    /** Either the conversation or the scope is present. */
    conversationId: id.optional(),
    scope: id.optional(),
    reason: id,
  }),
  namesFromOutside: ({ conversationId, scope }) => ({ conversationId, scope }),
  describe: ({ holdId, conversationId, scope, reason }) =>
    `hold ${holdId} on ${conversationId === undefined ? scopeText(scope) : printable(conversationId)}: ${short(reason)}`,
})
