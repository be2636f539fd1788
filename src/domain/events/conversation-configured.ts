import { configurationSchema } from './configuration.js'
import { defineEvent } from './event-definition.js'

export const conversationConfigured = defineEvent({
  says: 'the conversation goes by these settings from here on; first in every stream, and again when something changes',
  version: 1,
  schema: configurationSchema,
})
