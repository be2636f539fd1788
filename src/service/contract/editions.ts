/** The same history compacted again, beside what is in force; prompts, and what would have been. */
import { z } from 'zod'
import { conversations, ofConversation, policy, report } from './fields.js'
import { accepted } from './jobs.js'
import { route } from './route.js'

const WAIT = { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' }

const price = z
  .strictObject({ promptPerMillion: z.number().min(0), completionPerMillion: z.number().min(0), currency: z.string() })
  .optional()
  .meta({ description: 'What the model costs' })
const bound = {
  maxTokens: z.int().min(1).optional(),
  maxCost: z.number().positive().optional(),
}
const ofEdition = z.object({
  edition: z.string().min(1).meta({ description: 'Id of the edition, or its beginning' }),
})
const ofBoth = z.object({ ...ofConversation.shape, ...ofEdition.shape })
const request = { conversations, policy: policy.optional(), price }

/** All editions. */
export const listEditions = route({
  id: 'listEditions',
  method: 'get',
  path: '/v1/editions',
  summary: 'Every edition, the newest first',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  answer: z.object({ editions: z.array(z.looseObject({ editionId: z.string() })) }).meta({ id: 'Editions' }),
})

/** One edition. */
export const getEdition = route({
  id: 'getEdition',
  method: 'get',
  path: '/v1/editions/{edition}',
  summary: 'One edition, conversation by conversation',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  params: ofEdition,
  answer: report('EditionInFull', { editionId: z.string() }),
})

/** What a replay would come to. */
export const estimateReplay = route({
  id: 'estimateReplay',
  method: 'post',
  path: '/v1/editions/estimates',
  summary: 'What a replay would come to at most, or adopting an edition, as a job; no model is asked',
  roles: ['operate'],
  reach: 'some',
  headers: WAIT,
  body: z.strictObject({ ...request, editionId: z.string().min(1).optional() }).meta({ id: 'EstimateOptions' }),
  answer: accepted,
  status: 202,
})

/** Compacts again. */
export const replay = route({
  id: 'replay',
  method: 'post',
  path: '/v1/editions',
  summary: 'Compacts the same history again into an edition, as a job. The same again goes on where it ended',
  roles: ['operate'],
  reach: 'some',
  headers: WAIT,
  body: z
    .strictObject({ ...request, ...bound, concurrency: z.int().min(1).max(64).optional() })
    .meta({ id: 'ReplayOptions' }),
  answer: accepted,
  status: 202,
})

/** Compares. */
export const compareEdition = route({
  id: 'compareEdition',
  method: 'post',
  path: '/v1/editions/{edition}/comparisons',
  summary: 'An edition beside what was in force, or beside another edition, as a job',
  roles: ['operate'],
  reach: 'some',
  params: ofEdition,
  headers: WAIT,
  body: z
    .strictObject({
      conversations,
      against: z.string().min(1).optional(),
      questions: z.array(z.strictObject({ question: z.string(), evidence: z.array(z.string()) })).optional(),
      record: z.boolean().optional(),
    })
    .meta({ id: 'CompareEditionsOptions' }),
  answer: accepted,
  status: 202,
})

/** Puts an edition into force. */
export const adoptEdition = route({
  id: 'adoptEdition',
  method: 'post',
  path: '/v1/conversations/{conversation}/editions/{edition}/adoption',
  summary: 'Puts an edition into force in a conversation, as a job; what was appended since is caught up first',
  roles: ['operate'],
  reach: 'conversation',
  params: ofBoth,
  headers: WAIT,
  body: z.strictObject({ policy: policy.optional(), price, ...bound }).meta({ id: 'AdoptOptions' }),
  answer: accepted,
  status: 202,
})

/** Puts back what it had replaced. */
export const revertEdition = route({
  id: 'revertEdition',
  method: 'post',
  path: '/v1/conversations/{conversation}/editions/reversion',
  summary: 'Puts into force again what an adopted edition had replaced',
  roles: ['operate'],
  reach: 'conversation',
  params: ofConversation,
  body: z.strictObject({ editionId: z.string().min(1).optional() }).meta({ id: 'Revert' }),
  answer: report('PutIntoForce', {}),
})

/** Gives it up. */
export const dropEdition = route({
  id: 'dropEdition',
  method: 'delete',
  path: '/v1/conversations/{conversation}/editions/{edition}',
  summary: 'Gives an edition of a conversation up; what it recorded stays',
  roles: ['operate'],
  reach: 'conversation',
  params: ofBoth,
  answer: z
    .object({ conversationId: z.string(), editionId: z.string(), changed: z.boolean() })
    .meta({ id: 'DroppedEdition' }),
})

/** What would have been. */
export const whatIf = route({
  id: 'whatIf',
  method: 'post',
  path: '/v1/what-if',
  summary: 'What conversations would have come to under other policies, as a job; nothing is recorded',
  roles: ['operate'],
  reach: 'some',
  headers: WAIT,
  body: z
    .strictObject({
      conversations,
      policies: z.array(z.strictObject({ name: z.string().min(1), settings: policy })).min(1),
      summaries: z.enum(['recorded', 'extractive']).optional(),
    })
    .meta({ id: 'WhatIfOptions' }),
  answer: accepted,
  status: 202,
})

/** All prompts. */
export const listPrompts = route({
  id: 'listPrompts',
  method: 'get',
  path: '/v1/prompts',
  summary: 'Every template and persona that summaries were made with',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  answer: report('PromptRegistry', { prompts: z.array(z.looseObject({})) }),
})

/** One prompt. */
export const getPrompt = route({
  id: 'getPrompt',
  method: 'get',
  path: '/v1/prompts/{prompt}',
  summary: 'The prompt that NAME, NAME@VERSION or the beginning of its hash names',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  params: z.object({ prompt: z.string().min(1) }),
  answer: report('RegisteredPrompt', {}),
})
