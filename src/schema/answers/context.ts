/** Contexts, live messages and batches. */
import { z } from 'zod'
import type { Batch } from '../../domain/conversation/batch.js'
import { SHAPES } from '../../domain/values/context-shapes.js'
import type { ChatMessage } from '../../domain/values/chat-message.js'
import { type MessageBody, messageFieldNames, recordedShape } from '../../domain/values/message.js'
import { VIEWS } from '../../domain/values/view-names.js'
import { count, oneOf, optional, orUndefined, record, tokens, verbatim } from '../answer.js'
import { revision, time } from '../fields.js'

/** A message as the OpenAI chat API has it. */
export const chatMessage = verbatim<ChatMessage>('object', 'A message of the OpenAI chat API')

export const answers = z.object({ revision: z.string(), hash: z.string() })
const open = verbatim<Readonly<Record<string, unknown>>>('object', 'Fields of the caller')

const overBudget = record({
  tokens,
  limit: count,
  reason: oneOf(
    'recent-messages',
    'pinned-and-leading',
    'too-little-to-fold',
    'open-calls',
    'summaries',
    'compaction-due',
    'compaction-failed',
    'cycle-undone',
  ),
  messageIds: z.array(z.string()),
})
const shortened = record({ id: z.string(), how: oneOf('shortened', 'left-out'), characters: count })

/** Why a context is not as it should be; absent fields if it is. */
export const limits = { overBudget: optional(overBudget), shortened: optional(z.array(shortened)) }

/** The id of a message, or null for an inserted one, which JSON needs in an array. */
const messageIdOrNull = z
  .codec(z.string().nullable(), z.string().or(z.undefined()), {
    decode: (id) => id ?? undefined,
    encode: (id) => id ?? null,
  })
  .meta({ type: ['string', 'null'] })

/** What to send to a model. */
export const context = record({
  conversationId: z.string(),
  revision,
  hash: z.string(),
  tokens,
  messages: z.array(chatMessage),
  messageIds: z.array(messageIdOrNull),
  viewAt: orUndefined(count),
  viewOffset: optional(count),
  adapted: optional(z.array(count)),
  shape: optional(oneOf(...SHAPES)),
  ...limits,
  observed: optional(
    record({
      program: z.string(),
      programVersion: optional(z.string()),
      summaries: optional(z.array(count)),
      summaryUnknown: optional(z.literal(true)),
    }),
  ),
  openCalls: optional(z.array(record({ callId: z.string(), name: z.string(), messageId: z.string() }))),
  inForce: optional(record({ view: oneOf(...VIEWS), hash: z.string() })),
}).meta({ id: 'Context' })

/** A live message. */
export const liveMessage = record({
  ...recordedShape(messageFieldNames),
  content: verbatim<MessageBody['content']>(['string', 'array', 'null'], 'A text, a list of parts, or null'),
  toolCalls: verbatim<NonNullable<MessageBody['toolCalls']>>('array', 'Tool calls of the message').optional(),
  createdAt: time,
  tokens,
  pinned: z.boolean(),
  attributes: open.optional(),
  extra: open.optional(),
  answers: answers.optional(),
  revision,
}).meta({ id: 'LiveMessage' })

/** The live messages of a moment. */
export const liveMessages = {
  conversationId: z.string(),
  revision,
  recordedAt: time,
  messages: z.array(liveMessage),
}

/** The fields that every batch has in an answer. */
export const batchFields = {
  batchId: z.string(),
  label: z.string(),
  depth: count,
  startTime: time,
  endTime: time,
  messageCount: count,
  firstRevision: revision,
  lastRevision: revision,
  content: z.string(),
  sections: verbatim<NonNullable<Batch['sections']>>('object', 'The named sections of the summary').optional(),
  erased: z.literal(true).optional(),
  tokens,
}

/** A batch in the view. */
export const batch = record({
  ...batchFields,
  revision,
  origin: record({ editionId: z.string().optional(), revision }).optional(),
}).meta({ id: 'Batch' })
