/** Routes of conversations: lists, totals, contexts, and waiting until a compaction has ended. */
import { z } from 'zod'
import { CONVERSATION_ORDERS } from '../../domain/values/conversation-order.js'
import { TOTAL_GROUPS } from '../../domain/reports/totals.js'
import { count, optional, orUndefined, record } from '../answer.js'
import { context as contextAnswer } from '../answers/context.js'
import { usageTotals } from '../answers/totals.js'
import { rowsLag } from '../answers/projections.js'
import { plainCall } from '../call.js'
import { inAddress } from '../call-over-http.js'
import { wait } from '../calls/common.js'
import * as calls from '../calls/conversations.js'
import { context } from '../calls/messages.js'
import { cursor, limit, next, ofConversation, revision, time } from '../fields.js'
import { route } from '../route.js'

/** A conversation as lists show it. */
const conversation = record({
  conversationId: z.string(),
  scope: orUndefined(z.string()),
  person: optional(z.string()),
  program: optional(z.string()),
  title: optional(z.string()),
  project: optional(z.string()),
  parentId: optional(z.string()),
  revision,
  startedAt: time,
  lastRecordedAt: time,
  lastMessageAt: orUndefined(z.string()),
  compactions: count,
  lost: optional(count),
  messages: count,
  liveMessages: count,
  liveTokens: count,
  messagesCompressed: count,
  relevance: optional(count),
  stopped: optional(z.string()),
}).meta({ id: 'Conversation' })

export const listConversations = route({
  method: 'get',
  path: '/v1/conversations',
  summary: 'Lists conversations by id, page by page. A conversation that exists throughout is on exactly one page.',
  roles: ['read', 'audit', 'operate'],
  reach: 'some',
  query: z.object({
    cursor,
    limit: limit(1_000, 100),
    ...inAddress(calls.list.options(), 'after', 'limit', 'sort', 'countLost'),
    sort: z.enum(CONVERSATION_ORDERS).optional().meta({
      description:
        'Default id. Other orders may change between pages, so they have one page only. relevance needs grep',
    }),
  }),
  answer: record({
    conversations: z.array(conversation),
    unlisted: optional(z.array(record({ conversationId: z.string(), reason: z.string() }))),
    behind: optional(rowsLag),
    next,
  }).meta({ id: 'Conversations' }),
})

export const getTotals = route({
  method: 'get',
  path: '/v1/totals',
  summary: 'Totals by program and project: conversations, messages, the usage of models and its cost',
  roles: ['read', 'audit', 'operate'],
  reach: 'some',
  query: z.object({
    ...inAddress(calls.totals.options(), 'limit', 'by', 'unscoped'),
    by: z.enum(TOTAL_GROUPS).optional().meta({ description: 'By what to group. Default: by both' }),
    limit: limit(10_000, 1_000),
  }),
  answer: usageTotals,
})

export const getConversation = route({
  method: 'get',
  path: '/v1/conversations/{conversation}',
  summary: 'Returns one conversation as lists show it; the ETag is its revision',
  roles: ['read', 'audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object(inAddress(wait())),
  headers: { 'if-none-match': 'An ETag: 304 if it is still current' },
  answer: conversation,
})

export const getContext = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/context',
  summary: 'Returns the context to send to the model, now or at an earlier moment',
  roles: ['read', 'audit'],
  reach: 'conversation',
  carries: { call: context, args: ['conversation'] },
  params: ofConversation,
  query: z.object(inAddress(context.options())),
  headers: { 'if-none-match': 'An ETag: 304 if it is still current' },
  answer: contextAnswer,
})

export const getLedger = route({
  method: 'get',
  path: '/v1/ledger',
  summary: 'Identifies the log of this ledger',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.identity') },
  answer: record({ name: z.string(), origin: orUndefined(record({ stream: z.string(), id: z.string() })) }).meta({
    id: 'Identity',
  }),
})

export const settle = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/settled',
  summary: 'Waits for background compaction of this process',
  roles: ['append', 'operate'],
  reach: 'conversation',
  carries: { call: plainCall('admin.waitForCompaction'), args: ['conversation'] },
  params: ofConversation,
})
