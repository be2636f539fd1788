/** The handle of a conversation. It uses the calls of a ledger only, so that it works over a service too. */
import { thrownSentence } from '../domain/values/thrown.js'
import type { Context } from '../domain/compaction/context.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import {
  answerText,
  openCalls,
  readCompletion,
  type Completion,
  type CompletionMessages,
  type RequestedCall,
} from '../application/model-apis/completions.js'
import { toAiSdkContext, toAnthropicContext, toOpenAiResponsesContext } from '../application/model-apis/contexts.js'
import type { AgentTool } from './agent-tools.js'
import type {
  Chat,
  ChatContextOptions,
  ChatOptions,
  ChatTools,
  RecordedAnswer,
  ToolFunctions,
  ToolResult,
  UserMessageFields,
} from './chat-types.js'
import type { AppendOptions, AppendResult, RequestOptions } from './ledger-options.js'
import * as calls from '../schema/calls/messages.js'
import type { Ledger } from './ledger.js'
import { bad, nameOf, optionsOf } from './options.js'

/** Writes a context for an API other than OpenAI's chat API. */
const WRITERS = { responses: toOpenAiResponsesContext, anthropic: toAnthropicContext, aiSdk: toAiSdkContext }

/** What a handle uses. */
export interface ChatParts extends Pick<Ledger, 'append' | 'context'> {
  pin(conversationId: string, messageId: string, options?: RequestOptions): Promise<void>
  unpin(conversationId: string, messageId: string, options?: RequestOptions): Promise<void>
  /** The memory tools of a conversation. */
  tools(conversationId: string, options: ChatOptions): readonly AgentTool[]
}

/** The tools in the form that each API takes. */
const toolsOf = (list: readonly AgentTool[]): ChatTools => ({
  openai: list.map(({ definition }) => definition),
  responses: list.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters: { ...parameters },
    strict: false,
  })),
  anthropic: list.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: { ...parameters, type: 'object' },
  })),
  aiSdk: Object.fromEntries(list.map(({ name, description, inputSchema }) => [name, { description, inputSchema }])),
  list,
})

/** The messages of a completion; throws if there are none. */
async function messagesOf(completion: Completion): Promise<readonly [MessageInput, ...MessageInput[]]> {
  let read: CompletionMessages | undefined
  try {
    read = await readCompletion(completion)
  } catch (error) {
    throw bad('completion', `cannot be read: ${thrownSentence(error)}`)
  }
  if (read === undefined)
    throw bad(
      'completion',
      'must be a completion or a response of OpenAI, a message of Anthropic, a stream of one of these, or a result of the AI SDK',
    )
  const [answer, ...others] = read.messages
  if (answer !== undefined) return [answer, ...others]
  throw bad('completion', read.error === undefined ? 'has no message' : `is an error: ${JSON.stringify(read.error)}`)
}

/** The result for a completion: the one of an earlier call with the same object, unless that call failed. */
async function once<Result>(
  results: WeakMap<object, Promise<Result>>,
  completion: unknown,
  run: () => Promise<Result>,
): Promise<Result> {
  // JavaScript callers may pass any value; reading it reports the error.
  if (typeof completion !== 'object' || completion === null) return await run()
  const known = results.get(completion)
  if (known !== undefined) return await known
  const result = run()
  results.set(completion, result)
  result.catch(() => results.delete(completion))
  return await result
}

class LedgerChat implements Chat {
  readonly tools: ChatTools
  /** The context that `context` returned last. */
  private lastContext: Pick<Context, 'revision' | 'hash'> | undefined
  /** The messages of a completion. A stream can be read only once. */
  private readonly read = new WeakMap<object, ReturnType<typeof messagesOf>>()
  /** The recorded answer of a completion, so that the same one is recorded once, and its tools run once. */
  private readonly recorded = new WeakMap<object, Promise<RecordedAnswer>>()
  private readonly ran = new WeakMap<object, Promise<readonly ToolResult[]>>()

  constructor(
    private readonly parts: ChatParts,
    readonly conversationId: string,
    private readonly options: ChatOptions,
  ) {
    this.tools = toolsOf(parts.tools(conversationId, options))
  }

  private get actor(): Pick<ChatOptions, 'actor'> {
    return this.options.actor === undefined ? {} : { actor: this.options.actor }
  }

  async user(content: NonNullable<MessageInput['content']>, fields: UserMessageFields = {}): Promise<AppendResult> {
    return await this.append({ ...fields, role: 'user', content })
  }

  async append(messages: MessageInput | readonly MessageInput[], options?: AppendOptions): Promise<AppendResult> {
    return await this.parts.append(this.conversationId, messages, { ...this.actor, ...options })
  }

  // The interface has one overload for each API, which an implementation cannot follow.
  // oxlint-disable-next-line typescript/no-explicit-any
  async context(options?: ChatContextOptions): Promise<any> {
    const { api = 'openai', ...wait } = optionsOf(calls.chatContext, options)
    const context = await this.parts.context(this.conversationId, wait)
    const { revision, hash } = context
    this.lastContext = { revision, hash }
    if (api === 'openai') return context
    const { messages, ...figures } = context
    return { ...figures, ...WRITERS[api](messages) }
  }

  async record(completion: Completion, options?: RequestOptions): Promise<RecordedAnswer> {
    return await once(this.recorded, completion, () => this.recordOnce(completion, options))
  }

  private async messagesOf(completion: Completion): ReturnType<typeof messagesOf> {
    return await once(this.read, completion, () => messagesOf(completion))
  }

  private async recordOnce(completion: Completion, options?: RequestOptions): Promise<RecordedAnswer> {
    const [answer, ...results] = await this.messagesOf(completion)
    const context = this.lastContext
    const answers = context && { revision: String(context.revision), hash: context.hash }
    const messages: MessageInput[] = [{ ...answer, ...(answers === undefined ? {} : { answers }) }, ...results]
    const appended = await this.append(messages, options)
    return { ...appended, text: answerText(messages), calls: openCalls(messages) }
  }

  async runTools(completion: Completion, functions: ToolFunctions = {}): Promise<readonly ToolResult[]> {
    return await once(this.ran, completion, () => this.runToolsOnce(completion, functions))
  }

  private async runToolsOnce(completion: Completion, functions: ToolFunctions): Promise<readonly ToolResult[]> {
    const results: ToolResult[] = []
    for (const call of openCalls(await this.messagesOf(completion))) {
      const result = await this.run(call, functions)
      const { id, content, isError } = result
      await this.append({ role: 'tool', tool_call_id: id, content, ...(isError ? { is_error: true } : {}) })
      results.push(result)
    }
    return results
  }

  private async run(call: RequestedCall, functions: ToolFunctions): Promise<ToolResult> {
    const { id, name } = call
    try {
      return { id, name, content: await this.contentOf(call, functions), isError: false }
    } catch (error) {
      return { id, name, content: JSON.stringify({ error: thrownSentence(error) }), isError: true }
    }
  }

  private async contentOf({ name, arguments: text, isText }: RequestedCall, functions: ToolFunctions): Promise<string> {
    const fn = Object.hasOwn(functions, name) ? functions[name] : undefined
    const tool = this.tools.list.find((each) => each.name === name)
    if (fn === undefined && tool === undefined) {
      const names = [...Object.keys(functions), ...this.tools.list.map((each) => each.name)]
      throw new Error(`there is no tool "${name}". Tools: ${names.join(', ')}`)
    }
    const args: unknown = isText ? text : JSON.parse(text === '' ? '{}' : text)
    const result: unknown = fn === undefined ? await tool?.call(args) : await fn(args)
    // JSON has no text for a function without a result.
    return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null')
  }

  async pin(messageId: string, options?: RequestOptions): Promise<void> {
    await this.parts.pin(this.conversationId, messageId, { ...this.actor, ...options })
  }

  async unpin(messageId: string, options?: RequestOptions): Promise<void> {
    await this.parts.unpin(this.conversationId, messageId, { ...this.actor, ...options })
  }
}

/** Creates handles. Throws if the id or an option is wrong. */
export const createChats =
  (parts: ChatParts): Ledger['conversation'] =>
  (conversationId, options) =>
    new LedgerChat(parts, nameOf('conversationId', conversationId), optionsOf(calls.conversation, options))
