/**
 * Anthropic's Messages API: messages of the user and the assistant alternate and consist of blocks. The results of tool
 * calls are blocks of the next user message.
 */
import { isRecord } from '../../lib/is-record.js'
import type { ChatMessage, MessageInput } from '../../domain/values/message.js'
import {
  chatCalls,
  chatParts,
  compactionMessage,
  contentOf,
  isCompactionElement,
  toolCallsField,
  sourceMessage,
  toLedgerMessage,
  sourceResult,
  usageOf,
  withUnmatchedResultsAsText,
  type Answer,
  type AnswerReader,
  type Api,
  type ProxyRequest,
  type SourceMessage,
  type OutgoingMessage,
} from './api.js'
import { fieldsOf, indexOf, jsonText, listOf, numberOf, withoutFields, parseJson, textOf, type Fields } from './json.js'

const DIRECTIVE = new Set(['role', 'content'])
const MARK = new Set(['cache_control'])
const RESULT = new Set(['type', 'tool_use_id', 'content', 'is_error'])

const blocksOf = (content: unknown): readonly unknown[] => (typeof content === 'string' ? [content] : listOf(content))
const asPart = (block: unknown): unknown => (typeof block === 'string' ? { type: 'text', text: block } : block)
const typeOf = (block: unknown): string => textOf(fieldsOf(block)['type']) ?? ''

/** An answer in the ledger's form: its calls are separate from the other blocks. */
function assistantInput(blocks: readonly unknown[]): MessageInput {
  const calls: Record<string, unknown>[] = []
  const parts: unknown[] = []
  const order: string[] = []
  const ids = new Set<string>()
  for (const block of blocks) {
    const { id, name, input, ...rest } = fieldsOf(block)
    const isCall =
      typeOf(block) === 'tool_use' && typeof id === 'string' && id !== '' && typeof name === 'string' && !ids.has(id)
    if (isCall && name !== '') {
      const { type: _type, ...more } = rest
      ids.add(id)
      order.push(id)
      calls.push({ ...more, id, type: 'function', function: { name, arguments: jsonText(input ?? {}) } })
    } else {
      order.push('')
      parts.push(asPart(block))
    }
  }
  // If a block follows a call, the order of all blocks is recorded.
  const firstCall = order.findIndex((id) => id !== '')
  const isMixed = firstCall !== -1 && order.slice(firstCall).includes('')
  return toLedgerMessage(
    {
      role: 'assistant',
      content: contentOf(parts),
      ...toolCallsField(calls),
    },
    isMixed ? { block_order: order } : {},
  )
}

function resultMessage(block: Fields): SourceMessage {
  const { tool_use_id: id, content, is_error: isError } = block
  return sourceResult(
    toLedgerMessage(
      {
        role: 'tool',
        tool_call_id: textOf(id) ?? '',
        content: typeof content === 'string' ? content : contentOf(listOf(content)),
        ...(isError === true ? { attributes: { isError: true } } : {}),
      },
      withoutFields(block, RESULT),
    ),
    block,
    content,
  )
}

/** A message of a request as messages of the ledger: one for each result and one for the other blocks. */
function messagesOf(message: unknown): SourceMessage[] {
  const { role, content } = fieldsOf(message)
  const blocks = blocksOf(content)
  if (role === 'assistant') {
    const ordinary = blocks.filter((block) => !isCompactionElement(block))
    const compactions = blocks.filter(isCompactionElement).map(compactionMessage)
    return ordinary.length === 0 && compactions.length > 0
      ? compactions
      : [...compactions, sourceMessage(assistantInput(ordinary), ordinary)]
  }
  if (role === 'system')
    return [
      sourceMessage(
        toLedgerMessage(
          { role: 'system', content: contentOf(blocks.map(asPart)) },
          withoutFields(fieldsOf(message), DIRECTIVE),
        ),
        [message],
      ),
    ]
  const results = blocks.flatMap((block) =>
    isRecord(block) &&
    block['type'] === 'tool_result' &&
    typeof block['tool_use_id'] === 'string' &&
    block['tool_use_id'] !== ''
      ? [block]
      : [],
  )
  const rest = blocks.filter((block) => !results.some((result) => result === block))
  return [
    ...results.map(resultMessage),
    ...(rest.length === 0 && results.length > 0
      ? []
      : [sourceMessage(toLedgerMessage({ role: 'user', content: contentOf(rest.map(asPart)) }), rest)]),
  ]
}

function read(body: Fields): ProxyRequest | undefined {
  const { messages, system, model, tools, max_tokens, ...parameters } = body
  if (!Array.isArray(messages) || messages.length === 0) return undefined
  const blocks = blocksOf(system)
  return {
    instructions:
      blocks.length === 0
        ? []
        : [sourceMessage(toLedgerMessage({ role: 'system', content: contentOf(blocks.map(asPart)) }), [])],
    messages: withUnmatchedResultsAsText(messages.flatMap(messagesOf)),
    model: textOf(model),
    tools: listOf(tools),
    maxTokens: numberOf(max_tokens),
    parameters,
    upstreamHistory: undefined,
  }
}

/** Anthropic's input tokens exclude those read from and written to the cache; the ledger's include them. */
function usage(value: unknown): Fields | undefined {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = fieldsOf(value)
  const [input, cacheRead, cacheWrite] = [input_tokens, cache_read_input_tokens, cache_creation_input_tokens].map(
    numberOf,
  )
  const all = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0)
  return usageOf(all, numberOf(output_tokens), cacheRead, cacheWrite, undefined)
}

function answerOf(body: unknown): Answer {
  const { id, model, content, stop_reason, usage: tokens, error } = fieldsOf(body)
  const blocks = listOf(content)
  const isMessage = Array.isArray(content)
  return {
    message: isMessage ? assistantInput(blocks.filter((block) => !isCompactionElement(block))) : undefined,
    compactions: blocks.filter(isCompactionElement),
    raw: blocks,
    isComplete: isMessage,
    responseId: textOf(id),
    model: textOf(model),
    usage: usage(tokens),
    finish: textOf(stop_reason),
    error,
  }
}

/** Delta types whose text is appended to a field of the block, with that field. */
const JOINED: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  compaction_delta: 'content',
}

/** A block that is built from its deltas. */
interface Block {
  readonly fields: Record<string, unknown>
  json: string
  isComplete: boolean
}

function takeDelta(block: Block, delta: Fields): void {
  const type = textOf(delta['type']) ?? ''
  const field = JOINED[type]
  if (type === 'input_json_delta') block.json += textOf(delta['partial_json']) ?? ''
  else if (type === 'citations_delta')
    block.fields['citations'] = [...listOf(block.fields['citations']), delta['citation']]
  else if (field !== undefined)
    block.fields[field] = `${textOf(block.fields[field]) ?? ''}${textOf(delta[field]) ?? ''}`
}

/** The finished block. If the input of a call was cut off, its text is in `unfinished`. */
function blockOf({ fields, json }: Block): Record<string, unknown> {
  if (json === '') return fields
  const input = parseJson(json)
  return { ...fields, input: input === undefined ? { unfinished: json } : input }
}

function reader(): AnswerReader {
  const blocks: Block[] = []
  let head: Fields = {}
  let tokens: Record<string, unknown> = {}
  let finish: string | undefined
  let error: unknown
  let isDone = false

  return {
    take({ data }) {
      const event = fieldsOf(parseJson(data))
      const at = indexOf(event['index']) ?? 0
      const block = blocks[at]
      switch (event['type']) {
        case 'message_start':
          head = fieldsOf(event['message'])
          tokens = { ...fieldsOf(head['usage']) }
          break
        case 'content_block_start':
          blocks[at] = { fields: { ...fieldsOf(event['content_block']) }, json: '', isComplete: false }
          break
        case 'content_block_delta':
          if (block !== undefined) takeDelta(block, fieldsOf(event['delta']))
          break
        case 'content_block_stop':
          if (block !== undefined) block.isComplete = true
          break
        case 'message_delta':
          finish = textOf(fieldsOf(event['delta'])['stop_reason']) ?? finish
          for (const [name, value] of Object.entries(fieldsOf(event['usage'])))
            if (value !== null && value !== undefined) tokens[name] = value
          break
        case 'message_stop':
          isDone = true
          break
        case 'error':
          error = event['error']
          break
        default:
      }
    },
    answer() {
      const isComplete = isDone && error === undefined
      // A thinking block without its signature may not be sent back.
      const usable = blocks.filter(
        (block) => block !== undefined && (block.isComplete || isComplete || typeOf(block.fields) !== 'thinking'),
      )
      const raw = usable.map(blockOf)
      return {
        message:
          isComplete || raw.length > 0 ? assistantInput(raw.filter((block) => !isCompactionElement(block))) : undefined,
        compactions: raw.filter(isCompactionElement),
        raw,
        isComplete,
        responseId: textOf(head['id']),
        model: textOf(head['model']),
        usage: usage(tokens),
        finish,
        error,
      }
    },
  }
}

/** A part of a ledger message as blocks. */
function blockFor(part: unknown): readonly unknown[] {
  const fields = fieldsOf(part)
  if (fields['type'] === 'as_sent') return [asPart(fields['as_sent'])]
  return textOf(fields['text']) === '' ? [] : [part]
}

const hasMark = (block: unknown): boolean => isRecord(block) && 'cache_control' in block

/**
 * Recorded blocks without their cache marks if the client no longer sets one in this message: the API accepts four marks
 * in a request, and the client decides where they are.
 */
function blocksFor(blocks: readonly unknown[], message: SourceMessage | undefined): readonly unknown[] {
  if (message?.raw.some(hasMark) === true) return blocks
  return blocks.map((block) => (hasMark(block) ? withoutFields(fieldsOf(block), MARK) : block))
}

const inputFor = (text: unknown): unknown => {
  const input = parseJson(textOf(text) ?? '')
  return isRecord(input) ? input : { arguments: text }
}

/** A shortened answer: its blocks in their order, with thinking blocks and cache marks. */
function shortenedBlocks(raw: readonly unknown[], chat: ChatMessage): unknown[] {
  const parts = chatParts(chat.content)
  const calls = new Map(chatCalls(chat).map((call) => [call['id'], call]))
  let nextPart = 0
  return raw.flatMap((each): readonly unknown[] => {
    const block = fieldsOf(asPart(each))
    const call = block['type'] === 'tool_use' ? calls.get(block['id']) : undefined
    if (call !== undefined) return [{ ...block, input: inputFor(fieldsOf(call['function'])['arguments']) }]
    const part = fieldsOf(parts[nextPart])
    nextPart += 1
    if (block['type'] !== 'text') return [asPart(each)]
    return textOf(part['text']) === '' ? [] : [{ ...block, text: textOf(part['text']) ?? block['text'] }]
  })
}

function callBlock({ id, type, function: named, custom, ...more }: Fields): Fields {
  if (named === undefined) {
    // A call with free text, or of a kind that only its provider knows.
    const { name = type, input = '' } = fieldsOf(custom)
    return { type: 'tool_use', id, name, input: { input }, ...more }
  }
  const { name, arguments: args } = fieldsOf(named)
  return { type: 'tool_use', id, name, input: inputFor(args), ...more }
}

function assistantBlocks({ chat, source: message, isUnchanged: isWhole }: OutgoingMessage): readonly unknown[] {
  if (message !== undefined && isWhole) return message.raw
  if (message !== undefined) return shortenedBlocks(message.raw, chat)
  const parts = [...chatParts(chat.content)]
  const calls = chatCalls(chat)
  const order = listOf(Reflect.get(chat, 'block_order'))
  // Parts and calls that are not in the recorded order follow it.
  const ordered = order.flatMap((id): readonly unknown[] => {
    const call = calls.find((each) => id !== '' && each['id'] === id)
    return call === undefined ? parts.splice(0, 1).flatMap(blockFor) : [callBlock(call)]
  })
  const remaining = calls.filter(({ id }) => !order.includes(id))
  return blocksFor([...ordered, ...parts.flatMap(blockFor), ...remaining.map(callBlock)], undefined)
}

function userBlocks({ chat, source: message, isUnchanged: isWhole }: OutgoingMessage): readonly unknown[] {
  if (message !== undefined && isWhole) return message.raw
  const blocks = blocksFor(chatParts(chat.content).flatMap(blockFor), message)
  if (chat.role !== 'tool') return blocks
  const content = typeof chat.content === 'string' && message?.isInParts !== true ? chat.content : blocks
  return [{ ...fieldsOf(message?.raw[0]), type: 'tool_result', tool_use_id: chat.tool_call_id, content }]
}

const isResult = (block: unknown): boolean => typeOf(block) === 'tool_result'

/** A system message between other messages, with all its fields. */
function directiveOf({ chat, source: message, isUnchanged: isWhole }: OutgoingMessage): Fields {
  const sent = fieldsOf(message?.raw[0])
  return isWhole ? sent : { ...sent, content: blocksFor(chatParts(chat.content).flatMap(blockFor), message) }
}

/** Adjacent blocks of one role, and the fields of a directive. */
interface Group {
  readonly role: 'user' | 'assistant' | 'system'
  readonly blocks: unknown[]
  readonly fields: Record<string, unknown>
}

function write(body: Fields, shown: readonly OutgoingMessage[]): Fields {
  const groups: Group[] = []
  const add = (role: Group['role'], blocks: readonly unknown[], fields: Fields = {}): void => {
    const last = groups.at(-1)
    if (last?.role === role) {
      last.blocks.push(...blocks)
      Object.assign(last.fields, fields)
    } else if (blocks.length > 0 || role === 'system') groups.push({ role, blocks: [...blocks], fields: { ...fields } })
  }
  let directives: Fields[] = []
  // The API accepts a directive only between a user message and its answer.
  const addDirectives = (): void => {
    const followsUser = groups.at(-1)?.role === 'user'
    for (const fields of directives)
      add(followsUser ? 'system' : 'user', blocksOf(fields['content']).map(asPart), followsUser ? fields : {})
    directives = []
  }
  for (const each of shown) {
    const isSystem = each.chat.role === 'system' || each.chat.role === 'developer'
    if (isSystem && each.source !== undefined) {
      // Instructions without elements are in the request's own field, which does not change.
      if (each.source.raw.length > 0) directives.push(directiveOf(each))
      continue
    }
    const isAnswer = each.chat.role === 'assistant' || each.source?.isCompaction === true
    if (isAnswer) addDirectives()
    add(isAnswer ? 'assistant' : 'user', each.chat.role === 'assistant' ? assistantBlocks(each) : userBlocks(each))
  }
  addDirectives()
  const messages = groups.map(({ role, blocks, fields }) => {
    if (role === 'system') return { ...fields, role, content: blocks }
    const [only] = blocks
    if (blocks.length === 1 && typeof only === 'string') return { role, content: only }
    // Results must come first in a user message.
    const ordered = [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
    return { role, content: ordered.map(asPart) }
  })
  return { ...body, messages }
}

/** Anthropic's Messages API. */
export const anthropicMessages: Api = {
  name: 'messages',
  hasSeparateInstructions: true,
  matches: (path) => path.endsWith('/messages') && !path.includes('/threads/'),
  readRequest: read,
  readAnswer: answerOf,
  createAnswerReader: reader,
  writeRequest: write,
  withTool: (body, { name, description, parameters }) => ({
    ...body,
    tools: [...listOf(body['tools']), { name, description, input_schema: parameters }],
  }),
  withToolResults: (body, { raw }, results) => ({
    ...body,
    messages: [
      ...listOf(body['messages']),
      { role: 'assistant', content: raw },
      {
        role: 'user',
        content: results.map(({ call, text }) => ({ type: 'tool_result', tool_use_id: call.id, content: text })),
      },
    ],
  }),
  errorBody: (message, kind) => ({
    type: 'error',
    error: { type: 'context_ledger_error', message, code: kind },
  }),
}
