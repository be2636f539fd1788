/** Erasure: plans, runs and receipts. */
import { z } from 'zod'
import { count, oneOf, optional, record } from '../answer.js'
import { plainCall } from '../call.js'
import * as calls from '../calls/operating.js'
import { ofConversation, revision, time } from '../fields.js'
import { jobOf, noProgress, WAIT } from '../answers/job.js'
import { route } from '../route.js'

const subject = z.string().min(1).meta({ description: 'The person, as messages name it in `subjects`' })
/** The target in a conversation: everything, or one message. */
const ofOneConversation = { messageId: z.string().min(1).optional().meta({ description: 'Only this message' }) }
const recordedWith = {
  reason: z.string().min(1).meta({ description: 'Recorded with the erasure; must not contain personal data' }),
  legalBasis: z.string().min(1).optional().meta({ description: 'Permits erasing what a retention rule keeps' }),
}

const receipt = record({
  messages: count,
  summaries: count,
  editions: count,
  keys: z.array(z.string()),
  vault: z.string(),
  rows: z.array(z.string()),
  filesCleaned: z.boolean(),
  legalBasis: z.string().optional(),
}).meta({ id: 'ErasureReceipt' })

const planned = record({
  planned: z.array(
    record({
      conversationId: z.string(),
      messages: z.array(z.string()),
      summaries: count,
      editions: z.array(z.string()),
      copyOf: optional(z.string().meta({ description: 'The conversation of which the messages are copies' })),
      source: optional(record({ program: z.string(), sourceId: z.string(), file: z.string() })),
      notAllowed: optional(z.string()),
    }),
  ),
}).meta({ id: 'ErasurePlan' })

const completed = z.array(record({ erasureId: z.string(), conversationId: z.string(), receipt }))

export const planErasure = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/erasure-plans',
  summary: 'What an erasure in a conversation would remove. Nothing is changed',
  roles: ['operate'],
  reach: 'conversation',
  params: ofConversation,
  body: z.strictObject(ofOneConversation).meta({ id: 'PlanErasure' }),
  answer: planned,
})

export const erase = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/erasures',
  summary: 'Erases a conversation or one of its messages, as a job',
  roles: ['operate'],
  reach: 'conversation',
  params: ofConversation,
  headers: WAIT,
  body: z.strictObject({ ...ofOneConversation, ...recordedWith }).meta({ id: 'Erase' }),
  answer: jobOf('ErasureJob', { result: completed, progress: noProgress }),
  status: 202,
})

export const listErasures = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/erasures',
  summary: 'Lists the erasures of a conversation with their receipts, oldest first',
  roles: ['audit', 'operate'],
  reach: 'conversation',
  carries: { call: plainCall('admin.erasure.receipts'), args: ['conversation'], field: 'erasures' },
  params: ofConversation,
  answer: record({
    erasures: z.array(
      record({
        erasureId: z.string(),
        scope: oneOf('conversation', 'message', 'subject'),
        subject: optional(z.string().meta({ description: 'Keyed pseudonym of the person' })),
        reason: z.string(),
        legalBasis: optional(z.string()),
        actor: z.string(),
        requestedAt: time,
        messages: optional(z.array(record({ messageId: z.string(), revision }))),
        completedAt: optional(time),
        receipt: optional(receipt),
      }),
    ),
  }).meta({ id: 'Erasures' }),
})

export const planErasureOfPerson = route({
  method: 'post',
  path: '/v1/erasure-plans',
  summary: 'What the erasure of a person would remove in all conversations. Nothing is changed',
  roles: ['operate'],
  reach: 'ledger',
  body: z.strictObject({ subject }).meta({ id: 'PlanErasureOfPerson' }),
  answer: planned,
})

export const erasePerson = route({
  method: 'post',
  path: '/v1/erasures',
  summary: 'Erases everything about a person in all conversations, as a job',
  roles: ['operate'],
  reach: 'ledger',
  headers: WAIT,
  body: z.strictObject({ subject, ...recordedWith }).meta({ id: 'ErasePerson' }),
  answer: jobOf('ErasureOfPersonJob', { result: completed, progress: noProgress }),
  status: 202,
})

export const resumeErasures = route({
  method: 'post',
  path: '/v1/erasures/resumptions',
  summary: 'Continues erasures that were interrupted, as a job',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: calls.resumeErasures },
  headers: WAIT,
  answer: jobOf('ErasureResumptionJob', { result: completed, progress: noProgress }),
  status: 202,
})
