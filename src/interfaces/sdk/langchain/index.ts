/** `context-ledger/langchain`: conversations of LangChain's agents in a ledger. */
import { AIMessage, createMiddleware, SystemMessage, type AgentMiddleware, type BaseMessage } from 'langchain'
import type { MessageInput } from '../../../domain/values/chat-message.js'
import { z } from 'zod'
import { problem } from '../../../library/problem.js'
import { checkConversationId, checkOptions, type RecordingOptions, type ListRecordingOptions } from '../options.js'
import { sendList } from '../send-list.js'
import { langchainConverter, toLedger } from './messages.js'

export type { RecordingOptions as KeptIn, ListRecordingOptions as ListKeptIn }

/** Options of `ledgerMiddleware`. */
export interface LedgerMiddlewareOptions extends ListRecordingOptions {
  /** The conversation. Default: the thread of the run, `configurable.thread_id`. */
  readonly conversationId?: string
}

const isEmpty = ({ content }: BaseMessage): boolean => content.length === 0

/** Joins the leading system messages of a context, since some APIs accept only one. */
function joinSystemMessages(
  agentMessage: BaseMessage,
  leading: readonly BaseMessage[],
): InstanceType<typeof SystemMessage> {
  const [first] = leading
  if (first !== undefined && leading.length === 1 && SystemMessage.isInstance(first)) return first
  // As blocks, so that a prompt cache entry that ends after the agent's own instructions stays valid.
  const blocks = leading.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content,
  )
  return new SystemMessage({ content: blocks, additional_kwargs: agentMessage.additional_kwargs })
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

/** The messages to record for an answer. */
function answerOf(answer: InstanceType<typeof AIMessage>, answers: MessageInput['answers']): MessageInput[] {
  const { usage_metadata: usageMetadata, response_metadata: metadata } = answer
  const usage = usageSchema.parse(usageMetadata)
  const model: unknown = metadata['model_name'] ?? metadata['model']
  const tokens = {
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
    cacheReadTokens: usage?.input_token_details?.cache_read,
    cacheWriteTokens: usage?.input_token_details?.cache_creation,
    reasoningTokens: usage?.output_token_details?.reasoning,
  }
  const attributes = {
    ...(typeof model === 'string' ? { model } : {}),
    ...(answer.id === undefined ? {} : { responseId: answer.id }),
    ...(usage === undefined ? {} : { usage: tokens }),
  }
  return toLedger(answer).map((message) => ({
    ...message,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(answers === undefined ? {} : { answers }),
  }))
}

/**
 * Records an agent's conversation in a ledger: `createAgent({ model, middleware: [ledgerMiddleware({ ledger,
 * conversationId })] })`. The agent's state stays complete. The model receives the ledger's context, and its answer is
 * recorded with usage and the context that it answers. If the ledger fails, the model receives the agent's messages.
 */
export function ledgerMiddleware(options: LedgerMiddlewareOptions): AgentMiddleware {
  const reportProblem = checkOptions('ledgerMiddleware', options, ['ledger', 'conversationId', 'keptBy', 'onProblem'])
  const fixedId = options.conversationId === undefined ? undefined : checkConversationId(options.conversationId)
  const { ledger, keptBy = 'host' } = options

  return createMiddleware({
    name: 'ContextLedger',
    async wrapModelCall(request, handler) {
      const id = fixedId ?? request.runtime.configurable?.thread_id
      if (id === undefined)
        throw problem({
          kind: 'BadInput',
          field: 'conversationId',
          detail: 'is missing: pass it to ledgerMiddleware, or run the agent with configurable.thread_id',
        })
      const conversationId = checkConversationId(id)
      const { systemMessage } = request
      const list = [...(isEmpty(systemMessage) ? [] : [systemMessage]), ...request.messages]
      const sent = await sendList(ledger, { conversationId, list, keptBy }, langchainConverter)
      // The leading messages become one system message; system messages in the agent's own list stay there.
      const first = sent.messages.findIndex(({ type }) => type !== 'system')
      const leadingMessages = sent.messages.slice(0, first === -1 ? sent.messages.length : first)
      const agentMessages = new Set<BaseMessage>(request.messages)
      const leading = leadingMessages.filter((message) => !agentMessages.has(message))
      const rest = sent.messages.filter((message) => !leading.includes(message))
      const answer = await handler({
        ...request,
        messages: rest,
        ...(leading.every((message) => message === systemMessage)
          ? {}
          : { systemMessage: joinSystemMessages(systemMessage, leading) }),
      })
      if (!AIMessage.isInstance(answer)) return answer
      try {
        await ledger.append(conversationId, answerOf(answer, sent.answers))
      } catch (error) {
        reportProblem(error)
      }
      return answer
    },
  })
}
