/** The history of conversations: log, cycles, differences, origins, verification. */
import { z } from 'zod'
import type { PriceTable } from '../../domain/reports/prices.js'
import { eventTypes } from '../../domain/events/index.js'
import { count, oneOf, optional, parsedByLedger, record, tokens, unionByKind } from '../answer.js'
import { event } from '../answers/event.js'
import { difference, explanation } from '../answers/explanation.js'
import * as results from '../answers/forgotten.js'
import { recall as note } from '../answers/recall.js'
import { conversationStats, totalStats, verification, verifyProgress } from '../answers/stats.js'
import { failure } from '../failure.js'
import { inAddress, inBody } from '../call-over-http.js'
import * as calls from '../calls/history.js'
import { against, cursor, limit, next, ofConversation, revision, time } from '../fields.js'
import { jobOf, noProgress, WAIT } from '../answers/job.js'
import { route } from '../route.js'

const compaction = record({
  batchesCreated: count,
  messagesCompressed: count,
  tokensBefore: tokens,
  tokensAfter: tokens,
  failure: optional(failure),
}).meta({ id: 'Compaction' })

const { program, trigger, told } = eventTypes.CompactionObserved.schema.shape
const inConversation = { revision, recordedAt: time }
const compactionRecord = unionByKind(
  record({
    kind: z.literal('pruned'),
    ...inConversation,
    cycle: count,
    trigger: oneOf('soft', 'hard', 'manual', 'observed'),
    tokensBefore: tokens,
    tokensAfter: tokens,
    messages: count,
    batchIds: z.array(z.string()),
  }),
  record({ kind: z.literal('observed'), ...inConversation, program, trigger, ...told.shape }),
  record({
    kind: z.literal('undone'),
    ...inConversation,
    undone: z.array(record({ cycle: count, revision })),
  }),
  record({ kind: z.literal('failed'), ...inConversation, failure: z.string(), detail: z.string() }),
).meta({ id: 'CompactionRecord' })

const allStats = record({ conversations: z.array(conversationStats), total: totalStats })

export const getLog = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/log',
  summary: 'Returns the events of a conversation, oldest first, page by page',
  roles: ['audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({
    cursor,
    limit: limit(1_000, 100),
    ...inAddress(calls.log.options(), 'limit'),
  }),
  answer: record({ conversationId: z.string(), facts: z.array(event), next }).meta({ id: 'Log' }),
})

export const listCompactions = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/compactions',
  summary:
    'Lists the cycles of a conversation, oldest first, page by page, including those of the program that it was imported from',
  roles: ['read', 'audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ cursor, limit: limit(1_000, 100) }),
  answer: record({
    conversationId: z.string(),
    compactions: z.array(compactionRecord),
    next,
  }).meta({ id: 'Compactions' }),
})

export const compact = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/compactions',
  summary: 'Compacts now, as a job. Without `force` only if the context is at its limit',
  roles: ['operate'],
  reach: 'conversation',
  carries: { call: calls.compact, args: ['conversation'] },
  params: ofConversation,
  headers: WAIT,
  body: z.strictObject(inBody(calls.compact.options(), 'actor')).meta({ id: 'Compact' }),
  answer: jobOf('CompactionJob', { result: compaction, progress: noProgress }),
  status: 202,
})

export const undo = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/undo',
  summary: 'Undoes the cycles from `cycle` to the last one: their messages return to the window',
  roles: ['operate'],
  reach: 'conversation',
  carries: { call: calls.undo, args: ['conversation'] },
  params: ofConversation,
  body: z.strictObject(inBody(calls.undo.options(), 'actor')).meta({ id: 'Undo' }),
  answer: record({
    conversationId: z.string(),
    revision,
    cycles: z.array(count),
    messagesRestored: count,
    tokensBefore: tokens,
    tokensAfter: tokens,
    restsForMessages: count,
  }).meta({ id: 'Undone' }),
})

export const diff = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/diff',
  summary: 'Returns the changes between two moments, or across a cycle',
  roles: ['audit'],
  reach: 'conversation',
  carries: { call: calls.diff, args: ['conversation'] },
  params: ofConversation,
  query: z.object(inAddress(calls.diff.options())),
  answer: difference,
})

export const explain = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/explanations',
  summary: 'Traces a batch, the batch with a line, or the whole view back to the original messages',
  roles: ['read', 'audit'],
  reach: 'conversation',
  carries: { call: calls.explain, args: ['conversation'] },
  params: ofConversation,
  body: z.strictObject(inBody(calls.explain.options())).meta({ id: 'Explain' }),
  answer: explanation,
})

export const forgotten = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/forgotten',
  summary: 'Reports what the compactions of a conversation lost, cycle by cycle',
  roles: ['audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object(inAddress(calls.forgotten.options(), 'onCycle')),
  answer: results.forgotten,
})

export const recall = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/recall',
  summary: 'Makes a note of the recorded content that the context of the model lacks',
  roles: ['read'],
  reach: 'conversation',
  carries: { call: calls.recall, args: ['conversation'] },
  params: ofConversation,
  body: z
    .strictObject({
      ...inBody(calls.recall.options(), 'rules'),
      rules: z.array(z.string().min(1)).optional(),
    })
    .meta({ id: 'RecallOptions' }),
  answer: note,
})

export const forgottenAll = route({
  method: 'post',
  path: '/v1/forgotten',
  summary: 'Reports what the compactions of all conversations lost, as a job',
  roles: ['audit'],
  reach: 'ledger',
  headers: WAIT,
  answer: jobOf('ForgottenJob', { result: results.forgotten, progress: record({ cycles: count }) }),
  status: 202,
})

export const stats = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/stats',
  summary: 'Statistics of a conversation: tokens spent and saved, cost by model, failures, times',
  roles: ['audit', 'operate'],
  reach: 'conversation',
  carries: { call: calls.stats, args: ['conversation'] },
  params: ofConversation,
  answer: totalStats,
})

export const statsAll = route({
  method: 'post',
  path: '/v1/stats',
  summary: 'Statistics of all conversations, each and in total, as a job',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  headers: WAIT,
  body: z
    .strictObject({
      prices: parsedByLedger<PriceTable>(z.record(z.string(), z.unknown())).optional(),
      conversationId: z.string().min(1).optional().meta({ description: 'Only this conversation' }),
    })
    .meta({ id: 'StatsRequest' }),
  answer: jobOf('StatsJob', { result: allStats, progress: record({ conversations: count }) }),
  status: 202,
})

const verifyBody = z
  .strictObject({
    checkpoint: against.optional().meta({ description: 'Proves that nothing before this checkpoint has changed' }),
  })
  .meta({ id: 'Verify' })

export const verify = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/verifications',
  summary: 'Verifies a conversation, as a job',
  roles: ['audit', 'operate'],
  reach: 'conversation',
  carries: { call: calls.verify, args: ['conversation'] },
  params: ofConversation,
  headers: WAIT,
  body: verifyBody,
  answer: jobOf('VerificationJob', { result: verification, progress: verifyProgress }),
  status: 202,
})

export const verifyAll = route({
  method: 'post',
  path: '/v1/verifications',
  summary: 'Verifies all conversations, as a job',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  headers: WAIT,
  body: verifyBody,
  answer: jobOf('VerificationOfAllJob', { result: verification, progress: verifyProgress }),
  status: 202,
})
