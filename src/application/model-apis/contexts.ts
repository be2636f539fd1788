/** Writes a context of the ledger for OpenAI's Responses API, Anthropic's API and the AI SDK. */
import type { ChatMessage, MessagePart } from '../../domain/values/chat-message.js'
import { asPrompt, fromLedger } from './ai-sdk-messages.js'
import { anthropicMessages } from './anthropic-messages.js'
import { contentText } from './api.js'
import { fieldsOf, listOf, textOf } from './json.js'
import { openaiResponses } from './openai-responses.js'

/** Text, as a block of Anthropic's API. */
export type AnthropicText = { type: 'text'; text: string }
/** The source of an image or a document in Anthropic's API. */
export type AnthropicImageSource =
  | { type: 'url'; url: string }
  | { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string }
/** A block of Anthropic's API. Blocks of other types that were recorded are sent unchanged. */
export type AnthropicBlock =
  | AnthropicText
  | { type: 'image'; source: AnthropicImageSource }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'tool_result'; tool_use_id: string; content: string | AnthropicText[] }

/** A context as Anthropic's API takes it. */
export interface AnthropicContext {
  /** The instructions, and after them the view of the compacted messages. Absent if there are none. */
  system?: string
  /** All other messages. */
  messages: { role: 'user' | 'assistant'; content: string | AnthropicBlock[] }[]
}

/** A content part of a message in OpenAI's Responses API. */
export type OpenAiInputPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'low' | 'high' | 'auto' }
  | { type: 'input_file'; file_data?: string; file_id?: string; filename?: string }
/** An item of OpenAI's Responses API. Items of other types that were recorded are sent unchanged. */
export type OpenAiInputItem =
  | { type: 'message'; role: 'user' | 'system' | 'developer'; content: OpenAiInputPart[] }
  | { type: 'message'; role: 'assistant'; content: string }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'function_call_output'; call_id: string; output: string }
  | { type: 'custom_tool_call'; call_id: string; name: string; input: string }
  | { type: 'custom_tool_call_output'; call_id: string; output: string }

/** A context as OpenAI's Responses API takes it. */
export interface OpenAiResponsesContext {
  /** The instructions, and after them the view of the compacted messages. Absent if there are none. */
  instructions?: string
  /** All other messages. */
  input: OpenAiInputItem[]
}

/** Text, as a part of the AI SDK. */
export type AiSdkText = { type: 'text'; text: string }
/** A file, as a part of the AI SDK. */
export type AiSdkFile = {
  type: 'file'
  mediaType: string
  data: { type: 'url'; url: URL } | { type: 'data'; data: string }
}
/** A call, as a part of the AI SDK. */
export type AiSdkCall = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
/** A result, as a part of the AI SDK. */
export type AiSdkResultPart = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text'; value: string }
}
/** A message of the AI SDK. Parts of other types that were recorded are sent unchanged. */
export type AiSdkMessage =
  | { role: 'user'; content: (AiSdkText | AiSdkFile)[] }
  | { role: 'assistant'; content: (AiSdkText | { type: 'reasoning'; text: string } | AiSdkCall)[] }
  | { role: 'tool'; content: AiSdkResultPart[] }

/** A context as the AI SDK takes it. */
export interface AiSdkContext {
  /** The instructions, and after them the view of the compacted messages. Absent if there are none. */
  instructions?: string
  /** All other messages. */
  messages: AiSdkMessage[]
}

const isInstruction = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer'

/** The text of the leading instructions, and the messages after them. Later instructions become messages of the user. */
function splitContext(context: readonly ChatMessage[]): {
  readonly instructions: string | undefined
  readonly rest: readonly ChatMessage[]
} {
  const first = context.findIndex((message) => !isInstruction(message))
  const leading = context.slice(0, first === -1 ? context.length : first)
  const rest = context
    .slice(leading.length)
    .map((message): ChatMessage =>
      isInstruction(message) ? { role: 'user', content: contentText(message.content) } : message,
    )
  const instructions = leading.map(({ content }) => contentText(content)).join('\n\n')
  return { instructions: leading.length === 0 ? undefined : instructions, rest }
}

const DATA_URL = /^data:([^;,]*);base64,(.*)$/su

/** An image or a file of the chat API as a block of Anthropic's API; other parts unchanged. */
function toAnthropicPart(part: MessagePart): MessagePart {
  const { type, image_url: image, file } = fieldsOf(part)
  const url = textOf(fieldsOf(type === 'file' ? file : image)[type === 'file' ? 'file_data' : 'url'])
  if ((type !== 'image_url' && type !== 'file') || url === undefined) return part
  const [, mediaType, data] = DATA_URL.exec(url) ?? []
  const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type: mediaType, data }
  return { type: type === 'file' ? 'document' : 'image', source }
}

const withAnthropicParts = (message: ChatMessage): ChatMessage =>
  Array.isArray(message.content)
    ? // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the writer passes parts on by their type
      ({ ...message, content: message.content.map(toAnthropicPart) } as ChatMessage)
    : message

/** A context as Anthropic's API takes it. */
export function toAnthropicContext(context: readonly ChatMessage[]): AnthropicContext {
  const { instructions, rest } = splitContext(context)
  const converted = rest.map((message) => ({
    chat: withAnthropicParts(message),
    source: undefined,
    isUnchanged: false,
  }))
  const { messages } = anthropicMessages.writeRequest({}, converted)
  return {
    ...(instructions === undefined ? {} : { system: instructions }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the writer makes blocks of these types
    messages: messages as AnthropicContext['messages'],
  }
}

/** If an answer has text only, its text is the content: parts of an answer would need the ids of the provider. */
function withTextContent(item: unknown): unknown {
  const { role, content } = fieldsOf(item)
  const parts = listOf(content).map(fieldsOf)
  const isText = role === 'assistant' && parts.every(({ type }) => type === 'output_text')
  return isText ? { ...fieldsOf(item), content: parts.map(({ text }) => textOf(text) ?? '').join('\n') } : item
}

/** A context as OpenAI's Responses API takes it. */
export function toOpenAiResponsesContext(context: readonly ChatMessage[]): OpenAiResponsesContext {
  const { instructions, rest } = splitContext(context)
  const outgoing = rest.map((chat) => ({ chat, source: undefined, isUnchanged: false }))
  const { input } = openaiResponses.writeRequest({}, outgoing)
  return {
    ...(instructions === undefined ? {} : { instructions }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the writer makes items of these types
    input: listOf(input).map(withTextContent) as OpenAiInputItem[],
  }
}

/** A context as the AI SDK takes it. */
export function toAiSdkContext(context: readonly ChatMessage[]): AiSdkContext {
  const { instructions, rest } = splitContext(context)
  return {
    ...(instructions === undefined ? {} : { instructions }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the converter makes parts of these types
    messages: asPrompt(rest.map(fromLedger)) as unknown as AiSdkContext['messages'],
  }
}
