/**
 * Anthropic's Messages: blocks in messages of a user and an assistant who take turns, the results of calls in the user's
 * next message.
 */
import type { ChatMessage, MessageInput } from '../../domain/values/message.js'
import {
  chatCalls,
  chatParts,
  contentOf,
  madeCalls,
  said,
  saidInput,
  usageOf,
  withCalls,
  type Answer,
  type AnswerReader,
  type Api,
  type Asked,
  type Said,
  type Shown,
} from '../api.js'
import {
  fieldsOf,
  indexOf,
  isFields,
  jsonText,
  listOf,
  numberOf,
  others,
  parseJson,
  textOf,
  type Fields,
} from '../json.js'

const DIRECTIVE = new Set(['role', 'content'])
const MARK = new Set(['cache_control'])
const RESULT = new Set(['type', 'tool_use_id', 'content', 'is_error'])

const blocksOf = (content: unknown): readonly unknown[] => (typeof content === 'string' ? [content] : listOf(content))
const asPart = (block: unknown): unknown => (typeof block === 'string' ? { type: 'text', text: block } : block)
const typeOf = (block: unknown): string => textOf(fieldsOf(block)['type']) ?? ''

/** What a model said, in the ledger's form: its calls apart from the other blocks. */
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
  // Where a block stands behind a call, the places of all of them are kept.
  const firstCall = order.findIndex((id) => id !== '')
  const isMixed = firstCall !== -1 && order.slice(firstCall).includes('')
  return saidInput(
    {
      role: 'assistant',
      content: contentOf(parts),
      ...madeCalls(calls),
    },
    isMixed ? { block_order: order } : {},
  )
}

function resultSaid(block: Fields): Said {
  const { tool_use_id: id, content, is_error: isError } = block
  return said(
    saidInput(
      {
        role: 'tool',
        tool_call_id: textOf(id) ?? '',
        content: typeof content === 'string' ? content : contentOf(listOf(content)),
        ...(isError === true ? { attributes: { isError: true } } : {}),
      },
      others(block, RESULT),
    ),
    [block],
  )
}

/** What a message of a request says: one message of the ledger, or one for each result and one for the rest. */
function saidIn(message: unknown): Said[] {
  const { role, content } = fieldsOf(message)
  const blocks = blocksOf(content)
  if (role === 'assistant') return [said(assistantInput(blocks), blocks)]
  if (role === 'system')
    return [
      said(
        saidInput({ role: 'system', content: contentOf(blocks.map(asPart)) }, others(fieldsOf(message), DIRECTIVE)),
        [message],
      ),
    ]
  const results = blocks.flatMap((block) =>
    isFields(block) &&
    block['type'] === 'tool_result' &&
    typeof block['tool_use_id'] === 'string' &&
    block['tool_use_id'] !== ''
      ? [block]
      : [],
  )
  const rest = blocks.filter((block) => !results.some((result) => result === block))
  return [
    ...results.map(resultSaid),
    ...(rest.length === 0 && results.length > 0
      ? []
      : [said(saidInput({ role: 'user', content: contentOf(rest.map(asPart)) }), rest)]),
  ]
}

function read(body: Fields): Asked | undefined {
  const { messages, system, model, tools, max_tokens, ...parameters } = body
  if (!Array.isArray(messages) || messages.length === 0) return undefined
  const blocks = blocksOf(system)
  return {
    instructions:
      blocks.length === 0 ? [] : [said(saidInput({ role: 'system', content: contentOf(blocks.map(asPart)) }), [])],
    messages: withCalls(messages.flatMap(saidIn)),
    model: textOf(model),
    tools: listOf(tools),
    maxTokens: numberOf(max_tokens),
    parameters,
    held: undefined,
  }
}

/** What came from the cache and went there is counted beside the input; here it is a part of it. */
function usage(value: unknown): Fields | undefined {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = fieldsOf(value)
  const [input, cacheRead, written] = [input_tokens, cache_read_input_tokens, cache_creation_input_tokens].map(numberOf)
  const all = input === undefined ? undefined : input + (cacheRead ?? 0) + (written ?? 0)
  return usageOf(all, numberOf(output_tokens), cacheRead, written, undefined)
}

function answerOf(body: unknown): Answer {
  const { id, model, content, stop_reason, usage: told, error } = fieldsOf(body)
  const blocks = listOf(content)
  const isMessage = Array.isArray(content)
  return {
    message: isMessage ? assistantInput(blocks) : undefined,
    raw: blocks,
    isComplete: isMessage,
    responseId: textOf(id),
    model: textOf(model),
    usage: usage(told),
    finish: textOf(stop_reason),
    error,
  }
}

/** Deltas that are joined to a field of their block, by the type of the delta. */
const JOINED: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  compaction_delta: 'content',
}

/** A block as its deltas make it. */
interface Block {
  readonly fields: Record<string, unknown>
  json: string
  isWhole: boolean
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

/** A block as a message has it; a call whose input is cut off has it as the text that came. */
function blockOf({ fields, json }: Block): Record<string, unknown> {
  if (json === '') return fields
  const input = parseJson(json)
  return { ...fields, input: input === undefined ? { unfinished: json } : input }
}

function reader(): AnswerReader {
  const blocks: Block[] = []
  let head: Fields = {}
  let told: Record<string, unknown> = {}
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
          told = { ...fieldsOf(head['usage']) }
          break
        case 'content_block_start':
          blocks[at] = { fields: { ...fieldsOf(event['content_block']) }, json: '', isWhole: false }
          break
        case 'content_block_delta':
          if (block !== undefined) takeDelta(block, fieldsOf(event['delta']))
          break
        case 'content_block_stop':
          if (block !== undefined) block.isWhole = true
          break
        case 'message_delta':
          finish = textOf(fieldsOf(event['delta'])['stop_reason']) ?? finish
          for (const [name, value] of Object.entries(fieldsOf(event['usage'])))
            if (value !== null && value !== undefined) told[name] = value
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
      // A thought without its signature is nothing that may be sent back.
      const kept = blocks.filter(
        (block) => block !== undefined && (block.isWhole || isComplete || typeOf(block.fields) !== 'thinking'),
      )
      const raw = kept.map(blockOf)
      return {
        message: isComplete || raw.length > 0 ? assistantInput(raw) : undefined,
        raw,
        isComplete,
        responseId: textOf(head['id']),
        model: textOf(head['model']),
        usage: usage(told),
        finish,
        error,
      }
    },
  }
}

/** A part of the ledger as a block. */
function blockFor(part: unknown): readonly unknown[] {
  const fields = fieldsOf(part)
  if (fields['type'] === 'as_sent') return [asPart(fields['as_sent'])]
  return textOf(fields['text']) === '' ? [] : [part]
}

const hasMark = (block: unknown): boolean => isFields(block) && 'cache_control' in block

/**
 * Blocks as the ledger has them, without the marks of the cache that they were recorded with where the client sets none
 * there by now: an API takes four in a request, and these are the client's to set.
 */
function blocksFor(blocks: readonly unknown[], message: Said | undefined): readonly unknown[] {
  if (message?.raw.some(hasMark) === true) return blocks
  return blocks.map((block) => (hasMark(block) ? others(fieldsOf(block), MARK) : block))
}

const inputFor = (text: unknown): unknown => {
  const input = parseJson(textOf(text) ?? '')
  return isFields(input) ? input : { arguments: text }
}

/** An answer as the ledger shows it shorter: its blocks in their places, with their thoughts and marks. */
function shortenedBlocks(raw: readonly unknown[], chat: ChatMessage): unknown[] {
  const parts = chatParts(chat.content)
  const calls = new Map(chatCalls(chat).map((call) => [call['id'], call]))
  let place = 0
  return raw.flatMap((each): readonly unknown[] => {
    const block = fieldsOf(asPart(each))
    const call = block['type'] === 'tool_use' ? calls.get(block['id']) : undefined
    if (call !== undefined) return [{ ...block, input: inputFor(fieldsOf(call['function'])['arguments']) }]
    const part = fieldsOf(parts[place])
    place += 1
    if (block['type'] !== 'text') return [asPart(each)]
    return textOf(part['text']) === '' ? [] : [{ ...block, text: textOf(part['text']) ?? block['text'] }]
  })
}

function callBlock({ id, type: _type, function: named, ...more }: Fields): Fields {
  const { name, arguments: args } = fieldsOf(named)
  return { type: 'tool_use', id, name, input: inputFor(args), ...more }
}

function assistantBlocks({ chat, said: message, isWhole }: Shown): readonly unknown[] {
  if (message !== undefined && isWhole) return message.raw
  if (message !== undefined) return shortenedBlocks(message.raw, chat)
  const parts = [...chatParts(chat.content)]
  const calls = chatCalls(chat)
  const order = listOf(Reflect.get(chat, 'block_order'))
  // What stands in no place of the order that was kept stands behind it.
  const placed = order.flatMap((id): readonly unknown[] => {
    const call = calls.find((each) => id !== '' && each['id'] === id)
    return call === undefined ? parts.splice(0, 1).flatMap(blockFor) : [callBlock(call)]
  })
  const left = calls.filter(({ id }) => !order.includes(id))
  return blocksFor([...placed, ...parts.flatMap(blockFor), ...left.map(callBlock)], undefined)
}

function userBlocks({ chat, said: message, isWhole }: Shown): readonly unknown[] {
  if (message !== undefined && isWhole) return message.raw
  const blocks = blocksFor(chatParts(chat.content).flatMap(blockFor), message)
  if (chat.role !== 'tool') return blocks
  const mark = message === undefined ? {} : others(fieldsOf(message.raw[0]), new Set(['content']))
  const content = typeof chat.content === 'string' ? chat.content : blocks
  return [{ ...mark, type: 'tool_result', tool_use_id: chat.tool_call_id, content }]
}

const isResult = (block: unknown): boolean => typeOf(block) === 'tool_result'

/** A system message of the client's own, in the middle of its list: its words, and what it says beside them. */
function directiveOf({ chat, said: message, isWhole }: Shown): Fields {
  const sent = fieldsOf(message?.raw[0])
  return isWhole ? sent : { ...sent, content: blocksFor(chatParts(chat.content).flatMap(blockFor), message) }
}

/** What stands in the list of messages: who says it, and a directive as it is. */
interface Group {
  readonly role: 'user' | 'assistant' | 'system'
  readonly blocks: unknown[]
  readonly fields: Record<string, unknown>
}

function write(body: Fields, shown: readonly Shown[]): Fields {
  const groups: Group[] = []
  const add = (role: Group['role'], blocks: readonly unknown[], fields: Fields = {}): void => {
    const last = groups.at(-1)
    if (last?.role === role) {
      last.blocks.push(...blocks)
      Object.assign(last.fields, fields)
    } else if (blocks.length > 0 || role === 'system') groups.push({ role, blocks: [...blocks], fields: { ...fields } })
  }
  let directives: Fields[] = []
  // A directive stands between what a user says and the answer to it, and nowhere else.
  const direct = (): void => {
    const isPlaced = groups.at(-1)?.role === 'user'
    for (const fields of directives)
      add(isPlaced ? 'system' : 'user', blocksOf(fields['content']).map(asPart), isPlaced ? fields : {})
    directives = []
  }
  for (const each of shown) {
    const isSystem = each.chat.role === 'system' || each.chat.role === 'developer'
    if (isSystem && each.said !== undefined) {
      // The instructions go upstream where the client has them.
      if (each.said.raw.length > 0) directives.push(directiveOf(each))
      continue
    }
    if (each.chat.role === 'assistant') direct()
    add(
      each.chat.role === 'assistant' ? 'assistant' : 'user',
      each.chat.role === 'assistant' ? assistantBlocks(each) : userBlocks(each),
    )
  }
  direct()
  const messages = groups.map(({ role, blocks, fields }) => {
    if (role === 'system') return { ...fields, role, content: blocks }
    const [only] = blocks
    if (blocks.length === 1 && typeof only === 'string') return { role, content: only }
    // Results stand in front of what else the user says.
    const ordered = [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
    return { role, content: ordered.map(asPart) }
  })
  return { ...body, messages }
}

/** Anthropic's Messages. */
export const anthropicMessages: Api = {
  name: 'messages',
  matches: (path) => path.endsWith('/messages') && !path.includes('/threads/'),
  read,
  answerOf,
  reader,
  write,
  offer: (body, { name, description, parameters }) => ({
    ...body,
    tools: [...listOf(body['tools']), { name, description, input_schema: parameters }],
  }),
  follow: (body, { raw }, results) => ({
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
  refusal: (sentence, kind) => ({
    type: 'error',
    error: { type: 'context_ledger_error', message: sentence, code: kind },
  }),
}
