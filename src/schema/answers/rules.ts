/** Rules of a conversation, and the calls that broke them. */
import { z } from 'zod'
import { RULE_SCOPES } from '../../domain/rules/rule.js'
import { count, oneOf, optional, record } from '../answer.js'
import { revision, time } from '../fields.js'

const presence = oneOf('there', 'changed', 'gone', 'unclear')
const verdict = oneOf('kept', 'broken', 'unjudged')

const scope = oneOf(...RULE_SCOPES).meta({ description: 'The sessions that the rule is about' })

const statedAt = {
  revision: optional(revision),
  messageId: optional(z.string()),
  at: optional(time),
  file: optional(z.string()),
  line: optional(count),
}

const rule = {
  id: z.string(),
  text: z.string(),
  source: oneOf('statement', 'refusal', 'file', 'added'),
  standing: oneOf('found', 'confirmed', 'dropped'),
  scope,
  since: record(statedAt),
  takenBack: optional(record({ ...statedAt, text: z.string() })),
  unjudged: optional(z.string()).meta({ description: 'Why calls cannot be compared with it; absent if they can' }),
}

const ruleBreak = record({
  id: z.string(),
  ruleId: z.string(),
  revision,
  messageId: z.string(),
  at: optional(time),
  tool: optional(z.string()),
  words: z.string(),
  context: record({
    presence,
    sinceCycle: optional(count),
    text: optional(z.string()),
    loadedBy: optional(z.string()).meta({
      description: 'The program that loads the file of the rule into every context',
    }),
    changedAt: optional(time).meta({ description: 'The file of the rule was changed then, after the session began' }),
  }),
  failed: optional(z.literal(true)),
  noticed: optional(record({ by: oneOf('agent', 'user'), revision, messageId: z.string(), text: z.string() })),
}).meta({ id: 'RuleBreak' })

const checkedRule = record({
  ...rule,
  verdict,
  calls: count,
  breaks: z.array(ruleBreak),
  presences: z.array(record({ cycle: count, revision, presence, text: optional(z.string()) })),
}).meta({ id: 'CheckedRule' })

/** The rules of a conversation. */
export const ruleList = record({
  conversationId: z.string(),
  revision,
  project: optional(z.string()).meta({ description: 'The project folder, if a program recorded it' }),
  rules: z.array(record(rule).meta({ id: 'Rule' })),
}).meta({ id: 'RuleList' })

/** The rules that apply now, of all conversations. */
export const confirmedRules = record({ lists: z.array(ruleList) }).meta({ id: 'ConfirmedRules' })

/** The counts of a check, and the conversations that it read. */
export const ruleChecks = record({
  conversations: count,
  rules: count,
  judged: count,
  broken: count,
  breaks: count,
  withoutRule: count,
  checks: z.array(
    record({
      conversationId: z.string(),
      revision,
      compactions: count,
      review: optional(record({ upTo: revision, provider: z.string(), model: z.string() })),
      rules: z.array(checkedRule),
    }).meta({ id: 'RuleCheck' }),
  ),
}).meta({ id: 'RuleChecks' })

/** The result of a review. */
export const ruleReview = record({
  conversationId: z.string(),
  revision,
  upTo: revision,
  requests: count,
  rules: count,
  breaks: count,
  rejected: count,
  usage: optional(record({ promptTokens: count, completionTokens: count })),
}).meta({ id: 'RuleReview' })

/** A rule that was confirmed, dropped or added. */
export const recordedRule = record({
  conversationId: z.string(),
  revision,
  rule: z.string(),
  scope: optional(scope),
}).meta({ id: 'RecordedRule' })
