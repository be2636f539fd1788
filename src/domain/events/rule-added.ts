import { z } from 'zod'
import { RULE_SCOPES } from '../rules/rule.js'
import { short } from './lines.js'
import { defineEvent } from './event-definition.js'
import { wholeTexts } from './texts.js'

export const ruleAdded = defineEvent({
  description: 'a person added a rule that applies to the rest of the conversation',
  version: 1,
  effect: 'none',
  activity: 'update',
  withoutContent: ['scope'],
  texts: wholeTexts({ text: 'text' }),
  schema: z.object({
    text: z.string().min(1),
    /** The sessions that it is about. Absent: the conversation. */
    scope: z.enum(RULE_SCOPES).optional(),
  }),
  describe: ({ text }) => short(text),
})
