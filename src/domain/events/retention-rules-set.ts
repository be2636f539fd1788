import { z } from 'zod'
import { durationSchema, durationText } from '../values/duration.js'
import { scopeText, short } from './lines.js'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const retentionRulesSet = defineEvent({
  description:
    'the retention rules of a scope, or of all conversations; a rule that is absent does not apply any more. In the stream `retention-rules`',
  version: 1,
  stream: 'retention',
  opensStream: true,
  effect: 'none',
  activity: 'update',
  withoutContent: ['scope', 'keepAtLeast', 'eraseAfter'],
  texts: NO_TEXTS,
  schema: z.object({
    /** The scope; absent for the rules of all conversations. */
    scope: id.optional(),
    /** No younger message is erased without a legal basis. ISO 8601. */
    keepAtLeast: durationSchema.optional(),
    /** A conversation in which the last message is older is erased. ISO 8601. */
    eraseAfter: durationSchema.optional(),
    reason: id,
  }),
  namesFromOutside: ({ scope }) => ({ scope }),
  describe: ({ scope, keepAtLeast, eraseAfter, reason }) => {
    const rules = [
      ...(keepAtLeast === undefined ? [] : [`keep at least ${durationText(keepAtLeast)}`]),
      ...(eraseAfter === undefined ? [] : [`erase after ${durationText(eraseAfter)}`]),
    ]
    return `${scopeText(scope)}: ${rules.length === 0 ? 'no rules' : rules.join(', ')}: ${short(reason)}`
  },
})
