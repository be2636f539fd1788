/**
 * Rules of the user, and the calls that broke them. A request that reads rules may have rule files in its body, so it is
 * a POST.
 */
import { z } from 'zod'
import { RULE_JUDGEMENTS } from '../../domain/events/index.js'
import { MOST_CHARACTERS_OF_RULE, MOST_OF_RULE_FILE } from '../../domain/rules/rule.js'
import { count, record } from '../answer.js'
import { conversationsDone, jobOf, WAIT } from '../answers/job.js'
import * as results from '../answers/rules.js'
import { inBody } from '../call-over-http.js'
import * as calls from '../calls/rules.js'
import { ofConversation, time } from '../fields.js'
import { route } from '../route.js'

/** Rule files that a request may have. */
const MOST_FILES = 100

const files = z
  .array(
    z.strictObject({
      name: z.string().min(1),
      text: z.string().max(MOST_OF_RULE_FILE),
      loadedBy: z
        .string()
        .min(1)
        .optional()
        .meta({ description: 'The program that loads the file into every context' }),
      changedAt: time
        .optional()
        .meta({ description: 'The last change of the file: a session that began before may not have had its rules' }),
    }),
  )
  .max(MOST_FILES)
  .optional()
  .meta({ description: 'Rule files of the project: each line that states a rule is one' })

const checkBody = z
  .strictObject({ ...inBody(calls.checkRules.options(), 'files', 'onConversation'), files })
  .meta({ id: 'CheckRules' })

export const listRules = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/rules/list',
  summary: 'Lists the rules of a conversation, in the words of the user, also those that were taken back or dropped',
  roles: ['read', 'audit'],
  reach: 'conversation',
  carries: { call: calls.listRules, args: ['conversation'] },
  params: ofConversation,
  body: z.strictObject({ files }).meta({ id: 'ListRules' }),
  answer: results.ruleList,
})

export const confirmedRules = route({
  method: 'post',
  path: '/v1/rules/confirmed',
  summary: 'Lists the rules that people confirmed or added and that nobody took back, of all conversations',
  roles: ['audit'],
  reach: 'ledger',
  carries: { call: calls.confirmedRules, field: 'lists' },
  body: z.strictObject(inBody(calls.confirmedRules.options())).meta({ id: 'ListConfirmedRules' }),
  answer: results.confirmedRules,
})

export const checkRules = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/rules/check',
  summary: 'Compares the calls of a conversation with its rules, and reports what the model knew at each break',
  roles: ['audit'],
  reach: 'conversation',
  params: ofConversation,
  body: checkBody,
  answer: results.ruleChecks,
})

export const checkRulesAll = route({
  method: 'post',
  path: '/v1/rules/check',
  summary: 'Compares the calls of all conversations with their rules, as a job',
  roles: ['audit'],
  reach: 'ledger',
  headers: WAIT,
  body: checkBody,
  answer: jobOf('CheckRulesJob', { result: results.ruleChecks, progress: record({ conversations: count }) }),
  status: 202,
})

export const reviewRules = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/rules/review',
  summary: 'Lets the model of the service read a conversation for rules and breaks, as a job',
  roles: ['operate'],
  reach: 'conversation',
  carries: { call: calls.reviewRules, args: ['conversation'] },
  params: ofConversation,
  headers: WAIT,
  body: z
    .strictObject(inBody(calls.reviewRules.options(), 'actor', 'signal', 'onProgress'))
    .meta({ id: 'ReviewRules' }),
  answer: jobOf('ReviewRulesJob', { result: results.ruleReview, progress: conversationsDone }),
  status: 202,
})

export const addRule = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/rules',
  summary: 'Adds a rule for the calls from now on',
  roles: ['append', 'operate'],
  reach: 'conversation',
  carries: { call: calls.addRule, args: ['conversation', 'text'] },
  params: ofConversation,
  body: z
    .strictObject({
      text: z
        .string()
        .min(1)
        .meta({ description: `The rule, at most ${String(MOST_CHARACTERS_OF_RULE)} characters` }),
      ...inBody(calls.addRule.options(), 'actor'),
    })
    .meta({ id: 'AddRule' }),
  answer: results.recordedRule,
})

export const judgeRule = route({
  method: 'put',
  path: '/v1/conversations/{conversation}/rules/{rule}',
  summary: 'Confirms or drops a rule; a dropped rule is listed and not checked',
  roles: ['append', 'operate'],
  reach: 'conversation',
  params: z.object({
    ...ofConversation.shape,
    rule: z.string().min(1).meta({ description: 'Id of the rule' }),
  }),
  body: z
    .strictObject({ judgement: z.enum(RULE_JUDGEMENTS), ...inBody(calls.confirmRule.options(), 'actor') })
    .refine(({ judgement, scope }) => judgement === 'confirmed' || scope === undefined, {
      path: ['scope'],
      message: 'is only for a rule that is confirmed',
    })
    .meta({ id: 'JudgeRule' }),
  answer: results.recordedRule,
})
