import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const editionAdvanced = defineEvent({
  description: 'an edition includes the conversation up to a revision; later decisions are based on it',
  version: 1,
  stream: 'edition',
  effect: 'none',
  activity: 'update',
  withoutContent: ['conversationRevision'],
  texts: NO_TEXTS,
  schema: z.object({
    /** The edition includes the conversation's events up to this revision. Later decisions are based on them. */
    conversationRevision: revision,
  }),
  describe: ({ conversationRevision }) => `processed the conversation up to revision ${String(conversationRevision)}`,
})
