/** Editions, prompts, and what-if simulations. */
import { z } from 'zod'
import { record } from '../answer.js'
import * as results from '../answers/editions.js'
import { whatIf as whatIfResult } from '../answers/stats.js'
import { plainCall } from '../call.js'
import { inBody } from '../call-over-http.js'
import * as calls from '../calls/editions.js'
import { conversations, ofConversation, policy } from '../fields.js'
import { conversationsDone, jobOf, noProgress, WAIT } from '../answers/job.js'
import { route } from '../route.js'

const price = z
  .strictObject({ promptPerMillion: z.number().min(0), completionPerMillion: z.number().min(0), currency: z.string() })
  .optional()
  .meta({ description: 'Price of the model' })
const bound = {
  maxTokens: z.int().min(1).optional(),
  maxCost: z.number().positive().optional(),
}
const ofEdition = z.object({
  edition: z.string().min(1).meta({ description: 'Id of the edition, or its beginning' }),
})
const ofBoth = z.object({ ...ofConversation.shape, ...ofEdition.shape })
const request = { conversations, policy: policy.optional(), price }

export const listEditions = route({
  method: 'get',
  path: '/v1/editions',
  summary: 'Lists editions, newest first',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('editions.list'), field: 'editions' },
  answer: record({ editions: z.array(results.edition) }).meta({ id: 'Editions' }),
})

export const getEdition = route({
  method: 'get',
  path: '/v1/editions/{edition}',
  summary: 'Returns one edition with each of its conversations',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('editions.show'), args: ['edition'] },
  params: ofEdition,
  answer: results.editionInFull,
})

export const estimateReplay = route({
  method: 'post',
  path: '/v1/editions/estimates',
  summary: 'Estimates a replay, or the adoption of an edition, as a job; calls no model',
  roles: ['operate'],
  reach: 'some',
  carries: { call: calls.estimate },
  headers: WAIT,
  body: z
    .strictObject({ ...request, ...inBody(calls.estimate.options(), 'conversations', 'policy', 'price', 'signal') })
    .meta({ id: 'EstimateOptions' }),
  answer: jobOf('ReplayEstimateJob', { result: results.replayEstimate, progress: noProgress }),
  status: 202,
})

export const replay = route({
  method: 'post',
  path: '/v1/editions',
  summary: 'Compacts the same history again into an edition, as a job. A repeated request resumes it',
  roles: ['operate'],
  reach: 'some',
  carries: { call: calls.replay },
  headers: WAIT,
  body: z
    .strictObject({
      ...request,
      ...bound,
      ...inBody(
        calls.replay.options(),
        'conversations',
        'policy',
        'price',
        'maxTokens',
        'maxCost',
        'actor',
        'signal',
        'onProgress',
      ),
    })
    .meta({ id: 'ReplayOptions' }),
  answer: jobOf('ReplayJob', { result: results.replay, progress: results.replayProgress }),
  status: 202,
})

export const compareEdition = route({
  method: 'post',
  path: '/v1/editions/{edition}/comparisons',
  summary: 'Compares an edition with the history in force, or with another edition, as a job',
  roles: ['operate'],
  reach: 'some',
  params: ofEdition,
  headers: WAIT,
  body: z
    .strictObject({
      conversations,
      ...inBody(calls.compare.options(), 'waitFor', 'timeout', 'actor', 'questions', 'onConversation'),
      questions: z.array(z.strictObject({ question: z.string(), evidence: z.array(z.string()) })).optional(),
    })
    .meta({ id: 'CompareEditionsOptions' }),
  answer: jobOf('ComparisonJob', { result: results.editionComparisons, progress: conversationsDone }),
  status: 202,
})

export const adoptEdition = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/editions/{edition}/adoption',
  summary: 'Adopts an edition in a conversation, as a job; messages appended since the replay are compacted first',
  roles: ['operate'],
  reach: 'conversation',
  carries: { call: calls.adopt, args: ['conversation', 'edition'] },
  params: ofBoth,
  headers: WAIT,
  body: z.strictObject({ policy: policy.optional(), price, ...bound }).meta({ id: 'AdoptOptions' }),
  answer: jobOf('AdoptionJob', { result: results.editionChange, progress: noProgress }),
  status: 202,
})

export const revertEdition = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/editions/reversion',
  summary: 'Reverts the adoption of an edition',
  roles: ['operate'],
  reach: 'conversation',
  carries: { call: calls.revert, args: ['conversation', 'editionId'] },
  params: ofConversation,
  body: z.strictObject({ editionId: z.string().min(1).optional() }).meta({ id: 'Revert' }),
  answer: results.editionChange,
})

export const dropEdition = route({
  method: 'delete',
  path: '/v1/conversations/{conversation}/editions/{edition}',
  summary: 'Drops an edition of a conversation; its events stay in the log',
  roles: ['operate'],
  reach: 'conversation',
  carries: { call: calls.drop, args: ['conversation', 'edition'] },
  params: ofBoth,
  answer: record({ conversationId: z.string(), editionId: z.string(), changed: z.boolean() }).meta({
    id: 'DroppedEdition',
  }),
})

export const whatIf = route({
  method: 'post',
  path: '/v1/what-if',
  summary: 'Simulates conversations under other policies, as a job; records nothing',
  roles: ['operate'],
  reach: 'some',
  headers: WAIT,
  body: z
    .strictObject({
      conversations,
      policies: z.array(z.strictObject({ name: z.string().min(1), settings: policy })).min(1),
      ...inBody(calls.whatIf.options(), 'policies', 'onConversation'),
    })
    .meta({ id: 'WhatIfOptions' }),
  answer: jobOf('WhatIfJob', { result: whatIfResult, progress: conversationsDone }),
  status: 202,
})

export const listPrompts = route({
  method: 'get',
  path: '/v1/prompts',
  summary: 'Lists the templates and personas of all summaries',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.prompts.list') },
  answer: results.promptRegistry,
})

export const getPrompt = route({
  method: 'get',
  path: '/v1/prompts/{prompt}',
  summary: 'Returns a prompt by NAME, NAME@VERSION or the beginning of its hash',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.prompts.show'), args: ['prompt'] },
  params: z.object({ prompt: z.string().min(1) }),
  answer: results.registeredPrompt,
})
