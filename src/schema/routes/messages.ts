/** Messages: appended, read, pinned. */
import { z } from 'zod'
import { roleSchema } from '../../domain/values/message.js'
import { optional, orUndefined, parsedByLedger, record } from '../answer.js'
import { liveMessages } from '../answers/context.js'
import { missingVectors, rowsLag } from '../answers/projections.js'
import { inAddress, inBody } from '../call-over-http.js'
import * as calls from '../calls/conversations.js'
import { messages, pin } from '../calls/messages.js'
import { cursor, limit, message, MOST_LISTED, next, ofConversation, policy, revision, time } from '../fields.js'
import { route } from '../route.js'

/** Body of an append. */
const appendBody = z
  .strictObject({
    messages: z.array(message).min(1).max(MOST_LISTED),
    policy: policy.optional(),
    scope: z.string().min(1).optional().meta({ description: 'Tenant or owner; set with the first message' }),
    correlationId: z.string().min(1).optional(),
  })
  .meta({ id: 'Append' })

/** Result of an append. */
const appended = record({
  conversationId: z.string(),
  revision,
  recorded: z.array(z.string()).meta({ description: 'Ids of the messages that this request recorded' }),
  position: orUndefined(revision),
}).meta({ id: 'Appended' })

export const appendMessages = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/messages',
  summary: 'Records messages, all or none; answers when they are on disk',
  roles: ['append'],
  reach: 'conversation',
  params: ofConversation,
  headers: {
    'if-match': 'Expected revision of the conversation as an ETag: 412 if it has another one',
    'if-none-match': '`*`: the conversation must be new',
    'idempotency-key':
      'Messages without an id get one derived from it, so that a repeated request records nothing and returns the same answer',
  },
  body: appendBody,
  answer: appended,
})

export const amend = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/amendments',
  summary: 'Withdraws messages and appends replacements, all or none; withdrawn messages stay in the log',
  roles: ['append'],
  reach: 'conversation',
  params: ofConversation,
  headers: {
    'if-match': 'Expected revision of the conversation as an ETag: 412 if it has another one',
    'if-none-match': '`*`: the conversation must be new',
  },
  body: z
    .strictObject({
      withdraw: z.union([z.literal('all'), z.array(z.string().min(1))]),
      append: z.array(message).max(MOST_LISTED).optional(),
      compaction: parsedByLedger<object>(
        z.looseObject({ program: z.string().min(1), sourceId: z.string().min(1) }),
      ).optional(),
      correlationId: z.string().min(1).optional(),
    })
    .meta({ id: 'Amend' }),
  answer: appended,
})

export const observe = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/observations',
  summary:
    'Records actions of another program: messages, withdrawals, replaced content, a compaction. The context stays the program’s own',
  roles: ['append'],
  reach: 'conversation',
  params: ofConversation,
  body: z
    .strictObject({
      observation: parsedByLedger<object>(
        z.looseObject({ program: z.string().min(1), messages: z.array(message).max(MOST_LISTED).optional() }),
      ),
      policy: policy.optional(),
      scope: z.string().min(1).optional(),
      correlationId: z.string().min(1).optional(),
    })
    .meta({ id: 'Observe' }),
  answer: appended,
})

export const getMessages = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/messages',
  summary: 'Returns the messages that no batch covers, complete as recorded, now or at a moment',
  roles: ['read', 'audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ cursor, limit: limit(10_000, 1_000), ...inAddress(messages.options()) }),
  headers: { 'if-none-match': 'An ETag: 304 if it is still current' },
  answer: record({ ...liveMessages, next }).meta({ id: 'LiveMessages' }),
})

const ofRequest = z.object(inAddress(pin.options(), 'actor'))

const ofPin = z.object({
  ...ofConversation.shape,
  message: z.string().min(1).meta({ description: 'Id of the message' }),
})

export const pinMessage = route({
  method: 'put',
  path: '/v1/conversations/{conversation}/pins/{message}',
  summary: 'Pins a message: it is excluded from compaction and shown word for word',
  roles: ['append', 'operate'],
  reach: 'conversation',
  params: ofPin,
  query: ofRequest,
})

export const unpinMessage = route({
  method: 'delete',
  path: '/v1/conversations/{conversation}/pins/{message}',
  summary: 'Unpins a message',
  roles: ['append', 'operate'],
  reach: 'conversation',
  params: ofPin,
  query: ofRequest,
})

/** Where a search stays, and what it looks for. */
const searchBody = z
  .strictObject({
    query: z.string().min(1),
    ...inBody(calls.search.options()),
  })
  .meta({ id: 'Search' })

export const search = route({
  method: 'post',
  path: '/v1/search',
  summary: 'Searches batches and messages of one conversation or one scope, best hit first',
  roles: ['read', 'audit'],
  reach: 'some',
  body: searchBody,
  answer: record({
    hits: z.array(
      record({
        conversationId: z.string(),
        batchId: z.string().nullable(),
        kind: z.enum(['message', 'batch']),
        role: optional(roleSchema),
        messageIds: z.array(z.string()),
        firstRevision: revision,
        lastRevision: revision,
        startTime: time,
        endTime: time,
        score: z.number(),
        text: z.string(),
      }).meta({ id: 'SearchHit' }),
    ),
    behind: optional(rowsLag),
    vectors: optional(record({ ...missingVectors, problem: optional(z.string()) })),
  }).meta({ id: 'SearchResult' }),
})
