/**
 * Items of the OpenAI Agents SDK as messages of the chat API, and back. The items of one answer that are added together
 * (reasoning, text, calls) are one message, so that no cut ever takes a call from the reasoning that it needs. What the
 * chat API has no field for is kept in `openai_agents` beside the message, item by item.
 */
import type { AgentInputItem } from '@openai/agents'
import { z } from 'zod'
import type { ChatMessage, MessageInput, MessagePart } from '../../domain/values/chat-message.js'
import { asJsonOf } from '../given.js'

/** An item, whatever its type. */
interface Item {
  readonly [field: string]: unknown
}

/** What of an item the message does not say. */
const keptSchema = z.looseObject({
  items: z.array(
    z.object({
      /** What the message says of it: some of its parts, one of its calls, or its one text. */
      as: z.enum(['parts', 'call', 'text', 'output']),
      /** How many parts of the content are its own. */
      parts: z.number().optional(),
      /** Everything else. */
      rest: z.record(z.string(), z.unknown()),
      /** What its parts have beside their texts, by their places. */
      ofParts: z.array(z.record(z.string(), z.unknown())).optional(),
    }),
  ),
})
type KeptItem = z.infer<typeof keptSchema>['items'][number]

const isObject = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const BYTES = '$bytes'
/** A value as JSON: bytes as base64, and nothing that is not there. */
export const asJson = (value: unknown): unknown =>
  asJsonOf('items', value, (_key, each) =>
    each instanceof Uint8Array ? { [BYTES]: Buffer.from(each).toString('base64') } : each,
  )
const fromJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(fromJson)
  if (!isObject(value)) return value
  if (typeof value[BYTES] === 'string') return new Uint8Array(Buffer.from(value[BYTES], 'base64'))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fromJson(each)]))
}

const TEXTS = new Set(['input_text', 'output_text', 'text'])

function partOf(part: unknown): { readonly part: MessagePart; readonly kept: Item } {
  if (!isObject(part)) return { part: { type: 'sdk_part', part }, kept: {} }
  const { text, image, ...rest } = part
  if (TEXTS.has(textOf(part['type'])) && typeof text === 'string') return { part: { type: 'text', text }, kept: rest }
  if (part['type'] === 'input_image' && typeof image === 'string')
    return { part: { type: 'image_url', image_url: { url: image } }, kept: rest }
  return { part: { type: 'sdk_part', part }, kept: {} }
}

function partBack(given: MessagePart, kept: Item, textType: string): unknown {
  const part: Item = { ...given }
  if (part['type'] === 'sdk_part') return part['part']
  if (part['type'] === 'image_url' && isObject(part['image_url']))
    return { type: 'input_image', ...kept, image: part['image_url']['url'] }
  return {
    ...(kept['type'] === 'input_image' ? {} : kept),
    type: TEXTS.has(textOf(kept['type'])) ? kept['type'] : textType,
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

/** What the chat API has no field for, under a name of its own. */
const beside = (items: readonly KeptItem[]): object => ({ openai_agents: { items } })

/** A call in the form of the chat API; of a tool that is no function, with the item whole. */
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
    return { ...base, content: [{ type: 'sdk_part', part: item }], ...beside([{ as: 'output', rest: {} }]) }
  if (typeof output === 'string') return { ...base, content: output, ...beside([{ as: 'output', rest }]) }
  const isOne = isObject(output)
  const told = (isOne ? [output] : Array.isArray(output) ? output : []).map(partOf)
  const form = isOne ? { one: true } : {}
  return {
    ...base,
    content: told.map(({ part }) => part),
    ...beside([
      { as: 'output', rest: { ...rest, ...form }, parts: told.length, ofParts: told.map(({ kept }) => kept) },
    ]),
  }
}

/** What one item of an answer adds to its message. */
function addToAnswer(
  item: Item,
  content: MessagePart[],
  calls: NonNullable<MessageInput['tool_calls']>[number][],
): KeptItem {
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
  const { content: said, role: _role, ...rest } = item
  if (typeof said === 'string') {
    content.push({ type: 'text', text: said })
    return { as: 'text', parts: 1, rest }
  }
  const told = (Array.isArray(said) ? said : []).map(partOf)
  content.push(...told.map(({ part }) => part))
  return { as: 'parts', parts: told.length, rest, ofParts: told.map(({ kept }) => kept) }
}

function answerOf(items: readonly Item[]): MessageInput {
  const content: MessagePart[] = []
  const calls: NonNullable<MessageInput['tool_calls']>[number][] = []
  const kept = items.map((item) => addToAnswer(item, content, calls))
  const [first] = content
  const single = content.length === 1 && first?.type === 'text' ? textOf('text' in first ? first.text : '') : undefined
  return {
    role: 'assistant',
    content: content.length === 0 ? (calls.length === 0 ? '' : null) : (single ?? content),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...beside(kept),
  }
}

function inputOf(item: Item, role: 'system' | 'user'): MessageInput {
  const { content, role: _role, ...rest } = item
  if (typeof content === 'string')
    return {
      role,
      content,
      ...(Object.keys(rest).length === 0 ? {} : beside([{ as: 'text', rest }])),
    }
  const told = (Array.isArray(content) ? content : []).map(partOf)
  return {
    role,
    content: told.map(({ part }) => part),
    ...beside([{ as: 'parts', parts: told.length, rest, ofParts: told.map(({ kept }) => kept) }]),
  }
}

/** The messages that items come to which are added together. */
export function toMessages(given: readonly unknown[]): MessageInput[] {
  const messages: MessageInput[] = []
  let answer: Item[] = []
  const end = (): void => {
    if (answer.length > 0) messages.push(answerOf(answer))
    answer = []
  }
  for (const value of given) {
    const item = asJson(value)
    if (!isObject(item)) continue
    const role = roleOf(item)
    if (role === 'user' || role === 'system') {
      end()
      messages.push(inputOf(item, role))
    } else if (isResult(item)) {
      end()
      messages.push(resultOf(item))
    } else {
      // A new answer begins where the model thinks again.
      if (item['type'] === 'reasoning' && answer.some(({ type }) => type !== 'reasoning')) end()
      // The same call id twice is two answers.
      if (isCall(item) && answer.some(({ callId }) => callId === item['callId'])) end()
      answer.push(item)
    }
  }
  end()
  return messages
}

const partsOf = (content: ChatMessage['content']): readonly MessagePart[] =>
  content === null || content === '' ? [] : typeof content === 'string' ? [{ type: 'text', text: content }] : content

function answerItems(message: Extract<ChatMessage, { role: 'assistant' }>, kept: readonly KeptItem[]): unknown[] {
  const parts = [...partsOf(message.content)]
  const calls: { readonly [field: string]: unknown }[] = (message.tool_calls ?? []).map((call) => ({ ...call }))
  const wanted = kept.reduce((sum, item) => sum + (item.parts ?? 0), 0)
  const callBack = (rest: Item): unknown => {
    const call = calls.shift()
    const of = call?.['function']
    if (!isObject(of)) return call?.['item']
    return { ...rest, type: 'function_call', callId: call?.['id'], name: of['name'], arguments: of['arguments'] }
  }
  // Where it is shown shortened its text may be one.
  if (wanted !== parts.length || kept.length === 0)
    return [
      ...(parts.length === 0
        ? []
        : [
            {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: parts.map((part) => partBack(part, {}, 'output_text')),
            },
          ]),
      ...calls.slice().map(() => callBack({})),
    ]
  return kept.map((item) => {
    if (item.as === 'call') return callBack(item.rest)
    const own = parts.splice(0, item.parts ?? 0)
    if (item.as === 'text') return { ...item.rest, role: 'assistant', content: textOf({ text: '', ...own[0] }.text) }
    const [first] = own
    if (item.ofParts === undefined) return first === undefined ? undefined : partBack(first, {}, 'output_text')
    return {
      ...item.rest,
      role: 'assistant',
      content: own.map((part, at) => partBack(part, item.ofParts?.[at] ?? {}, 'output_text')),
    }
  })
}

function resultItem(message: Extract<ChatMessage, { role: 'tool' }>, kept: KeptItem | undefined): unknown {
  const { one, ...rest } = kept?.rest ?? {}
  const item = {
    type: 'function_call_result',
    name: 'unknown',
    status: 'completed',
    ...rest,
    callId: message.tool_call_id,
  }
  if (typeof message.content === 'string') return { ...item, output: message.content }
  const [first] = message.content
  if (kept !== undefined && kept.parts === undefined && first !== undefined) {
    const part: Item = { ...first }
    return part['type'] === 'sdk_part' ? part['part'] : { ...item, output: textOf(part['text']) }
  }
  const parts = message.content.map((part, at) => partBack(part, kept?.ofParts?.[at] ?? {}, 'input_text'))
  return { ...item, output: one === true && parts.length === 1 ? parts[0] : parts }
}

/** The items that a message of the ledger stands for. */
export function toItems(message: ChatMessage): AgentInputItem[] {
  const own: unknown = { openai_agents: undefined, ...message }.openai_agents
  const kept = keptSchema.safeParse(own).data?.items ?? []
  const [first] = kept
  const items = ((): unknown[] => {
    if (message.role === 'assistant') return answerItems(message, kept)
    if (message.role === 'tool') return [resultItem(message, first)]
    const role = message.role === 'user' ? 'user' : 'system'
    const { content } = message
    if (typeof content === 'string') return [{ ...(first?.as === 'text' ? first.rest : {}), role, content }]
    const parts = content.map((part, at) => partBack(part, first?.ofParts?.[at] ?? {}, 'input_text'))
    return [{ ...first?.rest, role, content: parts }]
  })()
  // What was recorded came from items, and what is only shown has their form.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return items.filter((item) => item !== undefined).map(fromJson) as AgentInputItem[]
}
