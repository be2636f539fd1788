/** Conversations, and their context. */
import { z } from 'zod'
import { SHAPES } from '../domain/values/context-shapes.js'
import { VIEWS } from '../domain/values/view-names.js'
import { at, cursor, limit, next, ofConversation, report, revision, time, wait } from './fields.js'
import { route } from './route.js'

/** A conversation as lists show it. */
const conversation = z
  .looseObject({
    conversationId: z.string(),
    scope: z.string().optional(),
    program: z.string().optional(),
    parentId: z.string().optional(),
    revision,
    startedAt: time,
    lastRecordedAt: time,
    lastMessageAt: z.string().optional(),
    cycles: z.int(),
    messages: z.int(),
    liveMessages: z.int(),
    liveTokens: z.int(),
    messagesCompressed: z.int(),
    stopped: z.string().optional(),
  })
  .meta({ id: 'Conversation' })

const behind = z.looseObject({}).optional().meta({ description: 'How far the read models lag' })

/** Conversations, page by page. */
export const listConversations = route({
  id: 'listConversations',
  method: 'get',
  path: '/v1/conversations',
  summary: 'Lists conversations by id, page by page. A conversation that exists throughout is on exactly one page.',
  roles: ['read', 'audit', 'operate'],
  reach: 'some',
  query: z.object({
    cursor,
    limit: limit(1_000, 100),
    scope: z.string().min(1).optional(),
    prefix: z.string().min(1).optional().meta({ description: 'Beginning of the id' }),
    match: z.string().min(1).optional().meta({ description: 'Part of the id' }),
    since: z.string().optional().meta({ description: 'Only conversations with an event at or after this time' }),
    until: z.string().optional().meta({ description: 'Only conversations without an event at or after this time' }),
    sort: z
      .enum(['id', 'updated', 'messages', 'tokens'])
      .optional()
      .meta({ description: 'Default id. Other orders may change between pages, so they have one page only' }),
    ...wait,
  }),
  answer: z
    .object({
      conversations: z.array(conversation),
      unlisted: z.array(z.looseObject({ conversationId: z.string(), reason: z.string() })).optional(),
      behind,
      next,
    })
    .meta({ id: 'Conversations' }),
})

/** One conversation. */
export const getConversation = route({
  id: 'getConversation',
  method: 'get',
  path: '/v1/conversations/{conversation}',
  summary: 'Returns one conversation as lists show it; the ETag is its revision',
  roles: ['read', 'audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object(wait),
  headers: { 'if-none-match': 'An ETag: 304 if it is still current' },
  answer: conversation,
})

/** What to send to the model. */
export const getContext = route({
  id: 'getContext',
  method: 'get',
  path: '/v1/conversations/{conversation}/context',
  summary: 'Returns the context to send to the model, now or at an earlier moment',
  roles: ['read', 'audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ at: at.optional(), view: z.enum(VIEWS).optional(), ...wait }),
  headers: { 'if-none-match': 'An ETag: 304 if it is still current' },
  answer: report('Context', {
    conversationId: z.string(),
    revision,
    hash: z.string(),
    tokens: z.int(),
    messages: z.array(z.looseObject({ role: z.string() })),
    messageIds: z.array(z.string().nullable()),
    viewAt: z.int().optional(),
    viewOffset: z.int().optional(),
    adapted: z.array(z.int()).optional(),
    shape: z.enum(SHAPES).optional(),
  }),
})

/** Identity of the log. */
export const getLedger = route({
  id: 'getLedger',
  method: 'get',
  path: '/v1/ledger',
  summary: 'Identifies the log of this ledger',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  answer: report('Identity', { name: z.string(), origin: z.looseObject({}).optional() }),
})

/** Waits for background compaction. */
export const settle = route({
  id: 'settle',
  method: 'post',
  path: '/v1/conversations/{conversation}/settled',
  summary: 'Waits for background compaction of this process',
  roles: ['append', 'operate'],
  reach: 'conversation',
  params: ofConversation,
})
