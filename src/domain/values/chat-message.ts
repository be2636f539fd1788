/**
 * Types of messages in the OpenAI chat API, for input and output. They are written by hand, so that they are assignable
 * to and from the types of the package `openai` without a cast, and so that editors show a description of each field.
 * `message.ts` parses the input.
 */

/** Text. */
export type TextPart = { type: 'text'; text: string }
/** An image, as an address or a `data:` URL. */
export type ImagePart = { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
/** Audio, as base64. */
export type AudioPart = { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }
/** A file, as base64 or by its id at the provider. */
export type FilePart = { type: 'file'; file: { file_data?: string; file_id?: string; filename?: string } }
/** The model's refusal to answer. */
export type RefusalPart = { type: 'refusal'; refusal: string }

/** A call of a function tool. */
export type FunctionCall = {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
  custom?: never
}
/** A call of a custom tool, which takes free text. */
export type CustomCall = { id: string; type: 'custom'; custom: { name: string; input: string }; function?: never }

/** An instruction from the operator of the agent. */
export type InstructionMessage = {
  role: 'system' | 'developer'
  content: string | TextPart[]
  name?: string
  tool_calls?: never
  tool_call_id?: never
}
/** A message of the user. */
export type UserMessage = {
  role: 'user'
  content: string | (TextPart | ImagePart | AudioPart | FilePart)[]
  name?: string
  tool_calls?: never
  tool_call_id?: never
}
/** A message of the model, with its tool calls. */
export type AssistantMessage = {
  role: 'assistant'
  content: string | (TextPart | RefusalPart)[] | null
  name?: string
  tool_calls?: (FunctionCall | CustomCall)[]
  tool_call_id?: never
}
/** The result of a tool call. */
export type ToolMessage = {
  role: 'tool'
  content: string | TextPart[]
  name?: never
  tool_calls?: never
  tool_call_id: string
}

/**
 * A message that the OpenAI chat API accepts. Fields and parts that only one provider defines are present too,
 * unchanged (`refusal`, `reasoning_content`, a part `thinking`), but these types list only those of the API.
 */
export type ChatMessage = InstructionMessage | UserMessage | AssistantMessage | ToolMessage

/** A content part of any version of the chat API, as input. */
export interface ChatPart {
  /** `text`, `image_url`, `input_audio`, `file` or `refusal`. */
  readonly type: string
  /** Text of a `text` part. */
  readonly text?: string
  /** Address or `data:` URL of an `image_url` part. */
  readonly image_url?: { readonly url: string }
  /** Base64 data and format of an `input_audio` part. */
  readonly input_audio?: { readonly data: string; readonly format: string }
  /** Base64 data and name, or the provider's id, of a `file` part. */
  readonly file?: object
  /** Text of a `refusal` part. */
  readonly refusal?: string
}

/** A content part, as input: one of the chat API, or any other object with a type, which is recorded unchanged. */
export type MessagePart = ChatPart | { readonly type: string; readonly [field: string]: unknown }

/** A tool call, as input: of a function, or of another kind that its type names. */
export interface MessageCall {
  /** The result has the same value in its `tool_call_id`. */
  readonly id: string
  /** Default `function`. */
  readonly type?: string
  /** For type `function`: the name, and the arguments as JSON text. */
  readonly function?: { readonly name: string; readonly arguments: string } | undefined
  /** For type `custom`: the name and the input. */
  readonly custom?: { readonly name: string; readonly input: string } | undefined
}

/**
 * A message that `append` and `compress` accept: a message of the OpenAI chat API, plus the ledger's fields (`id`,
 * `created_at`, `pinned`, `attributes`, `answers`, `subjects`). Every message type of the package `openai` is assignable to it.
 * Other fields belong to a provider and are recorded unchanged.
 */
export interface MessageInput {
  /**
   * Permanent id of the message. Appending it again records nothing. Default: derived from the conversation and the
   * message's position.
   */
  readonly id?: string | undefined
  /**
   * Role of the author. `function` is here only because the types of `openai` include it; the chat API has retired it,
   * and the ledger rejects it with a hint.
   */
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  /** Text or content parts. May be null or absent if the message has tool calls. */
  readonly content?: string | readonly MessagePart[] | null | undefined
  /** Name of the author. */
  readonly name?: string | undefined
  /** For role `assistant`: the tool calls. */
  readonly tool_calls?: readonly MessageCall[] | null | undefined
  /** For role `tool`: the id of the call that this result answers. */
  readonly tool_call_id?: string | undefined
  /**
   * Time of the message: ISO 8601 with a zone, milliseconds since 1970, or a `Date`. Default: the time of the append.
   */
  readonly created_at?: string | number | Date | undefined
  /** Excludes the message from compaction and always shows it word for word. */
  readonly pinned?: boolean | undefined
  /** Any JSON data. Recorded, and never sent to a model. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  /** Ids of the persons that the message is about. Only in an erasable ledger, where everything about a person can be erased. */
  readonly subjects?: readonly string[]
  /** For role `assistant`: revision and hash of the context that the message answers, from the result of `context`. */
  readonly answers?: { readonly revision: string; readonly hash: string } | undefined
  /** From JSON Lines files; recorded in the attributes. */
  readonly kind?: string | undefined
  /** For role `tool`: whether the call failed; recorded in the attributes. */
  readonly is_error?: boolean | undefined
  /** Provider field: the model's refusal to answer. */
  readonly refusal?: string | null | undefined
  /** Provider field: audio of the model, by its id. */
  readonly audio?: object | null | undefined
  /** Provider field: sources of the text. */
  readonly annotations?: readonly object[] | null | undefined
  /** Provider field: the model's reasoning. */
  readonly reasoning_content?: string | null | undefined
  /** Provider field: the model's reasoning. */
  readonly reasoning?: unknown
  /** Provider field: the end of a cached prefix. */
  readonly cache_control?: unknown
  /** Replaced by `tool_calls` in the chat API; recorded unchanged. */
  readonly function_call?: object | null | undefined
}
