/**
 * Messages as the OpenAI chat API has them, as types: what comes in, and what goes out. They are written by hand so
 * that the types of the package `openai` fit in both directions without a cast, and so that an editor shows what each
 * field is. `message.ts` parses what comes.
 */

/** A text. */
export type TextPart = { type: 'text'; text: string }
/** An image, by its address or as a `data:` URL. */
export type ImagePart = { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
/** A recording, as base64. */
export type AudioPart = { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }
/** A file, as base64 or by its id at the provider. */
export type FilePart = { type: 'file'; file: { file_data?: string; file_id?: string; filename?: string } }
/** What the model said instead of an answer. */
export type RefusalPart = { type: 'refusal'; refusal: string }

/** A call of a function. */
export type FunctionCall = {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
  custom?: never
}
/** A call of a tool that takes free text. */
export type CustomCall = { id: string; type: 'custom'; custom: { name: string; input: string }; function?: never }

/** An instruction by whoever runs the agent. */
export type InstructionMessage = {
  role: 'system' | 'developer'
  content: string | TextPart[]
  name?: string
  tool_calls?: never
  tool_call_id?: never
}
/** What the user said. */
export type UserMessage = {
  role: 'user'
  content: string | (TextPart | ImagePart | AudioPart | FilePart)[]
  name?: string
  tool_calls?: never
  tool_call_id?: never
}
/** What the model said, and what it wants called. */
export type AssistantMessage = {
  role: 'assistant'
  content: string | (TextPart | RefusalPart)[] | null
  name?: string
  tool_calls?: (FunctionCall | CustomCall)[]
  tool_call_id?: never
}
/** What a call came to. */
export type ToolMessage = {
  role: 'tool'
  content: string | TextPart[]
  name?: never
  tool_calls?: never
  tool_call_id: string
}

/**
 * A message as the OpenAI chat API takes it. Fields and parts that only a provider knows are there too, as they came
 * (`refusal`, `reasoning_content`, a part `thinking`): the type names those of the API.
 */
export type ChatMessage = InstructionMessage | UserMessage | AssistantMessage | ToolMessage

/** A part of the chat API as it comes in, of any version of it. */
export interface ChatPart {
  /** What it is: `text`, `image_url`, `input_audio`, `file` or `refusal`. */
  readonly type: string
  /** Of a part `text`. */
  readonly text?: string
  /** Of a part `image_url`: its address, or the image as a `data:` URL. */
  readonly image_url?: { readonly url: string }
  /** Of a part `input_audio`: base64, and of which format. */
  readonly input_audio?: { readonly data: string; readonly format: string }
  /** Of a part `file`: base64 and a name, or its id at the provider. */
  readonly file?: object
  /** Of a part `refusal`. */
  readonly refusal?: string
}

/** A part of a content that comes in: one of the chat API, or any other that has a type and is kept as it came. */
export type MessagePart = ChatPart | { readonly type: string; readonly [field: string]: unknown }

/** A call that comes in: of a function, or of another kind that its type names. */
export interface MessageCall {
  /** What the result names as its `tool_call_id`. */
  readonly id: string
  /** Default `function`. */
  readonly type?: string
  /** Of a call of type `function`: its name, and its arguments as JSON text. */
  readonly function?: { readonly name: string; readonly arguments: string } | undefined
  /** Of a call of type `custom`. */
  readonly custom?: { readonly name: string; readonly input: string } | undefined
}

/**
 * What `append` and `compress` take: a message as the OpenAI chat API has it, and what we add (`id`, `created_at`,
 * `pinned`, `attributes`, `answers`). Any message that the package `openai` takes or gives is one. A field that is not
 * named here is a provider's and kept as it came.
 */
export interface MessageInput {
  /**
   * The message's own id, for ever: the same again records nothing. Default: made of the conversation and the message's
   * place.
   */
  readonly id?: string | undefined
  /**
   * Who says it. (`function`, which the chat API has retired, is here because the types of `openai` have it; it is
   * refused with what to do.)
   */
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  /** A text or parts; null, or left out, beside calls. */
  readonly content?: string | readonly MessagePart[] | null | undefined
  /** The name of whoever says it. */
  readonly name?: string | undefined
  /** Of an assistant's message: what it wants called. */
  readonly tool_calls?: readonly MessageCall[] | null | undefined
  /** Of a tool's message: the call that it answers. */
  readonly tool_call_id?: string | undefined
  /** When it was said: ISO 8601 with its zone, milliseconds since 1970, or a date. Default: when it is appended. */
  readonly created_at?: string | number | Date | undefined
  /** Keeps it out of compaction, and shows it word for word. */
  readonly pinned?: boolean | undefined
  /** Anything about it: recorded, and never sent to a model. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  /** Of an assistant's message: revision and hash of the context that it answers, as `context` gave them. */
  readonly answers?: { readonly revision: string; readonly hash: string } | undefined
  /** Of the JSON Lines files: recorded among the attributes. */
  readonly kind?: string | undefined
  /** Of a tool's message: whether the call failed; recorded among the attributes. */
  readonly is_error?: boolean | undefined
  /** A provider's: what the model said instead of an answer. */
  readonly refusal?: string | null | undefined
  /** A provider's: what the model heard or said, by its id. */
  readonly audio?: object | null | undefined
  /** A provider's: sources of what is said. */
  readonly annotations?: readonly object[] | null | undefined
  /** A provider's: what the model thought on the way. */
  readonly reasoning_content?: string | null | undefined
  /** A provider's: what the model thought on the way. */
  readonly reasoning?: unknown
  /** A provider's: where a cached prefix ends. */
  readonly cache_control?: unknown
  /** Retired by the chat API, for `tool_calls`: kept as it came. */
  readonly function_call?: object | null | undefined
}
