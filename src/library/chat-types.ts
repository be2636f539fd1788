/** The handle of a conversation, as an agent uses it. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/messages.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import type { Context } from '../domain/compaction/context.js'
import type { Completion, RequestedCall } from '../application/model-apis/completions.js'
import type { AiSdkContext, AnthropicContext, OpenAiResponsesContext } from '../application/model-apis/contexts.js'
import type { AgentTool, ToolInputSchema } from './agent-tools.js'
import type { AppendOptions, AppendResult, RequestOptions, WaitOptions } from './ledger-options.js'

/** Size limits of the answers of the memory tools, and the actor of the handle's calls. */
export type ChatOptions = OptionsOf<typeof calls.conversation>

/** Fields of a user message in addition to its content: `id`, `pinned`, `name`, `created_at`, `attributes`. */
export type UserMessageFields = Omit<MessageInput, 'role' | 'content'>

/** The memory tools `memory_read` and `compact_context`, in the form that each API takes. */
export interface ChatTools {
  /** `tools` of OpenAI's chat API. */
  readonly openai: AgentTool['definition'][]
  /** `tools` of OpenAI's Responses API. */
  readonly responses: {
    type: 'function'
    name: string
    description: string
    parameters: { [keyword: string]: unknown }
    strict: boolean
  }[]
  /** `tools` of Anthropic's API. */
  readonly anthropic: {
    name: string
    description: string
    input_schema: { type: 'object'; [keyword: string]: unknown }
  }[]
  /** `tools` of the AI SDK. They have no `execute`: `runTools` runs them. */
  readonly aiSdk: Record<string, { description: string; inputSchema: ToolInputSchema }>
  /** The tools with their functions, for other APIs. */
  readonly list: readonly AgentTool[]
}

/** Options of a handle's context. */
export type ChatContextOptions = OptionsOf<typeof calls.chatContext>

/** The attributes of a context without its messages. */
export type ContextFigures = Omit<Context, 'messages'>

/** A recorded answer. */
export interface RecordedAnswer extends AppendResult {
  /** Text of the answer. Empty if the model only calls tools. */
  readonly text: string
  /** Calls that have no result yet: pass the completion to `runTools`. */
  readonly calls: readonly RequestedCall[]
}

/**
 * The agent's own tools by name. A function takes the parsed arguments (the text, for a custom tool of OpenAI). A
 * result that is not a string is recorded as JSON.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- each function declares the type of its own arguments
export type ToolFunctions = Readonly<Record<string, (args: any) => unknown>>

/** A recorded result of a tool call. */
export interface ToolResult {
  /** Id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** Content of the tool message. */
  readonly content: string
  /** If true, the tool threw, its arguments are not JSON, or there is no tool of this name. */
  readonly isError: boolean
}

/**
 * A handle of one conversation. It remembers the context that it returned last, so that the next answer is recorded
 * with it. Use one handle for one sequence of calls.
 */
export interface Chat {
  /** The conversation. */
  readonly conversationId: string
  /** The memory tools, in the form that each API takes. */
  readonly tools: ChatTools
  /** Records a message of the user. */
  user(content: NonNullable<MessageInput['content']>, fields?: UserMessageFields): Promise<AppendResult>
  /** Records messages, as `ledger.append` does. */
  append(messages: MessageInput | readonly MessageInput[], options?: AppendOptions): Promise<AppendResult>
  /** The context to send to the model, as `ledger.context` returns it. */
  context(options?: WaitOptions & { readonly api?: 'openai' }): Promise<Context>
  /** The context as `instructions` and `input` of OpenAI's Responses API. */
  context(options: WaitOptions & { readonly api: 'responses' }): Promise<ContextFigures & OpenAiResponsesContext>
  /** The context as messages of Anthropic's API. */
  context(options: WaitOptions & { readonly api: 'anthropic' }): Promise<ContextFigures & AnthropicContext>
  /** The context as messages of the AI SDK. */
  context(options: WaitOptions & { readonly api: 'aiSdk' }): Promise<ContextFigures & AiSdkContext>
  /**
   * Records the answer of a model: a completion or a response of OpenAI, a message of Anthropic, a stream of one of these,
   * which is awaited to its end, or a result of the AI SDK. The message gets the model, the token usage, and in `answers` the context that this handle returned last.
   */
  record(completion: Completion, options?: RequestOptions): Promise<RecordedAnswer>
  /**
   * Runs the tool calls of a recorded completion, one after the other, and records each result: calls of `functions`,
   * and of the memory tools. An error becomes a result that reports it. Returns the results; empty if the completion has
   * no open calls.
   */
  runTools(completion: Completion, functions?: ToolFunctions): Promise<readonly ToolResult[]>
  /** Excludes a message from compaction. Every later context shows it word for word. */
  pin(messageId: string, options?: RequestOptions): Promise<void>
  /** Unpins a message. The next cycle may compact it. */
  unpin(messageId: string, options?: RequestOptions): Promise<void>
}
