/** Conversations, and their context. */
import { z } from 'zod'
import { VIEWS } from '../../domain/values/view-names.js'
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

const behind = z.looseObject({}).optional().meta({ description: 'What the read models do not show yet' })

/** Conversations, page by page. */
export const listConversations = route({
  id: 'listConversations',
  method: 'get',
  path: '/v1/conversations',
  summary: 'Conversations by their ids, page by page. One that is there all the while is on exactly one page.',
  roles: ['read', 'audit', 'operate'],
  reach: 'some',
  query: z.object({
    cursor,
    limit: limit(1_000, 100),
    scope: z.string().min(1).optional(),
    prefix: z.string().min(1).optional().meta({ description: 'Only ids that begin with this' }),
    match: z.string().min(1).optional().meta({ description: 'Only ids that have this in them' }),
    since: z.string().optional().meta({ description: 'Only those with a fact at or after this time' }),
    until: z.string().optional().meta({ description: 'Only those without a fact at or after this time' }),
    sort: z
      .enum(['id', 'updated', 'messages', 'tokens'])
      .optional()
      .meta({ description: 'Default id. Another order changes under whoever turns pages, so it has one page alone' }),
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
  summary: 'One conversation as lists show it; the ETag is its revision',
  roles: ['read', 'audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object(wait),
  headers: { 'if-none-match': 'An ETag: 304 where it is still the one' },
  answer: conversation,
})

/** What to send to the model. */
export const getContext = route({
  id: 'getContext',
  method: 'get',
  path: '/v1/conversations/{conversation}/context',
  summary: 'The context to send to the model, now or as it was',
  roles: ['read', 'audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ at: at.optional(), view: z.enum(VIEWS).optional(), ...wait }),
  headers: { 'if-none-match': 'An ETag: 304 where it is still the one' },
  answer: report('Context', {
    conversationId: z.string(),
    revision,
    hash: z.string(),
    tokens: z.int(),
    messages: z.array(z.looseObject({ role: z.string() })),
    messageIds: z.array(z.string().nullable()),
    viewAt: z.int().optional(),
  }),
})

/** What tells this ledger from another. */
export const getLedger = route({
  id: 'getLedger',
  method: 'get',
  path: '/v1/ledger',
  summary: 'What tells this ledger’s log from any other',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  answer: report('Identity', { name: z.string(), origin: z.looseObject({}).optional() }),
})

/** Compaction behind the appends. */
export const settle = route({
  id: 'settle',
  method: 'post',
  path: '/v1/conversations/{conversation}/settled',
  summary: 'Answers when compaction behind the appends of this process has ended',
  roles: ['append', 'operate'],
  reach: 'conversation',
  params: ofConversation,
})
