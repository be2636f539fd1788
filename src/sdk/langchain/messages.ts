/**
 * Messages of LangChain as the chat API has them, and back. What the chat API has no field for is kept in `langchain`
 * beside the message.
 */
import type { BaseMessage } from 'langchain'
import { z } from 'zod'
import type { ChatMessage, MessageInput, MessagePart } from '../../domain/values/chat-message.js'
import type { MessageForm } from '../whole-list.js'
import { missingPeer } from '../missing-peer.js'

const { AIMessage, HumanMessage, SystemMessage, ToolMessage, createMiddleware } = await import('langchain').catch(
  missingPeer('langchain', 'context-ledger/langchain'),
)

export { AIMessage, createMiddleware, SystemMessage }

const fieldsSchema = z.record(z.string(), z.unknown())
const keptSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  additional_kwargs: fieldsSchema.optional(),
  response_metadata: fieldsSchema.optional(),
  status: z.enum(['success', 'error']).optional(),
})
type Kept = z.infer<typeof keptSchema>

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Blocks that the chat API has as well, or that the ledger keeps as they are. */
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

function blockOf(given: MessagePart): Record<string, unknown> {
  const { part, ...block }: Record<string, unknown> = { ...given }
  return given.type === 'sdk_part' && isObject(part) ? { ...part } : block
}

const contentOf = (content: unknown): string | MessagePart[] =>
  typeof content === 'string' ? content : Array.isArray(content) ? content.map(partOf) : ''

/** Of a model's metadata, what decides how its message is read when it goes back. */
const READ_BY = new Set(['model_provider', 'output_version'])

function keptOf(message: BaseMessage): { readonly langchain?: Kept } {
  const { id, additional_kwargs: fields, response_metadata: metadata } = message
  const readBy = Object.entries(isObject(metadata) ? metadata : {}).filter(([name]) => READ_BY.has(name))
  const kept: Kept = {
    ...(id === undefined || message.type !== 'ai' ? {} : { id }),
    ...((message.name ?? '') === '' || message.type !== 'ai' ? {} : { name: message.name }),
    ...(Object.keys(fields ?? {}).length === 0 ? {} : { additional_kwargs: fields }),
    ...(readBy.length === 0 ? {} : { response_metadata: Object.fromEntries(readBy) }),
    ...(ToolMessage.isInstance(message) && message.status === 'error' ? { status: 'error' as const } : {}),
  }
  return Object.keys(kept).length === 0 ? {} : { langchain: kept }
}

/** The role that a message has in the chat API; what says none of these says it as the user. */
function roleOf(message: BaseMessage): 'system' | 'user' | 'assistant' | 'tool' {
  if (message.type === 'ai') return 'assistant'
  if (message.type === 'system') return 'system'
  if (message.type === 'tool') return 'tool'
  const own: unknown = 'role' in message ? message.role : undefined
  return own === 'system' || own === 'assistant' ? own : 'user'
}

/** The message of the chat API that a message of LangChain comes to. */
export function toLedger(message: BaseMessage): MessageInput[] {
  const role = roleOf(message)
  // An agent puts its own name on an answer only once the answer is out.
  const name = (message.name ?? '') === '' || role === 'assistant' ? {} : { name: message.name }
  const content = contentOf(message.content)
  if (ToolMessage.isInstance(message))
    return [{ role: 'tool', tool_call_id: message.tool_call_id, content, ...name, ...keptOf(message) }]
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
      ...keptOf(message),
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

/** A message of LangChain from one of ours. */
export function fromLedger(message: ChatMessage): BaseMessage {
  const { langchain: own, name } = { langchain: undefined, ...message }
  const kept = keptSchema.safeParse(own).data ?? {}
  const given: string | readonly MessagePart[] = message.content ?? ''
  // What was kept came from a message of LangChain, and so did the blocks.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const fields = {
    ...kept,
    content: typeof given === 'string' ? given : given.map(blockOf),
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

/** How messages of LangChain are told. */
export const langchainForm: MessageForm<BaseMessage> = { toLedger, fromLedger }
