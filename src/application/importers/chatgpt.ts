/**
 * ChatGPT's export: `conversations.json`, in newer exports `conversations-000.json` and so on, or a single
 * conversation. A conversation is a tree. The path to its current node is the model's latest context. Every other
 * branch (a regenerated answer, an edited prompt) is emitted at its branching point and withdrawn immediately. ChatGPT
 * records neither compactions nor token counts.
 */
import { isRecord } from '../../lib/is-record.js'
import { basename } from 'node:path'
import { z } from 'zod'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, refusalOf, timeIn, type Fields } from './bodies.js'
import { toContentPart, textPart } from './content-part.js'
import type {
  Head,
  Importer,
  Layout,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  SourceLocation,
} from './transcript.js'

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

/** A time in seconds since 1970, with a fraction. */
const timeOf = (time: number | undefined): string | undefined =>
  timeIn(time === undefined ? undefined : Math.round(time * 1000))

/** The nodes of a tree, in order. A link counts if only the parent or only the child contains it. */
function nodesOf(mapping: Fields): ReadonlyMap<string, Node> {
  const nodes = new Map(
    Object.entries(mapping).flatMap(([id, value]) => {
      const node = nodeSchema.safeParse(value).data
      return node === undefined ? [] : [[id, node] as const]
    }),
  )
  const children = new Map<string, Set<string>>()
  const parents = new Map<string, string>()
  const link = (parent: string, child: string): void => {
    if (!nodes.has(parent) || !nodes.has(child) || parents.has(child)) return
    parents.set(child, parent)
    children.set(parent, (children.get(parent) ?? new Set()).add(child))
  }
  for (const [id, node] of nodes) for (const child of node.children) if (typeof child === 'string') link(id, child)
  for (const [id, node] of nodes) if (node.parent !== undefined) link(node.parent, id)
  return new Map(
    [...nodes].map(([id, { message }]) => [
      id,
      { id, parent: parents.get(id), children: [...(children.get(id) ?? [])], message: message ?? undefined },
    ]),
  )
}

/** The path from the root to a node. */
function pathTo(nodes: ReadonlyMap<string, Node>, last: string | undefined): readonly Node[] {
  const path = new Map<string, Node>()
  let node = last === undefined ? undefined : nodes.get(last)
  while (node !== undefined && !path.has(node.id)) {
    path.set(node.id, node)
    node = node.parent === undefined ? undefined : nodes.get(node.parent)
  }
  return [...path.values()].toReversed()
}

/** A node and its descendants, parents before children. */
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

/** The leaf that is reached through the newest children, for an export without a current node. */
function newestOf(nodes: ReadonlyMap<string, Node>): string | undefined {
  const visitedIds = new Set<string>()
  let node = [...nodes.values()].findLast(({ parent }) => parent === undefined)
  while (node !== undefined && !visitedIds.has(node.id)) {
    visitedIds.add(node.id)
    const next = node.children.at(-1)
    if (next === undefined) break
    node = nodes.get(next)
  }
  return node?.id
}

function partOf(part: unknown): ContentPart {
  if (typeof part === 'string') return textPart(part)
  const type = isRecord(part) ? textIn(part['content_type']) : undefined
  if (!isRecord(part) || type === undefined) return toContentPart(part)
  // The transcription replaces the audio.
  return toContentPart({ ...part, type: type === 'audio_transcription' ? 'text' : type })
}

const REASONING = new Set(['thoughts', 'reasoning_recap'])

/** The content of a message; undefined if it is empty. */
function contentIn({ content }: Message): string | readonly ContentPart[] | undefined {
  const type = textIn(content?.['content_type'])
  if (content === undefined || type === undefined) return undefined
  if (REASONING.has(type)) return [toContentPart({ ...content, type })]
  if (type === 'user_editable_context')
    return contentOf(
      [content['user_profile'], content['user_instructions']].flatMap((words) => textIn(words) ?? []).map(textPart),
    )
  const parts = (Array.isArray(content['parts']) ? content['parts'] : []).filter((part) => part !== '').map(partOf)
  if (parts.length > 0) return contentOf(parts)
  const words = content['text'] ?? content['result'] ?? content['model_set_context']
  if (typeof words === 'string') return words === '' ? undefined : words
  // An unknown type without text.
  return Array.isArray(content['parts']) || Object.keys(content).length === 1
    ? undefined
    : [toContentPart({ ...content, type })]
}

const isJsonObject = (words: string): boolean => {
  try {
    return isRecord(JSON.parse(words))
  } catch {
    return false
  }
}

/** The tool call of an answer whose recipient is a tool. */
function callIn(id: string, { recipient, content }: Message, body: MessageBody['content']): ToolCall | undefined {
  if (recipient === undefined || ['', 'all', 'assistant', 'user'].includes(recipient) || body === null) return undefined
  const words = typeof body === 'string' ? body : (textIn(content?.['text']) ?? '')
  return isJsonObject(words)
    ? { id, type: 'function', function: { name: recipient, arguments: words } }
    : { id, type: 'custom', custom: { name: recipient, input: words } }
}

/** The data of a node that later nodes need. */
interface NodeState {
  readonly role: MessageBody['role']
  readonly answerId: string | undefined
  /** A call without a result. */
  readonly openCall: string | undefined
}

const failed = ({ content, metadata }: Message): boolean => {
  const result = metadata?.['aggregate_result']
  const status = isRecord(result) ? textIn(result['status']) : undefined
  return content?.['content_type'] === 'system_error' || status?.startsWith('failed') === true
}

const isHidden = ({ metadata }: Message): boolean =>
  metadata?.['is_visually_hidden_from_conversation'] === true || metadata?.['is_user_system_message'] === true

const CONTEXTS = new Set(['user_editable_context', 'model_editable_context'])

/** The message of a node, given the node before it. */
function bodyOf(
  id: string,
  message: Message,
  before: NodeState | undefined,
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
  // A tool's output without a call, or further output after the first result, is recorded as the program's text.
  if (role === 'tool') return { body: { role: 'user', content }, isByProgram: true }
  if (role === 'user') return { body: { role, content }, isByProgram: CONTEXTS.has(type) || isHidden(message) }
  return undefined
}

function* conversationItems(
  conversation: Conversation,
  sourceId: string,
  where: SourceLocation,
  prefix: string,
): Generator<TranscriptItem> {
  const { title, create_time: began, current_node: current, mapping } = conversation
  yield { kind: 'conversation', sourceId, title: textIn(title), startedAt: timeOf(began), where }
  const nodes = nodesOf(mapping)
  const path = pathTo(nodes, current !== undefined && nodes.has(current) ? current : newestOf(nodes))
  const isOnPath = new Set(path.map(({ id }) => id))
  const states = new Map<string, NodeState>()
  const visited = new Set<string>()

  function* emit(node: Node): Generator<TranscriptItem> {
    const { id, message, parent } = node
    visited.add(id)
    const before = parent === undefined ? undefined : states.get(parent)
    const at = { ...where, path: `${prefix}mapping.${id}` }
    const parsed = message === undefined ? undefined : bodyOf(id, message, before)
    // The root of a tree has no message.
    if (message === undefined || parsed === undefined) {
      if (before !== undefined) states.set(id, before)
      const type = textIn(message?.content?.['content_type']) ?? 'message'
      if (message !== undefined) yield { kind: 'left-out', what: type, where: at }
      return
    }
    const { body, isByProgram, openCall } = parsed
    const answerId = body.role === 'assistant' ? (before?.answerId ?? id) : undefined
    states.set(id, { role: body.role, answerId, openCall })
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

  /** Emits an abandoned branch and withdraws it. */
  function* emitAbandoned(first: string): Generator<TranscriptItem> {
    const sourceIds: string[] = []
    for (const node of below(nodes, first)) {
      for (const item of emit(node)) {
        yield item
        if (item.kind === 'message') sourceIds.push(item.sourceId)
      }
    }
    if (sourceIds.length > 0) yield { kind: 'withdrawal', sourceIds, where }
  }

  const roots = [...nodes.values()].filter(({ parent }) => parent === undefined)
  for (const { id } of roots) if (!isOnPath.has(id)) yield* emitAbandoned(id)
  for (const node of path) {
    yield* emit(node)
    for (const child of node.children) if (!isOnPath.has(child)) yield* emitAbandoned(child)
  }
  // Nodes in a cycle have no root.
  for (const id of nodes.keys())
    if (!visited.has(id)) yield { kind: 'left-out', what: 'node', where: { ...where, path: `${prefix}mapping.${id}` } }
}

const isConversation = (value: unknown): boolean =>
  isRecord(value) &&
  isRecord(value['mapping']) &&
  ('current_node' in value || 'conversation_id' in value || 'create_time' in value)

/** @param path the export file; its name gives ids to conversations without one */
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

// For an export that is too large to parse here, only the first 4,096 characters are checked.
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
  // An export has no standard location.
  homes: () => [],
  recognize,
  read: createReader,
}
