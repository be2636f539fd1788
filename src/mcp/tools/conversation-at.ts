import { z } from 'zod'
import { contentText } from '../../domain/values/message.js'
import { quotation, quotedMessage, QUOTATION, quoteMessage, roomOf } from '../quotation.js'
import { READS, toolOfConversation, type McpLedger } from '../tool.js'

const output = z.object({
  ...quotation,
  conversationId: z.string(),
  revision: z.string(),
  hash: z.string(),
  tokens: z.number().int(),
  madeBy: z.string().optional().describe('The other program that made this context, where one did'),
  messagesInContext: z.number().int(),
  from: z.number().int().describe('Place of the first message below in the context, from 0'),
  messages: z.array(quotedMessage),
  next: z.number().int().optional().describe('Give it as `from` to read on'),
})

/** What to read of a context. */
interface Asked {
  readonly at?: string | undefined
  readonly from?: number | undefined
}

/** The context of a conversation at a moment, so much of it as there is room for. */
export async function contextAt(
  ledger: Pick<McpLedger, 'context'>,
  conversationId: string,
  { at, from = 0 }: Asked,
  most: { readonly text: number; readonly answer: number },
): Promise<z.infer<typeof output>> {
  const context = await ledger.context(conversationId, at === undefined ? {} : { at })
  const [first] = context.messages.slice(from, from + 1)
  const fitting = roomOf(most.answer).first(
    context.messages
      .slice(from)
      .map((message, place) => quoteMessage(message, context.messageIds[from + place], most.text)),
  )
  // Whoever reads on comes to the end, whatever a message holds: its calls may be many.
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
    title: 'The context at a moment',
    description:
      'The exact context that the model had at a moment: summaries of what was compacted, then the messages, in order. Without `at`: as it is now. Long contexts come in parts.',
    annotations: READS,
    input: {
      at: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .describe('A revision (digits), a time such as 2026-03-01T12:30:00Z, or the id of a message'),
      from: z.number().int().min(0).max(10_000_000).optional().describe('Place of the first message to give, from 0'),
    },
    output,
  },
  (asked, { ledger, conversationId, limits }) =>
    contextAt(ledger, conversationId, asked, { text: limits.textCharacters, answer: limits.answerCharacters }),
)
