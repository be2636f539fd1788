/**
 * Every way in which a context reaches a model: the library, `compress`, the SDK adapters and the proxy. Each plays a
 * conversation and gives the list of messages of each request, in the form of the OpenAI chat API. An SDK takes seconds to
 * load, so it is loaded when it is needed.
 */
import type { BaseMessage } from 'langchain'
import type { ChatMessage, Ledger, MessageInput } from '../../src/index.js'
import { startProxy } from '../../src/interfaces/proxy/server.js'
import {
  asPrompt,
  fromLedger as toSdk,
  toLedger as fromSdk,
  type SdkMessage,
} from '../../src/application/model-apis/ai-sdk-messages.js'
import { isLong } from './length.js'
import { startUpstream } from './upstream-stub.js'

/** A conversation to play in a ledger of its own. */
export interface Play {
  readonly ledger: Ledger
  readonly conversationId: string
  readonly messages: readonly MessageInput[]
  /** The window of the model, in tokens. */
  readonly modelMaxTokens: number
}

type Request = readonly object[]
type Way = (play: Play) => AsyncGenerator<Request>

/** A message with the fields of the chat API alone. */
function chatOf({ role, content, name, tool_calls: calls, tool_call_id: callId }: MessageInput): ChatMessage {
  const message = {
    role,
    content: content ?? null,
    ...(name === undefined ? {} : { name }),
    ...(calls === undefined || calls === null ? {} : { tool_calls: calls }),
    ...(callId === undefined ? {} : { tool_call_id: callId }),
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- messages of the chat API
  return message as ChatMessage
}

/** The lists that an agent sends: all messages before each answer. */
function* requestsOf(messages: readonly MessageInput[]): Generator<readonly MessageInput[]> {
  for (const [at, { role }] of messages.entries()) if (role === 'assistant' && at > 0) yield messages.slice(0, at)
}

async function* library({ ledger, conversationId, messages }: Play): AsyncGenerator<Request> {
  for (const message of messages) {
    await ledger.append(conversationId, message)
    await ledger.compact(conversationId)
    yield (await ledger.context(conversationId)).messages
  }
}

async function* compress({ ledger, conversationId, messages }: Play): AsyncGenerator<Request> {
  for (const list of requestsOf(messages)) yield (await ledger.compress(list, conversationId)).history
}

async function* aiSdk({ ledger, conversationId, messages }: Play): AsyncGenerator<Request> {
  const { MockLanguageModelV4 } = await import('ai/test')
  const { ledgerMiddleware } = await import('../../src/interfaces/sdk/ai-sdk/index.js')
  const middleware = ledgerMiddleware({ ledger, conversationId })
  const model = new MockLanguageModelV4()
  for (const list of requestsOf(messages)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both have the same parts
    const prompt = asPrompt(list.map((message) => toSdk(chatOf(message)))) as never
    const sent = await middleware.transformParams?.({ type: 'generate', params: { prompt }, model })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both have the same parts
    yield ((sent?.prompt ?? []) as readonly unknown[] as readonly SdkMessage[]).flatMap(fromSdk)
  }
}

async function* langchain({ ledger, conversationId, messages }: Play): AsyncGenerator<Request> {
  const { SystemMessage } = await import('langchain')
  const { ledgerMiddleware } = await import('../../src/interfaces/sdk/langchain/index.js')
  const { fromLedger: toLangchain, toLedger: fromLangchain } =
    await import('../../src/interfaces/sdk/langchain/messages.js')
  const middleware = ledgerMiddleware({ ledger, conversationId })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- called as an agent calls it
  const call = middleware.wrapModelCall as unknown as (
    request: object,
    handler: (sent: { systemMessage: BaseMessage; messages: readonly BaseMessage[] }) => undefined,
  ) => Promise<unknown>
  for (const list of requestsOf(messages)) {
    const sources = list.map((message) => toLangchain(chatOf(message)))
    const leads = sources[0]?.type === 'system' ? 1 : 0
    let sent: readonly BaseMessage[] = []
    await call(
      {
        systemMessage: leads === 1 ? sources[0] : new SystemMessage(''),
        messages: sources.slice(leads),
        runtime: {},
      },
      ({ systemMessage, messages: rest }) => {
        sent = [...(systemMessage.content.length === 0 ? [] : [systemMessage]), ...rest]
        return undefined
      },
    )
    yield sent.flatMap(fromLangchain)
  }
}

async function* openaiAgents({ ledger, conversationId, messages }: Play): AsyncGenerator<Request> {
  const { ledgerSession } = await import('../../src/interfaces/sdk/openai-agents/index.js')
  const { toItems, toMessages } = await import('../../src/interfaces/sdk/openai-agents/items.js')
  const session = ledgerSession({ ledger, sessionId: conversationId })
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const instructions = messages.slice(0, Math.max(0, first)).map(chatOf)
  for (const message of messages.slice(Math.max(0, first))) {
    if (message.role === 'assistant') yield [...instructions, ...toMessages(await session.getItems())]
    await session.addItems(toItems(chatOf(message)))
    await ledger.compact(conversationId)
  }
}

async function* proxy({ ledger, conversationId, messages, modelMaxTokens }: Play): AsyncGenerator<Request> {
  const upstream = await startUpstream()
  const server = await startProxy({
    ledger,
    upstream: upstream.url,
    port: 0,
    mode: 'compact',
    policy: { modelMaxTokens },
  })
  try {
    for (const list of requestsOf(messages)) {
      const next = messages[list.length]
      const message = next === undefined ? {} : chatOf(next)
      upstream.answerWith({
        json: {
          id: `answer-${String(list.length)}`,
          model: 'm',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
        },
      })
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': conversationId },
        body: JSON.stringify({ model: 'm', messages: list.map(chatOf) }),
      })
      await answer.text()
      await ledger.compact(conversationId)
      const body = upstream.calls.at(-1)?.body['messages']
      yield Array.isArray(body) ? body : []
    }
  } finally {
    await server.close()
    await upstream.close()
  }
}

const ALL_NAMES = ['library', 'compress', 'AI SDK', 'LangChain', 'OpenAI Agents', 'proxy'] as const
export type WayName = (typeof ALL_NAMES)[number]
/** `npm run test:all` also plays it with the SDKs, whose adapters have their own tests. */
export const WAY_NAMES: readonly WayName[] = isLong ? ALL_NAMES : ['library', 'compress', 'proxy']
export const WAYS: Readonly<Record<WayName, Way>> = {
  library,
  compress,
  'AI SDK': aiSdk,
  LangChain: langchain,
  'OpenAI Agents': openaiAgents,
  proxy,
}
