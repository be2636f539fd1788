/**
 * Converts LangChain messages to those of the chat API, and back. Data without a field in the chat API is recorded in the
 * field `langchain` of the message.
 */
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from 'langchain'
import { z } from 'zod'
import type { ChatMessage, MessageInput, MessagePart } from '../../../domain/values/chat-message.js'
import type { MessageConverter } from '../../../application/model-apis/message-converter.js'

const fieldsSchema = z.record(z.string(), z.unknown())
const extraSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  additional_kwargs: fieldsSchema.optional(),
  response_metadata: fieldsSchema.optional(),
  status: z.enum(['success', 'error']).optional(),
})
type Extra = z.infer<typeof extraSchema>

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Block types that the ledger records unchanged. */
const KNOWN = new Set([
  'text',
  'image_url',
  'input_audio',
  'file',
  'reasoning',
  'thinking',
  'redacted_thinking',
  'refusal',
])

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

function partOf(block: unknown): MessagePart {
  if (typeof block === 'string') return { type: 'text', text: block }
  if (!isObject(block)) return { type: 'sdk_part', part: block }
  const type = textOf(block['type'])
  return KNOWN.has(type) ? { ...block, type } : { type: 'sdk_part', part: block }
}

function blockOf(ledgerPart: MessagePart): Record<string, unknown> {
  const { part, ...block }: Record<string, unknown> = { ...ledgerPart }
  return ledgerPart.type === 'sdk_part' && isObject(part) ? { ...part } : block
}

const contentOf = (content: unknown): string | MessagePart[] =>
  typeof content === 'string' ? content : Array.isArray(content) ? content.map(partOf) : ''

/** The metadata of a model that LangChain needs to convert the message back. */
const CONVERSION_METADATA = new Set(['model_provider', 'output_version'])

function extraField(message: BaseMessage): { readonly langchain?: Extra } {
  const { id, additional_kwargs: fields, response_metadata: metadata } = message
  const conversionMetadata = Object.entries(isObject(metadata) ? metadata : {}).filter(([name]) =>
    CONVERSION_METADATA.has(name),
  )
  const extra: Extra = {
    ...(id === undefined || message.type !== 'ai' ? {} : { id }),
    ...((message.name ?? '') === '' || message.type !== 'ai' ? {} : { name: message.name }),
    ...(Object.keys(fields ?? {}).length === 0 ? {} : { additional_kwargs: fields }),
    ...(conversionMetadata.length === 0 ? {} : { response_metadata: Object.fromEntries(conversionMetadata) }),
    ...(ToolMessage.isInstance(message) && message.status === 'error' ? { status: 'error' as const } : {}),
  }
  return Object.keys(extra).length === 0 ? {} : { langchain: extra }
}

/** The role of a message in the chat API. A message without one of these roles is the user's. */
function roleOf(message: BaseMessage): 'system' | 'user' | 'assistant' | 'tool' {
  if (message.type === 'ai') return 'assistant'
  if (message.type === 'system') return 'system'
  if (message.type === 'tool') return 'tool'
  const role: unknown = 'role' in message ? message.role : undefined
  return role === 'system' || role === 'assistant' ? role : 'user'
}

/** The message of the chat API for a LangChain message. */
export function toLedger(message: BaseMessage): MessageInput[] {
  const role = roleOf(message)
  // An agent adds its own name to an answer after the answer was recorded.
  const name = (message.name ?? '') === '' || role === 'assistant' ? {} : { name: message.name }
  const content = contentOf(message.content)
  if (ToolMessage.isInstance(message))
    return [{ role: 'tool', tool_call_id: message.tool_call_id, content, ...name, ...extraField(message) }]
  const calls = (AIMessage.isInstance(message) ? message.tool_calls : undefined) ?? []
  return [
    {
      role,
      content: calls.length > 0 && content === '' ? null : content,
      ...name,
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map((call, at) => ({
              id: call.id ?? `call-${String(at)}`,
              type: 'function' as const,
              function: { name: call.name, arguments: textOf(call.args) },
            })),
          }),
      ...extraField(message),
    },
  ]
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? { ...parsed } : { input: parsed }
  } catch {
    return { input: text }
  }
}

/** The LangChain message for one of the ledger. */
export function fromLedger(message: ChatMessage): BaseMessage {
  const { langchain, name } = { langchain: undefined, ...message }
  const extra = extraSchema.safeParse(langchain).data ?? {}
  const ledgerContent: string | readonly MessagePart[] = message.content ?? ''
  // The extra data and the blocks were read from a LangChain message.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const fields = {
    ...extra,
    content: typeof ledgerContent === 'string' ? ledgerContent : ledgerContent.map(blockOf),
    ...(name === undefined ? {} : { name }),
  } as { content: string; name?: string }
  switch (message.role) {
    case 'assistant':
      return new AIMessage({
        ...fields,
        tool_calls: (message.tool_calls ?? []).map((call) => ({
          id: call.id,
          type: 'tool_call' as const,
          name: call.function?.name ?? call.custom?.name ?? '',
          args: argumentsOf(call.function?.arguments ?? call.custom?.input ?? ''),
        })),
      })
    case 'tool':
      return new ToolMessage({ ...fields, tool_call_id: message.tool_call_id })
    case 'user':
      return new HumanMessage(fields)
    case 'system':
    case 'developer':
      return new SystemMessage(fields)
  }
}

/** Converts LangChain messages. */
export const langchainConverter: MessageConverter<BaseMessage> = { toLedger, fromLedger }
