/**
 * ChatGPT's export: `conversations.json`, in newer exports `conversations-000.json` and so on, or one conversation
 * alone. A conversation is a tree. What leads to its current node is what the model was given last; every other branch
 * (an answer that was asked for again, a prompt that was rewritten) is said where it began, and withdrawn at once.
 * ChatGPT tells of no compaction, and of no tokens.
 */
import { basename } from 'node:path'
import { z } from 'zod'
import type { ContentPart, MessageBody, ToolCall } from '../domain/values/message.js'
import { contentOf, isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import { keptPart, textPart } from './kept-part.js'
import type { Head, Importer, Layout, TranscriptItem, TranscriptReader, TranscriptRecord, Where } from './transcript.js'

const text = z.string().optional().catch(undefined)
const seconds = z.number().optional().catch(undefined)
const fields = z.record(z.string(), z.unknown()).optional().catch(undefined)

const conversationSchema = z.looseObject({
  id: text,
  conversation_id: text,
  title: text,
  create_time: seconds,
  current_node: text,
  mapping: z.record(z.string(), z.unknown()),
})
const nodeSchema = z.looseObject({
  parent: text,
  children: z.array(z.unknown()).catch([]),
  message: z
    .looseObject({ create_time: seconds, author: fields, content: fields, metadata: fields, recipient: text })
    .nullish()
    .catch(undefined),
})
type Conversation = z.infer<typeof conversationSchema>
type Message = NonNullable<z.infer<typeof nodeSchema>['message']>

interface Node {
  readonly id: string
  readonly parent: string | undefined
  readonly children: readonly string[]
  readonly message: Message | undefined
}

/** A time that counts seconds, with a fraction. */
const timeOf = (time: number | undefined): string | undefined =>
  timeIn(time === undefined ? undefined : Math.round(time * 1000))

/** The nodes of a tree, in their order; what only the parent or only the child tells of the other is taken as well. */
function nodesOf(mapping: Fields): ReadonlyMap<string, Node> {
  const given = new Map(
    Object.entries(mapping).flatMap(([id, value]) => {
      const node = nodeSchema.safeParse(value).data
      return node === undefined ? [] : [[id, node] as const]
    }),
  )
  const children = new Map<string, Set<string>>()
  const parents = new Map<string, string>()
  const link = (parent: string, child: string): void => {
    if (!given.has(parent) || !given.has(child) || parents.has(child)) return
    parents.set(child, parent)
    children.set(parent, (children.get(parent) ?? new Set()).add(child))
  }
  for (const [id, node] of given) for (const child of node.children) if (typeof child === 'string') link(id, child)
  for (const [id, node] of given) if (node.parent !== undefined) link(node.parent, id)
  return new Map(
    [...given].map(([id, { message }]) => [
      id,
      { id, parent: parents.get(id), children: [...(children.get(id) ?? [])], message: message ?? undefined },
    ]),
  )
}

/** From the root to a node. */
function pathTo(nodes: ReadonlyMap<string, Node>, last: string | undefined): readonly Node[] {
  const path = new Map<string, Node>()
  let node = last === undefined ? undefined : nodes.get(last)
  while (node !== undefined && !path.has(node.id)) {
    path.set(node.id, node)
    node = node.parent === undefined ? undefined : nodes.get(node.parent)
  }
  return [...path.values()].toReversed()
}

/** A node and everything below it, each before what it leads to. */
function below(nodes: ReadonlyMap<string, Node>, first: string): readonly Node[] {
  const found = new Map<string, Node>()
  const waiting = [first]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const node = nodes.get(id)
    if (node === undefined || found.has(id)) continue
    found.set(id, node)
    waiting.push(...node.children.toReversed())
  }
  return [...found.values()]
}

/** Where an export names no current node, the newest child of each. */
function newestOf(nodes: ReadonlyMap<string, Node>): string | undefined {
  const seen = new Set<string>()
  let node = [...nodes.values()].findLast(({ parent }) => parent === undefined)
  while (node !== undefined && !seen.has(node.id)) {
    seen.add(node.id)
    const next = node.children.at(-1)
    if (next === undefined) break
    node = nodes.get(next)
  }
  return node?.id
}

function partOf(part: unknown): ContentPart {
  if (typeof part === 'string') return textPart(part)
  const type = isFields(part) ? textIn(part['content_type']) : undefined
  if (!isFields(part) || type === undefined) return keptPart(part)
  // What was spoken is said by its transcription.
  return keptPart({ ...part, type: type === 'audio_transcription' ? 'text' : type })
}

const REASONING = new Set(['thoughts', 'reasoning_recap'])

/** What a message says; undefined where it says nothing. */
function contentIn({ content }: Message): string | readonly ContentPart[] | undefined {
  const type = textIn(content?.['content_type'])
  if (content === undefined || type === undefined) return undefined
  if (REASONING.has(type)) return [keptPart({ ...content, type })]
  if (type === 'user_editable_context')
    return contentOf(
      [content['user_profile'], content['user_instructions']].flatMap((words) => textIn(words) ?? []).map(textPart),
    )
  const parts = (Array.isArray(content['parts']) ? content['parts'] : []).filter((part) => part !== '').map(partOf)
  if (parts.length > 0) return contentOf(parts)
  const words = content['text'] ?? content['result'] ?? content['model_set_context']
  if (typeof words === 'string') return words === '' ? undefined : words
  // A type that we do not know, without words that we could find.
  return Array.isArray(content['parts']) || Object.keys(content).length === 1
    ? undefined
    : [keptPart({ ...content, type })]
}

const isJsonObject = (words: string): boolean => {
  try {
    return isFields(JSON.parse(words))
  } catch {
    return false
  }
}

/** A call: what an answer says to a tool and not to everybody. */
function callIn(id: string, { recipient, content }: Message, said: MessageBody['content']): ToolCall | undefined {
  if (recipient === undefined || ['', 'all', 'assistant', 'user'].includes(recipient) || said === null) return undefined
  const words = typeof said === 'string' ? said : (textIn(content?.['text']) ?? '')
  return isJsonObject(words)
    ? { id, type: 'function', function: { name: recipient, arguments: words } }
    : { id, type: 'custom', custom: { name: recipient, input: words } }
}

/** What a node is to those behind it. */
interface Said {
  readonly role: MessageBody['role']
  readonly answerId: string | undefined
  /** The call that has no result yet. */
  readonly openCall: string | undefined
}

const failed = ({ content, metadata }: Message): boolean => {
  const result = metadata?.['aggregate_result']
  const status = isFields(result) ? textIn(result['status']) : undefined
  return content?.['content_type'] === 'system_error' || status?.startsWith('failed') === true
}

const isHidden = ({ metadata }: Message): boolean =>
  metadata?.['is_visually_hidden_from_conversation'] === true || metadata?.['is_user_system_message'] === true

const CONTEXTS = new Set(['user_editable_context', 'model_editable_context'])

/** The message of a node, as the branch before it has it. */
function bodyOf(
  id: string,
  message: Message,
  before: Said | undefined,
): { readonly body: MessageBody; readonly isByProgram: boolean; readonly openCall?: string | undefined } | undefined {
  const content = contentIn(message)
  if (content === undefined) return undefined
  const role = textIn(message.author?.['role'])
  const type = textIn(message.content?.['content_type']) ?? ''
  if (role === 'assistant') {
    const call = REASONING.has(type) ? undefined : callIn(id, message, content)
    const body: MessageBody = call === undefined ? { role, content } : { role, content: null, toolCalls: [call] }
    return { body, isByProgram: CONTEXTS.has(type), openCall: call?.id }
  }
  if (role === 'tool' && before?.openCall !== undefined)
    return { body: { role, content, toolCallId: before.openCall }, isByProgram: false }
  if (role === 'system') return { body: { role, content }, isByProgram: false, openCall: before?.openCall }
  // What a tool says without having been called, or says more than once, is the program's.
  if (role === 'tool') return { body: { role: 'user', content }, isByProgram: true }
  if (role === 'user') return { body: { role, content }, isByProgram: CONTEXTS.has(type) || isHidden(message) }
  return undefined
}

function* conversationItems(
  conversation: Conversation,
  sourceId: string,
  where: Where,
  prefix: string,
): Generator<TranscriptItem> {
  const { title, create_time: began, current_node: current, mapping } = conversation
  yield { kind: 'conversation', sourceId, title: textIn(title), startedAt: timeOf(began), where }
  const nodes = nodesOf(mapping)
  const path = pathTo(nodes, current !== undefined && nodes.has(current) ? current : newestOf(nodes))
  const isOnPath = new Set(path.map(({ id }) => id))
  const said = new Map<string, Said>()
  const visited = new Set<string>()

  function* say(node: Node): Generator<TranscriptItem> {
    const { id, message, parent } = node
    visited.add(id)
    const before = parent === undefined ? undefined : said.get(parent)
    const at = { ...where, path: `${prefix}mapping.${id}` }
    const given = message === undefined ? undefined : bodyOf(id, message, before)
    // The root of a tree holds no message.
    if (message === undefined || given === undefined) {
      if (before !== undefined) said.set(id, before)
      const type = textIn(message?.content?.['content_type']) ?? 'message'
      if (message !== undefined) yield { kind: 'left-out', what: type, where: at }
      return
    }
    const { body, isByProgram, openCall } = given
    const answerId = body.role === 'assistant' ? (before?.answerId ?? id) : undefined
    said.set(id, { role: body.role, answerId, openCall })
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: refusal, isCut: false, where: at }
      return
    }
    yield {
      kind: 'message',
      sourceId: id,
      part: 0,
      at: timeOf(message.create_time),
      body,
      ...(isByProgram ? { byProgram: true } : {}),
      ...(body.role === 'tool' && failed(message) ? { isError: true } : {}),
      ...(body.role === 'assistant' ? { answerId, model: textIn(message.metadata?.['model_slug']) } : {}),
      where: at,
    }
  }

  /** A branch that was left: it is said, and then it is withdrawn. */
  function* leave(first: string): Generator<TranscriptItem> {
    const sourceIds: string[] = []
    for (const node of below(nodes, first)) {
      for (const item of say(node)) {
        yield item
        if (item.kind === 'message') sourceIds.push(item.sourceId)
      }
    }
    if (sourceIds.length > 0) yield { kind: 'withdrawal', sourceIds, where }
  }

  const roots = [...nodes.values()].filter(({ parent }) => parent === undefined)
  for (const { id } of roots) if (!isOnPath.has(id)) yield* leave(id)
  for (const node of path) {
    yield* say(node)
    for (const child of node.children) if (!isOnPath.has(child)) yield* leave(child)
  }
  // Nodes that are their own ancestors hang on no root.
  for (const id of nodes.keys())
    if (!visited.has(id)) yield { kind: 'left-out', what: 'node', where: { ...where, path: `${prefix}mapping.${id}` } }
}

const isConversation = (value: unknown): boolean =>
  isFields(value) &&
  isFields(value['mapping']) &&
  ('current_node' in value || 'conversation_id' in value || 'create_time' in value)

/** @param path of the export, whose name gives ids to conversations that have none */
function createReader(path: string): TranscriptReader {
  const stem = basename(path.replaceAll('\\', '/')).replace(/\.json$/u, '')

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const [index, one] of list.entries()) {
      const prefix = Array.isArray(value) ? `[${String(index)}]` : ''
      const at = prefix === '' ? where : { ...where, path: prefix }
      const conversation = conversationSchema.safeParse(one).data
      if (conversation === undefined) {
        yield { kind: 'left-out', what: 'conversation', where: at }
        continue
      }
      const sourceId = textIn(conversation.id) ?? textIn(conversation.conversation_id) ?? `${stem}${prefix}`
      yield* conversationItems(conversation, sourceId, at, prefix === '' ? '' : `${prefix}.`)
    }
  }

  return { take, end: () => [] }
}

// An export that is too large to be looked at whole shows its first 4,096 characters.
const BEGIN = /^\s*(?:\[\s*)?\{(?=[^]*"create_time"\s*:)(?=[^]*"mapping"\s*:\s*\{)/u

function recognize({ records, text: begin }: Head): Layout | undefined {
  const [value] = records
  if (value === undefined) return BEGIN.test(begin) ? 'json' : undefined
  const first: unknown = Array.isArray(value) ? value[0] : value
  return isConversation(first) ? 'json' : undefined
}

/** The importer of ChatGPT. */
export const chatgpt: Importer = {
  program: 'chatgpt',
  title: 'ChatGPT',
  // An export is wherever somebody put it.
  homes: () => [],
  recognize,
  read: createReader,
}
