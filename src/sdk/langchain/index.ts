/** `context-ledger/langchain`: conversations of LangChain's agents in a ledger. */
import type { AgentMiddleware, AIMessage as Answer, BaseMessage } from 'langchain'
import type { MessageInput } from '../../domain/values/chat-message.js'
import { z } from 'zod'
import { problem } from '../../library/problem.js'
import { conversationIdOf, keptIn, type KeptIn, type ListKeptIn } from '../given.js'
import { sendList } from '../whole-list.js'
import { AIMessage, createMiddleware, langchainForm, SystemMessage, toLedger } from './messages.js'

export type { KeptIn, ListKeptIn }

/** How an agent's conversation is kept. */
export interface LedgerMiddlewareOptions extends ListKeptIn {
  /** The conversation. Left out, it is the thread of the run: `configurable.thread_id`. */
  readonly conversationId?: string
}

const isEmpty = ({ content }: BaseMessage): boolean => content.length === 0

/** The system message of the agent, and behind it what the ledger shows: one message, since some APIs take no second. */
function joined(own: BaseMessage, shown: readonly BaseMessage[]): InstanceType<typeof SystemMessage> {
  const all = [...(isEmpty(own) ? [] : [own]), ...shown]
  const [first] = all
  if (first !== undefined && all.length === 1 && SystemMessage.isInstance(first)) return first
  // Blocks, so that a cached prefix that ends behind the agent's own instructions stays.
  const blocks = all.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content,
  )
  return new SystemMessage({ content: blocks, additional_kwargs: own.additional_kwargs })
}

const count = z.number().optional().catch(undefined)
const usageSchema = z
  .looseObject({
    input_tokens: count,
    output_tokens: count,
    input_token_details: z.looseObject({ cache_read: count, cache_creation: count }).optional().catch(undefined),
    output_token_details: z.looseObject({ reasoning: count }).optional().catch(undefined),
  })
  .optional()
  .catch(undefined)

/** What is recorded of an answer. */
function answerOf(answer: Answer, answers: MessageInput['answers']): MessageInput[] {
  const { usage_metadata: counted, response_metadata: metadata } = answer
  const usage = usageSchema.parse(counted)
  const model: unknown = metadata['model_name'] ?? metadata['model']
  const told = {
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
    cacheReadTokens: usage?.input_token_details?.cache_read,
    cacheWriteTokens: usage?.input_token_details?.cache_creation,
    reasoningTokens: usage?.output_token_details?.reasoning,
  }
  const attributes = {
    ...(typeof model === 'string' ? { model } : {}),
    ...(answer.id === undefined ? {} : { responseId: answer.id }),
    ...(usage === undefined ? {} : { usage: told }),
  }
  return toLedger(answer).map((message) => ({
    ...message,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(answers === undefined ? {} : { answers }),
  }))
}

/**
 * Keeps an agent's conversation in a ledger: `createAgent({ model, middleware: [ledgerMiddleware({ ledger,
 * conversationId })] })`. The agent's state stays whole; what the model is given is the ledger's context, and its answer
 * is recorded with usage and the context that it answers. Where the ledger fails the call goes on with its own messages.
 */
export function ledgerMiddleware(options: LedgerMiddlewareOptions): AgentMiddleware {
  const tell = keptIn('ledgerMiddleware', options, ['ledger', 'conversationId', 'keptBy', 'onProblem'])
  const own = options.conversationId === undefined ? undefined : conversationIdOf(options.conversationId)
  const { ledger, keptBy = 'host' } = options

  return createMiddleware({
    name: 'ContextLedger',
    async wrapModelCall(request, handler) {
      const id = own ?? request.runtime.configurable?.thread_id
      if (id === undefined)
        throw problem({
          kind: 'BadInput',
          field: 'conversationId',
          detail: 'is missing: give it to ledgerMiddleware, or run the agent with configurable.thread_id',
        })
      const conversationId = conversationIdOf(id)
      const { systemMessage } = request
      const list = [...(isEmpty(systemMessage) ? [] : [systemMessage]), ...request.messages]
      const sent = await sendList(ledger, { conversationId, list, keptBy }, langchainForm)
      // What is only shown goes with the system message; system messages among the agent's own stay where they are.
      const given = new Set<BaseMessage>(request.messages)
      const shown = sent.messages.filter(
        (message) => message.type === 'system' && message !== systemMessage && !given.has(message),
      )
      const rest = sent.messages.filter((message) => message !== systemMessage && !shown.includes(message))
      const answer = await handler({
        ...request,
        messages: rest,
        ...(shown.length === 0 ? {} : { systemMessage: joined(systemMessage, shown) }),
      })
      if (!AIMessage.isInstance(answer)) return answer
      try {
        await ledger.append(conversationId, answerOf(answer, sent.answers))
      } catch (error) {
        tell(error)
      }
      return answer
    },
  })
}
