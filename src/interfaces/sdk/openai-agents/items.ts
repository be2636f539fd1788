/**
 * Converts items of the OpenAI Agents SDK to messages of the chat API, and back. The items of one answer that are added
 * together (reasoning, text, calls) are one message, so that a compaction never separates a call from the reasoning that
 * it needs. Data without a field in the chat API is recorded in the field `openai_agents` of the message, by item.
 */
import { isRecord } from '../../../lib/is-record.js'
import type { AgentInputItem } from '@openai/agents'
import { z } from 'zod'
import type { ChatMessage, MessageInput, MessagePart } from '../../../domain/values/chat-message.js'
import { toJson } from '../options.js'

/** An item of any type. */
interface Item {
  readonly [field: string]: unknown
}

/** The data of items that the message has no field for. */
const extraSchema = z.looseObject({
  items: z.array(
    z.object({
      /** Where the message has the item: in some of its parts, in one of its calls, or as its only text. */
      as: z.enum(['parts', 'call', 'text', 'output']),
      /** The number of content parts that belong to the item. */
      parts: z.number().optional(),
      /** All other fields of the item. */
      rest: z.record(z.string(), z.unknown()),
      /** The fields of its parts except their texts, by index. */
      ofParts: z.array(z.record(z.string(), z.unknown())).optional(),
    }),
  ),
})
type ItemExtra = z.infer<typeof extraSchema>['items'][number]

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const BYTES = '$bytes'
/** A copy of a value as JSON, with bytes as base64 and without undefined fields. */
export const asJson = (value: unknown): unknown =>
  toJson('items', value, (_key, each) =>
    each instanceof Uint8Array ? { [BYTES]: Buffer.from(each).toString('base64') } : each,
  )
const fromJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(fromJson)
  if (!isRecord(value)) return value
  if (typeof value[BYTES] === 'string') return new Uint8Array(Buffer.from(value[BYTES], 'base64'))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fromJson(each)]))
}

const TEXTS = new Set(['input_text', 'output_text', 'text'])

function partToLedger(part: unknown): { readonly part: MessagePart; readonly extra: Item } {
  if (!isRecord(part)) return { part: { type: 'sdk_part', part }, extra: {} }
  const { text, image, ...rest } = part
  if (TEXTS.has(textOf(part['type'])) && typeof text === 'string') return { part: { type: 'text', text }, extra: rest }
  if (part['type'] === 'input_image' && typeof image === 'string')
    return { part: { type: 'image_url', image_url: { url: image } }, extra: rest }
  return { part: { type: 'sdk_part', part }, extra: {} }
}

function partFromLedger(ledgerPart: MessagePart, extra: Item, textType: string): unknown {
  const part: Item = { ...ledgerPart }
  if (part['type'] === 'sdk_part') return part['part']
  if (part['type'] === 'image_url' && isRecord(part['image_url']))
    return { type: 'input_image', ...extra, image: part['image_url']['url'] }
  return {
    ...(extra['type'] === 'input_image' ? {} : extra),
    type: TEXTS.has(textOf(extra['type'])) ? extra['type'] : textType,
    text: part['text'],
  }
}

const isCall = ({ type, callId }: Item): boolean =>
  typeof callId === 'string' && /(?<!hosted_tool|tool_search|program)_call$/u.test(textOf(type))
const isResult = ({ type, callId }: Item): boolean =>
  typeof callId === 'string' &&
  /_(?:call_result|call_output)$/u.test(textOf(type)) &&
  !textOf(type).startsWith('program')
const roleOf = ({ type, role }: Item): string | undefined =>
  (type === undefined || type === 'message') && typeof role === 'string' ? role : undefined

/** The field with the data that the chat API has no field for. */
const extraField = (items: readonly ItemExtra[]): object => ({ openai_agents: { items } })

/** A call of the chat API. If it is not a function call, it contains the complete item. */
function callOf(item: Item): NonNullable<MessageInput['tool_calls']>[number] {
  const { callId, name, arguments: args } = item
  if (item['type'] === 'function_call' && typeof name === 'string' && typeof args === 'string' && name !== '')
    return { id: textOf(callId), type: 'function', function: { name, arguments: args } }
  const call: { id: string; type: string; item: Item } = { id: textOf(callId), type: 'sdk_item', item }
  return call
}

function resultOf(item: Item): MessageInput {
  const { callId, output, ...rest } = item
  const base = { role: 'tool' as const, tool_call_id: textOf(callId) }
  if (item['type'] !== 'function_call_result')
    return { ...base, content: [{ type: 'sdk_part', part: item }], ...extraField([{ as: 'output', rest: {} }]) }
  if (typeof output === 'string') return { ...base, content: output, ...extraField([{ as: 'output', rest }]) }
  const isSinglePart = isRecord(output)
  const converted = (isSinglePart ? [output] : Array.isArray(output) ? output : []).map(partToLedger)
  const form = isSinglePart ? { one: true } : {}
  return {
    ...base,
    content: converted.map(({ part }) => part),
    ...extraField([
      {
        as: 'output',
        rest: { ...rest, ...form },
        parts: converted.length,
        ofParts: converted.map(({ extra }) => extra),
      },
    ]),
  }
}

/** Adds one item of an answer to the content or the calls of its message. */
function addToAnswer(
  item: Item,
  content: MessagePart[],
  calls: NonNullable<MessageInput['tool_calls']>[number][],
): ItemExtra {
  if (isCall(item)) {
    const call = callOf(item)
    calls.push(call)
    const { callId: _id, name: _name, arguments: _arguments, ...rest } = item
    return { as: 'call', rest: call.type === 'function' ? rest : {} }
  }
  if (roleOf(item) !== 'assistant') {
    content.push({ type: 'sdk_part', part: item })
    return { as: 'parts', parts: 1, rest: {} }
  }
  const { content: itemContent, role: _role, ...rest } = item
  if (typeof itemContent === 'string') {
    content.push({ type: 'text', text: itemContent })
    return { as: 'text', parts: 1, rest }
  }
  const converted = (Array.isArray(itemContent) ? itemContent : []).map(partToLedger)
  content.push(...converted.map(({ part }) => part))
  return { as: 'parts', parts: converted.length, rest, ofParts: converted.map(({ extra }) => extra) }
}

function answerOf(items: readonly Item[]): MessageInput {
  const content: MessagePart[] = []
  const calls: NonNullable<MessageInput['tool_calls']>[number][] = []
  const extra = items.map((item) => addToAnswer(item, content, calls))
  const [first] = content
  const single = content.length === 1 && first?.type === 'text' ? textOf('text' in first ? first.text : '') : undefined
  return {
    role: 'assistant',
    content: content.length === 0 ? (calls.length === 0 ? '' : null) : (single ?? content),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...extraField(extra),
  }
}

function inputOf(item: Item, role: 'system' | 'user'): MessageInput {
  const { content, role: _role, ...rest } = item
  if (typeof content === 'string')
    return {
      role,
      content,
      ...(Object.keys(rest).length === 0 ? {} : extraField([{ as: 'text', rest }])),
    }
  const converted = (Array.isArray(content) ? content : []).map(partToLedger)
  return {
    role,
    content: converted.map(({ part }) => part),
    ...extraField([{ as: 'parts', parts: converted.length, rest, ofParts: converted.map(({ extra }) => extra) }]),
  }
}

/** The messages for items that are added together. */
export function toMessages(items: readonly unknown[]): MessageInput[] {
  const messages: MessageInput[] = []
  let answer: Item[] = []
  const end = (): void => {
    if (answer.length > 0) messages.push(answerOf(answer))
    answer = []
  }
  for (const value of items) {
    const item = asJson(value)
    if (!isRecord(item)) continue
    const role = roleOf(item)
    if (role === 'user' || role === 'system') {
      end()
      messages.push(inputOf(item, role))
    } else if (isResult(item)) {
      end()
      messages.push(resultOf(item))
    } else {
      // New reasoning starts a new answer.
      if (item['type'] === 'reasoning' && answer.some(({ type }) => type !== 'reasoning')) end()
      // A repeated call id starts a new answer.
      if (isCall(item) && answer.some(({ callId }) => callId === item['callId'])) end()
      answer.push(item)
    }
  }
  end()
  return messages
}

const partsOf = (content: ChatMessage['content']): readonly MessagePart[] =>
  content === null || content === '' ? [] : typeof content === 'string' ? [{ type: 'text', text: content }] : content

function answerItems(message: Extract<ChatMessage, { role: 'assistant' }>, extra: readonly ItemExtra[]): unknown[] {
  const parts = [...partsOf(message.content)]
  const calls: { readonly [field: string]: unknown }[] = (message.tool_calls ?? []).map((call) => ({ ...call }))
  const recordedParts = extra.reduce((sum, item) => sum + (item.parts ?? 0), 0)
  const nextCall = (rest: Item): unknown => {
    const call = calls.shift()
    const named = call?.['function']
    if (!isRecord(named)) return call?.['item']
    return { ...rest, type: 'function_call', callId: call?.['id'], name: named['name'], arguments: named['arguments'] }
  }
  // The parts of a shortened answer may have been joined to one text.
  if (recordedParts !== parts.length || extra.length === 0)
    return [
      ...(parts.length === 0
        ? []
        : [
            {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: parts.map((part) => partFromLedger(part, {}, 'output_text')),
            },
          ]),
      ...calls.slice().map(() => nextCall({})),
    ]
  return extra.map((item) => {
    if (item.as === 'call') return nextCall(item.rest)
    const itemParts = parts.splice(0, item.parts ?? 0)
    if (item.as === 'text')
      return { ...item.rest, role: 'assistant', content: textOf({ text: '', ...itemParts[0] }.text) }
    const [first] = itemParts
    if (item.ofParts === undefined) return first === undefined ? undefined : partFromLedger(first, {}, 'output_text')
    return {
      ...item.rest,
      role: 'assistant',
      content: itemParts.map((part, at) => partFromLedger(part, item.ofParts?.[at] ?? {}, 'output_text')),
    }
  })
}

function resultItem(message: Extract<ChatMessage, { role: 'tool' }>, extra: ItemExtra | undefined): unknown {
  const { one, ...rest } = extra?.rest ?? {}
  const item = {
    type: 'function_call_result',
    name: 'unknown',
    status: 'completed',
    ...rest,
    callId: message.tool_call_id,
  }
  if (typeof message.content === 'string') return { ...item, output: message.content }
  const [first] = message.content
  if (extra !== undefined && extra.parts === undefined && first !== undefined) {
    const part: Item = { ...first }
    return part['type'] === 'sdk_part' ? part['part'] : { ...item, output: textOf(part['text']) }
  }
  const parts = message.content.map((part, at) => partFromLedger(part, extra?.ofParts?.[at] ?? {}, 'input_text'))
  return { ...item, output: one === true && parts.length === 1 ? parts[0] : parts }
}

/** The items of a ledger message. */
export function toItems(message: ChatMessage): AgentInputItem[] {
  const { openai_agents: recordedExtra } = { openai_agents: undefined, ...message }
  const extra = extraSchema.safeParse(recordedExtra).data?.items ?? []
  const [first] = extra
  const items = ((): unknown[] => {
    if (message.role === 'assistant') return answerItems(message, extra)
    if (message.role === 'tool') return [resultItem(message, first)]
    const role = message.role === 'user' ? 'user' : 'system'
    const { content } = message
    if (typeof content === 'string') return [{ ...(first?.as === 'text' ? first.rest : {}), role, content }]
    const parts = content.map((part, at) => partFromLedger(part, first?.ofParts?.[at] ?? {}, 'input_text'))
    return [{ ...first?.rest, role, content: parts }]
  })()
  // A recorded message was read from items, and other messages of the context have the same form.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return items.filter((item) => item !== undefined).map(fromJson) as AgentInputItem[]
}
