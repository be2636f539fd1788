/** Calls of an agent that keeps its own message list: compaction as one call, and its tools. */
import { z } from 'zod'
import { count, optional, parsedByLedger, record } from '../answer.js'
import { answers, chatMessage } from '../answers/context.js'
import { message, ofConversation, whole } from '../fields.js'
import { route } from '../route.js'

export const compress = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/compressions',
  summary:
    'Takes the agent’s complete message list, records new messages, compacts if due, and returns the list to send to the model. If something fails, `error` says so and `history` is still usable',
  roles: ['append'],
  reach: 'conversation',
  params: ofConversation,
  body: z.strictObject({ messages: z.array(message).max(100_000) }).meta({ id: 'Compress' }),
  answer: record({
    history: z.array(chatMessage),
    batchesCreated: count,
    messagesCompressed: count,
    tokensEstimateBefore: count,
    tokensEstimateAfter: count,
    answers: optional(answers),
    error: optional(z.looseObject({ kind: z.string(), message: z.string() })),
  }).meta({ id: 'Compressed' }),
})

export const useTool = route({
  method: 'post',
  path: '/v1/conversations/{conversation}/tools/{tool}',
  summary: 'Answers a call of the tool `memory_read` or `compact_context` with the content of the tool message',
  roles: ['read'],
  reach: 'conversation',
  params: z.object({ ...ofConversation.shape, tool: z.enum(['memory_read', 'compact_context']) }),
  query: z.object({
    hitCharacters: whole(1, 1_000_000, 'Most characters of one hit. Default 2000').optional(),
    answerCharacters: whole(1, 10_000_000, 'Most characters of all hits. Default 16000').optional(),
  }),
  body: parsedByLedger<object>(
    z.looseObject({}).meta({ id: 'ToolArguments', description: 'Arguments of the model’s call' }),
  ),
  answer: record({ content: z.string() }).meta({ id: 'ToolAnswer' }),
})
