/** What an agent does that keeps a list of its own: compaction as one call, and its tools. */
import { z } from 'zod'
import { ofConversation, report, whole } from './fields.js'
import { message } from './messages.js'
import { route } from './route.js'

/** A host's own list, for the one to send. */
export const compress = route({
  id: 'compress',
  method: 'post',
  path: '/v1/conversations/{conversation}/compressions',
  summary:
    'Takes the whole list of an agent that keeps one: records what is new in it, compacts where due, and answers the list to send to the model. What goes wrong is in `error`, and `history` is usable all the same',
  roles: ['append'],
  reach: 'conversation',
  params: ofConversation,
  body: z.strictObject({ messages: z.array(message).max(100_000) }).meta({ id: 'Compress' }),
  answer: report('Compressed', { history: z.array(z.looseObject({ role: z.string() })) }),
})

/** A tool of the agent. */
export const useTool = route({
  id: 'useTool',
  method: 'post',
  path: '/v1/conversations/{conversation}/tools/{tool}',
  summary:
    'Answers a call of a tool of the agent’s own, `memory_read` or `compact_context`, with the content of the tool message',
  roles: ['read'],
  reach: 'conversation',
  params: z.object({ ...ofConversation.shape, tool: z.enum(['memory_read', 'compact_context']) }),
  query: z.object({
    hitCharacters: whole(1, 1_000_000, 'Characters of one hit', 'Default 2000').optional(),
    answerCharacters: whole(1, 10_000_000, 'Characters of all hits together', 'Default 16000').optional(),
  }),
  body: z.looseObject({}).meta({ id: 'ToolArguments', description: 'The arguments that the model wrote' }),
  answer: z.object({ content: z.string() }).meta({ id: 'ToolAnswer' }),
})
