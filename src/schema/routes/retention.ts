/** Retention: rules, holds and runs. They concern all conversations, so each route takes a key without a bound. */
import { z } from 'zod'
import { count, oneOf, optional, record } from '../answer.js'
import { plainCall } from '../call.js'
import * as calls from '../calls/operating.js'
import { time } from '../fields.js'
import { event } from '../answers/event.js'
import { jobOf, noProgress, WAIT } from '../answers/job.js'
import { route } from '../route.js'

const duration = z.string().min(1).nullable().optional()
const reason = z.string().min(1).meta({ description: 'Recorded with the change; must not contain personal data' })

const ruleFields = { keepAtLeast: z.string().optional(), eraseAfter: z.string().optional() }
const origin = { reason: z.string(), actor: z.string(), at: time }
const rules = z.array(record({ scope: z.string().optional(), ...ruleFields, ...origin }))
const holdFields = {
  holdId: z.string(),
  conversationId: z.string().optional(),
  scope: z.string().optional(),
  ...origin,
}
const due = z.array(record({ conversationId: z.string(), lastMessageAt: time, eraseAfter: z.string() }))
const receipt = record({
  erased: z.array(record({ conversationId: z.string(), messages: count, summaries: count })),
  kept: z.array(record({ conversationId: z.string(), reason: oneOf('hold', 'too-young', 'not-due', 'erased-before') })),
})

export const getRetention = route({
  method: 'get',
  path: '/v1/retention',
  summary: 'Rules, holds, the conversations that a run would erase, and the last run',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.retention.status') },
  answer: record({
    isErasable: z.boolean(),
    rules,
    holds: z.array(record(holdFields)),
    scopes: z.array(
      record({
        scope: optional(z.string()),
        rules: record(ruleFields),
        conversations: count,
        due: count,
        onHold: count,
        nextDueAt: optional(time),
      }),
    ),
    due,
    lastRun: optional(
      record({
        runId: z.string(),
        startedAt: time,
        actor: z.string(),
        due,
        completedAt: optional(time),
        receipt: optional(receipt),
      }),
    ),
  }).meta({ id: 'Retention' }),
})

export const getRetentionLog = route({
  method: 'get',
  path: '/v1/retention/log',
  summary: 'Every change of rules and holds, and the receipts of runs, oldest first',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.retention.history'), field: 'facts' },
  answer: record({ facts: z.array(event) }).meta({ id: 'RetentionLog' }),
})

export const setRetentionRules = route({
  method: 'post',
  path: '/v1/retention/rules',
  summary: 'Sets the rules of a scope, or of all conversations. null removes a rule, an absent one stays',
  roles: ['operate'],
  reach: 'ledger',
  body: z
    .strictObject({ scope: z.string().min(1).optional(), keepAtLeast: duration, eraseAfter: duration, reason })
    .meta({ id: 'SetRetentionRules' }),
  answer: record({ rules, isErasable: z.boolean() }).meta({ id: 'RetentionRules' }),
})

export const placeRetentionHold = route({
  method: 'post',
  path: '/v1/retention/holds',
  summary: 'Erases nothing in a conversation, or in a scope, until the hold is released',
  roles: ['operate'],
  reach: 'ledger',
  body: z
    .strictObject({ conversationId: z.string().min(1).optional(), scope: z.string().min(1).optional(), reason })
    .meta({ id: 'PlaceRetentionHold' }),
  answer: record({ ...holdFields, erasuresBegun: z.array(z.string()) }).meta({ id: 'RetentionHold' }),
})

export const releaseRetentionHold = route({
  method: 'post',
  path: '/v1/retention/holds/{hold}/release',
  summary: 'Ends a hold',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: calls.releaseRetention, args: ['hold'] },
  params: z.object({ hold: z.string().min(1).meta({ description: 'Id of the hold' }) }),
  body: z.strictObject({ reason }).meta({ id: 'ReleaseRetentionHold' }),
})

export const runRetention = route({
  method: 'post',
  path: '/v1/retention/runs',
  summary: 'Erases the conversations that are due, as a job. The result is null if nothing is due',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: calls.runRetention },
  headers: WAIT,
  answer: jobOf('RetentionRunJob', {
    result: record({ runId: z.string(), isResumed: z.boolean(), receipt }).nullable(),
    progress: noProgress,
  }),
  status: 202,
})
