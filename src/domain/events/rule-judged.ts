import { z } from 'zod'
import { RULE_SCOPES } from '../rules/rule.js'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

/** What a person said about a rule: that it applies, or that it does not. */
export const RULE_JUDGEMENTS = ['confirmed', 'dropped'] as const

export const ruleJudged = defineEvent({
  description: 'a person confirmed or dropped a rule of the conversation; the newest judgement of a rule counts',
  version: 1,
  effect: 'none',
  activity: 'update',
  withoutContent: ['rule', 'judgement', 'scope'],
  // The event names the rule and does not copy its text, which belongs to a message that may be erased.
  texts: NO_TEXTS,
  schema: z.object({
    /** Its id in reports, such as `r30.1`. */
    rule: id,
    judgement: z.enum(RULE_JUDGEMENTS),
    /** The sessions that a confirmed rule is about. Absent: the conversation. */
    scope: z.enum(RULE_SCOPES).optional(),
  }),
  namesFromOutside: ({ rule }) => ({ rule }),
  describe: ({ rule, judgement }) => `rule ${rule} is ${judgement}`,
  describeShortly: ({ judgement }) => `a rule is ${judgement}`,
})
