import { z } from 'zod'
import { contentText } from '../../../domain/values/message.js'
import { quotation, quotedMessage, QUOTATION, quoteMessage, budgetOf } from '../quotation.js'
import { context as contextCall } from '../../../schema/calls/messages.js'
import { type ToolLedger, READS, toolOfConversation } from '../tool.js'

const output = z.object({
  ...quotation,
  conversationId: z.string(),
  revision: z.string(),
  hash: z.string(),
  tokens: z.number().int(),
  madeBy: z.string().optional().describe('The other program that built this context, if one did'),
  messagesInContext: z.number().int(),
  from: z.number().int().describe('Index in the context of the first message below, from 0'),
  messages: z.array(quotedMessage),
  next: z.number().int().optional().describe('To read the next part, pass this as `from`, and `revision` as `at`'),
})

/** The part of a context to read. */
interface ContextQuery {
  readonly at?: string | undefined
  readonly from?: number | undefined
}

/** The context of a conversation at a point, up to the limit of an answer. */
export async function contextAt(
  ledger: ToolLedger<'context'>,
  conversationId: string,
  { at, from = 0 }: ContextQuery,
  limit: { readonly text: number; readonly answer: number },
): Promise<z.infer<typeof output>> {
  const context = await ledger.context(conversationId, at === undefined ? {} : { at })
  const [first] = context.messages.slice(from, from + 1)
  const fitting = budgetOf(limit.answer).takeFirst(
    context.messages
      .slice(from)
      .map((message, index) => quoteMessage(message, context.messageIds[from + index], limit.text)),
  )
  // Each part has at least one message, so that a reader reaches the end even if a message has too many calls.
  const messages =
    fitting.length === 0 && first !== undefined
      ? [{ role: first.role, text: '', charactersLeftOut: contentText(first.content).length }]
      : fitting
  const next = from + messages.length
  return {
    quotation: QUOTATION,
    conversationId,
    revision: context.revision.toString(),
    hash: context.hash,
    tokens: context.tokens,
    ...(context.observed === undefined ? {} : { madeBy: context.observed.program }),
    messagesInContext: context.messages.length,
    from,
    messages: [...messages],
    ...(next >= context.messages.length ? {} : { next }),
  }
}

export const conversationAt = toolOfConversation(
  {
    name: 'conversation_at',
    title: 'The context at a point in time',
    description:
      'The exact context of the model at a point in time: summaries of compacted messages, then the other messages in order. Without `at`: the current context. Long contexts are returned in parts.',
    annotations: READS,
    calls: [contextCall],
    input: {
      at: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .describe('A revision (digits), a time such as 2026-03-01T12:30:00Z, or the id of a message'),
      from: z.number().int().min(0).max(10_000_000).optional().describe('Index of the first message to return, from 0'),
    },
    output,
  },
  (query, { ledger, conversationId, limits }) =>
    contextAt(ledger, conversationId, query, { text: limits.textCharacters, answer: limits.answerCharacters }),
)
