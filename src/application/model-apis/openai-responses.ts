/**
 * OpenAI's Responses API: a list of items. The items of one answer (reasoning, text, calls) are one message of the ledger,
 * so that they stay together.
 */
import { isRecord } from '../../lib/is-record.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { ChatMessage, MessageInput } from '../../domain/values/message.js'
import {
  chatCalls,
  chatParts,
  compactionMessage,
  contentOf,
  isCompactionElement,
  toolCallsField,
  openaiErrorBody,
  sourceMessage,
  toLedgerMessage,
  sourceResult,
  openAiUsage,
  withUnmatchedResultsAsText,
  splitInstructions,
  type Answer,
  type AnswerReader,
  type Api,
  type ProxyRequest,
  type UpstreamHistory,
  type SourceMessage,
  type OutgoingMessage,
} from './api.js'
import { fieldsOf, indexOf, jsonText, listOf, numberOf, withoutFields, parseJson, textOf, type Fields } from './json.js'

const typeOf = (item: unknown): string => {
  const { type, role } = fieldsOf(item)
  return textOf(type) ?? (role === undefined ? '' : 'message')
}
const isOutput = (type: string): boolean => type.endsWith('_call_output')

/** A content part in the ledger's form. */
function partOf(part: unknown): unknown {
  const { type, text, image_url, detail, ...rest } = fieldsOf(part)
  switch (type) {
    case 'input_text':
    case 'output_text': {
      const { annotations, logprobs, ...more } = rest
      return {
        type: 'text',
        text,
        ...more,
        ...(listOf(annotations).length === 0 ? {} : { annotations }),
        ...(listOf(logprobs).length === 0 ? {} : { logprobs }),
      }
    }
    case 'input_image':
      return typeof image_url === 'string'
        ? { type: 'image_url', image_url: withoutUndefined({ url: image_url, detail }), ...rest }
        : part
    case 'input_file':
      return { type: 'file', file: rest }
    default:
      return part
  }
}

const partsOf = (content: unknown): unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(partOf)

/** A call in the ledger's form; undefined for an item that is not a call for the client. */
function callOf(item: Fields): Fields | undefined {
  const { type, call_id: id, name, arguments: args, input } = item
  if (typeof id !== 'string' || id === '' || typeof type !== 'string' || !type.endsWith('_call')) return undefined
  if (type === 'function_call' && typeof name === 'string' && name !== '')
    return { id, type: 'function', function: { name, arguments: textOf(args) ?? '' } }
  if (type === 'custom_tool_call' && typeof name === 'string')
    return { id, type: 'custom', custom: { name, input: textOf(input) ?? '' } }
  return { id, type: 'custom', custom: { name: type, input: jsonText(withoutFields(item, new Set(['id', 'status']))) } }
}

/** The message of an answer, without a compaction of the provider. Undefined if it has nothing else. */
function answeredMessage(items: readonly unknown[]): Pick<Answer, 'message' | 'compactions'> {
  const ordinary = items.filter((item) => !isCompactionElement(item))
  return {
    message: ordinary.length === 0 ? undefined : answerMessage(ordinary),
    compactions: items.filter(isCompactionElement),
  }
}

/** The items of an answer as one message. */
function answerMessage(items: readonly unknown[]): MessageInput {
  const calls: Fields[] = []
  const parts: unknown[] = []
  const ids = new Set<unknown>()
  for (const item of items) {
    const fields = fieldsOf(item)
    const call = callOf(fields)
    if (call !== undefined && !ids.has(call['id'])) {
      ids.add(call['id'])
      calls.push(call)
    } else if (typeOf(item) === 'message') parts.push(...partsOf(fields['content']))
    else parts.push(item)
  }
  return toLedgerMessage({
    role: 'assistant',
    content: contentOf(parts),
    ...toolCallsField(calls),
  })
}

function resultMessage(item: Fields): SourceMessage {
  const { call_id: id, output } = item
  return sourceResult(
    toLedgerMessage({
      role: 'tool',
      tool_call_id: textOf(id) ?? '',
      content:
        typeof output === 'string'
          ? output
          : Array.isArray(output)
            ? contentOf(partsOf(output))
            : jsonText(output ?? ''),
    }),
    item,
    output,
  )
}

/** The message of an item that is neither part of an answer nor a tool result. */
function inputMessage(item: unknown): SourceMessage {
  const { role, content } = fieldsOf(item)
  const isMessage = typeOf(item) === 'message' && (role === 'user' || role === 'system' || role === 'developer')
  if (typeof item === 'string') return sourceMessage(toLedgerMessage({ role: 'user', content: item }), [item])
  if (isMessage) return sourceMessage(toLedgerMessage({ role, content: contentOf(partsOf(content)) }), [item])
  if (isCompactionElement(item)) return compactionMessage(item)
  return sourceMessage(toLedgerMessage({ role: 'user', content: contentOf([{ type: 'as_sent', as_sent: item }]) }), [
    item,
  ])
}

/** Types of items that are neither answers nor input of the user. */
const AUXILIARY = new Set(['', 'compaction', 'compaction_trigger', 'item_reference'])

/** Whether an item belongs to an answer of the model. */
function isOfAnswer(item: unknown): boolean {
  const type = typeOf(item)
  if (type === 'message') return fieldsOf(item)['role'] === 'assistant'
  return !AUXILIARY.has(type) && !isOutput(type)
}

function messagesOf(items: readonly unknown[]): SourceMessage[] {
  const list: SourceMessage[] = []
  let answer: unknown[] = []
  const flush = (): void => {
    if (answer.length > 0) list.push(sourceMessage(answerMessage(answer), answer))
    answer = []
  }
  for (const item of items) {
    if (isOfAnswer(item)) {
      answer.push(item)
      continue
    }
    flush()
    const fields = fieldsOf(item)
    list.push(
      isOutput(typeOf(item)) && textOf(fields['call_id']) !== undefined ? resultMessage(fields) : inputMessage(item),
    )
  }
  flush()
  return list
}

function upstreamHistoryOf(body: Fields, items: readonly unknown[]): UpstreamHistory | undefined {
  const response = textOf(body['previous_response_id'])
  if (response !== undefined) return { kind: 'response', id: response }
  const { conversation } = body
  const id = textOf(conversation) ?? textOf(fieldsOf(conversation)['id'])
  if (id !== undefined) return { kind: 'conversation', id }
  const reference = items.find((item) => typeOf(item) === 'item_reference')
  return reference === undefined ? undefined : { kind: 'reference', id: textOf(fieldsOf(reference)['id']) ?? '' }
}

function read(body: Fields): ProxyRequest | undefined {
  const { input, instructions, model, tools, max_output_tokens, ...parameters } = body
  const items: readonly unknown[] | undefined =
    typeof input === 'string' ? [input] : Array.isArray(input) ? input : undefined
  if (items === undefined || items.length === 0) return undefined
  const list = splitInstructions(withUnmatchedResultsAsText(messagesOf(items)))
  const text = textOf(instructions)
  return {
    instructions: [
      ...(text === undefined || text === ''
        ? []
        : [sourceMessage(toLedgerMessage({ role: 'system', content: text }), [])]),
      ...list.instructions,
    ],
    messages: list.messages,
    model: textOf(model),
    tools: listOf(tools),
    maxTokens: numberOf(max_output_tokens),
    parameters,
    upstreamHistory: upstreamHistoryOf(body, items),
  }
}

const usage = (value: unknown): Fields | undefined => openAiUsage(value, 'input', 'output')

/** Statuses of complete answers: finished, or ended by a limit of the request. */
const ENDED = new Set(['completed', 'incomplete'])

function answerOf(body: unknown): Answer {
  const { id, model, output, status, usage: tokens, error, incomplete_details } = fieldsOf(body)
  const raw = listOf(output)
  const isComplete = typeof status === 'string' && ENDED.has(status) && !(isRecord(error) && raw.length === 0)
  return {
    ...answeredMessage(raw),
    raw,
    isComplete,
    responseId: textOf(id),
    model: textOf(model),
    usage: usage(tokens),
    finish: textOf(fieldsOf(incomplete_details)['reason']) ?? textOf(status),
    error: error ?? undefined,
  }
}

/** The events that end a stream. They contain the complete response. */
const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

function reader(): AnswerReader {
  const items: unknown[] = []
  /** The text so far of items that are not complete, by index. */
  const texts: string[] = []
  let head: Fields = {}
  let ended: Fields | undefined
  let error: unknown

  return {
    take({ data }) {
      const event = fieldsOf(parseJson(data))
      const type = textOf(event['type']) ?? ''
      const at = indexOf(event['output_index']) ?? 0
      if (TERMINAL.has(type)) ended = fieldsOf(event['response'])
      else if (type === 'response.output_item.done') items[at] = event['item']
      else if (type === 'response.output_text.delta') texts[at] = (texts[at] ?? '') + (textOf(event['delta']) ?? '')
      else if (type === 'error') error = withoutFields(event, new Set(['type', 'sequence_number']))
      else if (type === 'response.created') head = fieldsOf(event['response'])
    },
    answer() {
      if (ended !== undefined) {
        const answer = answerOf(ended)
        // Some providers omit the items from the last event.
        if (answer.raw.length > 0 || items.length === 0) return answer
        return { ...answer, ...answeredMessage(items.filter((item) => item !== undefined)), raw: items }
      }
      const length = Math.max(items.length, texts.length)
      const raw = Array.from({ length }, (_none, at): unknown => {
        const text = texts[at]
        return (
          items[at] ??
          (text === undefined
            ? undefined
            : { type: 'message', role: 'assistant', status: 'incomplete', content: [{ type: 'output_text', text }] })
        )
      }).filter((item) => item !== undefined)
      return {
        ...answeredMessage(raw),
        raw,
        isComplete: false,
        responseId: textOf(head['id']),
        model: textOf(head['model']),
        usage: undefined,
        finish: undefined,
        error,
      }
    },
  }
}

/** A part of a ledger message as a part of an item. */
function inputPart(part: unknown): unknown {
  const { type, text, image_url, file, as_sent: asSent, ...rest } = fieldsOf(part)
  if (type === 'as_sent') return asSent
  if (type === 'text') return { type: 'input_text', text }
  if (type === 'image_url') {
    const { url, detail } = fieldsOf(image_url)
    return { type: 'input_image', image_url: url, detail: detail ?? 'auto', ...rest }
  }
  if (type === 'file') return { type: 'input_file', ...fieldsOf(file) }
  return part
}

/** A shortened answer: its items in their order. */
function shortenedItems(raw: readonly unknown[], chat: ChatMessage): unknown[] {
  const texts = chatParts(chat.content)
    .filter((part) => fieldsOf(part)['type'] === 'text')
    .map((part) => fieldsOf(part)['text'])
  const calls = new Map(chatCalls(chat).map((call) => [call['id'], call]))
  return raw.map((each): unknown => {
    const item = fieldsOf(each)
    const call = calls.get(item['call_id'])
    if (item['type'] === 'function_call' && call !== undefined)
      return { ...item, arguments: fieldsOf(call['function'])['arguments'] }
    if (item['type'] === 'custom_tool_call' && call !== undefined)
      return { ...item, input: fieldsOf(call['custom'])['input'] }
    if (typeOf(each) !== 'message') return each
    const content =
      typeof item['content'] === 'string' ? [{ type: 'output_text', text: item['content'] }] : listOf(item['content'])
    return {
      ...item,
      content: content.map((part) =>
        /^(?:output|input)_text$/u.test(typeOf(part)) ? { ...fieldsOf(part), text: texts.shift() ?? '' } : part,
      ),
    }
  })
}

/** A call of the ledger as an item. If `callOf` stored an item of another type, that item is restored. */
function callItem({ id, type, function: named, custom }: Fields): Fields {
  if (type !== 'custom') {
    const { name, arguments: args } = fieldsOf(named)
    return { type: 'function_call', call_id: id, name, arguments: args }
  }
  const { name, input } = fieldsOf(custom)
  const item = fieldsOf(parseJson(textOf(input) ?? ''))
  if (item['type'] === name && item['call_id'] === id) return { ...item, status: 'completed' }
  return { type: 'custom_tool_call', call_id: id, name, input }
}

/**
 * An answer that the client's list no longer contains, as items. Reasoning is omitted: the provider rejects it without
 * the ids of the items that follow it.
 */
function answerItems(chat: ChatMessage): unknown[] {
  const items: unknown[] = []
  let texts: unknown[] = []
  const flush = (): void => {
    if (texts.length > 0) items.push({ type: 'message', role: 'assistant', content: texts })
    texts = []
  }
  for (const part of chatParts(chat.content)) {
    const { type, text, as_sent: asSent } = fieldsOf(part)
    if (type === 'reasoning') continue
    if (type === 'text' && text !== '') texts.push({ type: 'output_text', text })
    else if (type === 'refusal') texts.push(part)
    else if (type !== 'text') {
      flush()
      items.push(type === 'as_sent' ? asSent : part)
    }
  }
  flush()
  return [...items, ...chatCalls(chat).map(callItem)]
}

function itemsFor({ chat, source: message, isUnchanged: isWhole }: OutgoingMessage): readonly unknown[] {
  if (message !== undefined && isWhole) return message.raw
  if (chat.role === 'tool') {
    const parts = chatParts(chat.content)
    const isText = typeof chat.content === 'string' && message?.isInParts !== true
    const output = isText ? chat.content : parts.map(inputPart)
    const item = message === undefined ? { type: 'function_call_output' } : fieldsOf(message.raw[0])
    return [{ ...item, call_id: chat.tool_call_id, output }]
  }
  if (chat.role === 'assistant') return message === undefined ? answerItems(chat) : shortenedItems(message.raw, chat)
  return [{ type: 'message', role: chat.role, content: chatParts(chat.content).map(inputPart) }]
}

function write(body: Fields, shown: readonly OutgoingMessage[]): Fields {
  const items = shown
    // Instructions from the field `instructions` stay there.
    .filter(({ source: message }) => message === undefined || message.raw.length > 0)
    .flatMap(itemsFor)
  // The type of a result depends on the type of its call, also if the ledger's placeholder replaces the call.
  const types = new Map(
    items.map((item) => [fieldsOf(item)['call_id'], typeOf(item)] as const).filter(([, type]) => !isOutput(type)),
  )
  const input = items.map((item): unknown => {
    if (typeof item === 'string') return items.length === 1 ? item : { type: 'message', role: 'user', content: item }
    const call = isOutput(typeOf(item)) ? types.get(fieldsOf(item)['call_id']) : undefined
    return call === undefined || `${call}_output` === typeOf(item)
      ? item
      : { ...fieldsOf(item), type: `${call}_output` }
  })
  const [only] = input
  return { ...body, input: input.length === 1 && typeof only === 'string' ? only : input }
}

/** OpenAI's Responses API. */
export const openaiResponses: Api = {
  name: 'responses',
  hasSeparateInstructions: true,
  matches: (path) => path.endsWith('/responses'),
  readRequest: read,
  readAnswer: answerOf,
  createAnswerReader: reader,
  writeRequest: write,
  withTool: (body, { name, description, parameters }) => ({
    ...body,
    tools: [...listOf(body['tools']), { type: 'function', name, description, parameters, strict: false }],
  }),
  withToolResults(body, { raw }, results) {
    const { input } = body
    return {
      ...body,
      input: [
        ...(typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : listOf(input)),
        ...raw,
        ...results.map(({ call, text }) => ({ type: 'function_call_output', call_id: call.id, output: text })),
      ],
    }
  },
  errorBody: openaiErrorBody,
}
