/**
 * Zed: the database `threads/threads.db`, with each thread as JSON, in newer versions compressed with zstd. Written for
 * `crates/agent/src/db.rs`, `thread.rs` and `thread/compaction.rs` with the version 0.3.0 of a thread, and for the older
 * form with segments. A compaction is a message between the others; its summary is a text, or items of the provider that
 * only the provider can read. Zed records no times except those of the thread.
 */
import { dataFolder } from '../../lib/platform.js'
import * as zlib from 'node:zlib'
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, type Fields, inside, jsonText, listIn, timeIn } from './bodies.js'
import { textPart, toContentPart } from './content-part.js'
import { answerBody, contextAfter, functionCall, messageItems, type NewMessage } from './message-items.js'
import { databaseFiles, databaseRecords, jsonColumn, type Database, type DatabaseRecord } from './sqlite.js'
import { SQLITE } from './sqlite-header.js'
import type {
  CompactionItem,
  ContextEntry,
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptRecord,
} from './transcript.js'

/** A part of a message: `{"Text": …}`, `{"Mention": …}` and so on. */
function contentPart(part: unknown): ContentPart {
  if (typeof part === 'string') return textPart(part)
  const text = textIn(inside(part, 'Text'))
  if (text !== undefined) return textPart(text)
  const mention = inside(part, 'Mention')
  if (isRecord(mention)) return textPart([jsonText(mention['uri'] ?? ''), textIn(mention['content']) ?? ''].join('\n'))
  const [entry] = isRecord(part) ? Object.entries(part) : []
  return toContentPart(entry === undefined ? part : { type: entry[0].toLowerCase(), value: entry[1] })
}

function resultContent(result: Fields): ReturnType<typeof contentOf> {
  const { content } = result
  return contentOf((Array.isArray(content) ? content : content === undefined ? [] : [content]).map(contentPart))
}

const resultOf = (toolCallId: string, result: Fields): NewMessage => ({
  body: { role: 'tool', content: resultContent(result), toolCallId },
  ...(result['is_error'] === true ? { isError: true } : {}),
})

function agentMessages(agent: Fields): readonly NewMessage[] {
  const thoughts: unknown[] = []
  const texts: string[] = []
  const calls: ToolCall[] = []
  for (const part of listIn(agent['content'])) {
    const call = inside(part, 'ToolUse')
    const thinking = inside(part, 'Thinking')
    const text = textIn(inside(part, 'Text'))
    const id = textIn(inside(call, 'id'))
    if (id !== undefined) calls.push(functionCall(id, inside(call, 'name'), inside(call, 'input') ?? {}))
    else if (isRecord(thinking))
      thoughts.push({ type: 'thinking', thinking: thinking['text'], signature: thinking['signature'] })
    else if (text !== undefined) texts.push(text)
    else thoughts.push(contentPart(part))
  }
  const body = answerBody(thoughts, texts.join('\n'), calls)
  const results = Object.entries(isRecord(agent['tool_results']) ? agent['tool_results'] : {})
  return [
    ...(body === undefined ? [] : [{ body }]),
    ...results.flatMap(([id, result]) => (isRecord(result) ? [resultOf(id, result)] : [])),
  ]
}

/** A message of the older form: segments of text, uses of tools and their results. */
function segmentMessages(message: Fields): readonly NewMessage[] {
  const segments = listIn(message['segments'])
  const texts = segments.flatMap((each) =>
    inside(each, 'type') === 'text' ? (textIn(inside(each, 'text')) ?? []) : [],
  )
  const context = textIn(message['context'])
  if (message['role'] !== 'assistant') {
    const parts = [...(context === undefined ? [] : [context]), ...texts].map(textPart)
    return parts.length === 0
      ? []
      : [{ body: { role: message['role'] === 'system' ? 'system' : 'user', content: contentOf(parts) } }]
  }
  const calls = listIn(message['tool_uses']).flatMap((call) => {
    const id = textIn(inside(call, 'id'))
    return id === undefined ? [] : [functionCall(id, inside(call, 'name'), inside(call, 'input') ?? {})]
  })
  const body = answerBody(
    segments.filter((each) => inside(each, 'type') === 'thinking'),
    texts.join('\n'),
    calls,
  )
  const results = listIn(message['tool_results']).flatMap((result) => {
    const id = textIn(inside(result, 'tool_use_id'))
    return isRecord(result) && id !== undefined ? [resultOf(id, result)] : []
  })
  return [...(body === undefined ? [] : [{ body }]), ...results]
}

function messagesOf(message: unknown): readonly NewMessage[] {
  const user = inside(message, 'User')
  const agent = inside(message, 'Agent')
  if (message === 'Resume') return [{ body: { role: 'user', content: 'Continue where you left off' }, byProgram: true }]
  if (isRecord(agent)) return agentMessages(agent)
  if (isRecord(user)) {
    const parts = listIn(user['content']).map(contentPart)
    return parts.length === 0 ? [] : [{ body: { role: 'user', content: contentOf(parts) } }]
  }
  return isRecord(message) && 'segments' in message ? segmentMessages(message) : []
}

interface UserMessage {
  readonly sourceId: string
  readonly content: MessageBody['content']
}

/** After a compaction, Zed sends the newest messages of the user again, up to this size. */
const RETAINED_BYTES = 80_000

const partsOf = (content: MessageBody['content']): readonly ContentPart[] =>
  content === null ? [] : typeof content === 'string' ? [textPart(content)] : content

/** The bytes of a part that count: those of a text, or of the data of an image. */
function bytesOf(part: ContentPart): number {
  const data = inside(part, 'value', 'source') ?? part['text'] ?? ''
  return Buffer.byteLength(jsonText(data))
}

/** The beginning of a text that fits in a number of bytes, cut between characters. */
const beginningOf = (text: string, bytes: number): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, bytes), { stream: true })

/** The beginning of a content that fits in a number of bytes; undefined if nothing fits. */
function shortened(content: MessageBody['content'], bytes: number): MessageBody['content'] | undefined {
  const retained: ContentPart[] = []
  let bytesLeft = bytes
  for (const part of partsOf(content)) {
    const size = bytesOf(part)
    if (size > bytesLeft) {
      const text = beginningOf(textIn(part['text']) ?? '', bytesLeft)
      if (text !== '') retained.push(textPart(text))
      break
    }
    bytesLeft -= size
    retained.push(part)
  }
  return retained.length === 0 ? undefined : contentOf(retained)
}

/** The newest messages of the user that Zed sends again, oldest first. The oldest of them may be shortened. */
function retainedMessages(users: readonly UserMessage[]): readonly ContextEntry[] {
  const entries: ContextEntry[] = []
  let bytesLeft = RETAINED_BYTES
  for (const { sourceId, content } of users.toReversed()) {
    const size = partsOf(content).reduce((sum, part) => sum + bytesOf(part), 0)
    if (size > bytesLeft) {
      const rest = shortened(content, bytesLeft)
      if (rest !== undefined) entries.push({ kind: 'inserted', body: { role: 'user', content: rest } })
      break
    }
    bytesLeft -= size
    entries.push({ kind: 'message', sourceId })
  }
  return entries.toReversed()
}

type CompactionEffect = Pick<CompactionItem, 'summary' | 'context'>

/** What a compaction leaves in the context; undefined for another message. */
function compactionIn(message: unknown, users: readonly UserMessage[]): CompactionEffect | undefined {
  const compaction = inside(message, 'Compaction')
  if (compaction === undefined) return undefined
  const text = textIn(inside(compaction, 'Summary'))
  // A provider's own compaction replaces all earlier messages. Only the provider can read its items.
  return text === undefined
    ? { summary: { kind: 'opaque' }, context: [] }
    : {
        summary: { kind: 'text', text },
        context: [...retainedMessages(users), ...contextAfter({ role: 'user', content: text })],
      }
}

function* threadItems(row: Fields, thread: Fields, where: SourceLocation): Generator<TranscriptItem> {
  const parent = textIn(row['parent_id'])
  const model = textIn(inside(thread, 'model', 'model'))
  yield {
    kind: 'conversation',
    sourceId: String(row['id']),
    ...(parent === undefined ? {} : { parent: { sourceId: parent, how: 'sub-agent' } }),
    programVersion: textIn(thread['version']),
    title: textIn(row['summary']) ?? textIn(thread['title']),
    cwd: textIn(row['folder_paths'])?.split('\n')[0],
    startedAt: timeIn(row['created_at']),
    where,
  }
  // An edited prompt has another id, and so have the answers after it.
  let prompt = 'start'
  let count = 0
  let isMarker = false
  const users: UserMessage[] = []
  for (const [at, message] of listIn(thread['messages']).entries()) {
    const location = { ...where, path: `${where.path ?? ''}, message ${String(at + 1)}` }
    const userId = textIn(inside(message, 'User', 'id'))
    count = userId === undefined ? count + 1 : 0
    prompt = userId ?? prompt
    const sourceId = userId ?? `${prompt}/${String(count)}`
    const compaction = compactionIn(message, users)
    if (compaction !== undefined) {
      // The command of the user for a compaction is an empty message.
      yield {
        kind: 'compaction',
        sourceId,
        trigger: isMarker ? 'manual' : 'auto',
        ...compaction,
        model,
        where: location,
      }
      continue
    }
    const messages = messagesOf(message)
    const [first] = messages
    isMarker = userId !== undefined && first === undefined
    if (userId !== undefined && first !== undefined) users.push({ sourceId, content: first.body.content })
    if (messages.length === 0) yield { kind: 'left-out', what: 'empty message', where: location }
    yield* messageItems(messages, { sourceId, answerId: sourceId, model, where: location })
  }
}

/** The JSON text of a thread, or why it cannot be read. */
function threadText({ data_type: type, hex }: Fields): { readonly text: string } | { readonly reason: string } {
  const bytes = Buffer.from(textIn(hex) ?? '', 'hex')
  if (type !== 'zstd') return { text: bytes.toString('utf8') }
  const decompress: unknown = Reflect.get(zlib, 'zstdDecompressSync')
  if (typeof decompress !== 'function')
    return {
      reason: 'is a thread compressed with zstd, which Node reads from version 22.15 on: import it with such a Node',
    }
  try {
    return { text: String(Reflect.apply(decompress, zlib, [bytes])) }
  } catch {
    return { reason: 'is a thread that cannot be decompressed' }
  }
}

function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
  if (!isRecord(value)) {
    yield { kind: 'left-out', what: 'row', where }
    return
  }
  const decoded = threadText(value)
  const thread = 'text' in decoded ? jsonColumn(decoded.text) : undefined
  if (isRecord(thread)) yield* threadItems(value, thread, where)
  else {
    const detail = 'reason' in decoded ? decoded.reason : 'is a thread that is no JSON'
    yield { kind: 'damage', detail, isCut: false, where }
  }
}

function* rows(database: Database): Generator<DatabaseRecord> {
  for (const { id } of database.all('SELECT id FROM threads ORDER BY updated_at, id')) {
    const [row] = database.all('SELECT *, NULL AS data, hex(data) AS hex FROM threads WHERE id = ?', String(id))
    yield { value: row, path: `thread ${String(id)}` }
  }
}

const recognize = ({ path, text }: Head): Layout | undefined =>
  text.startsWith(SQLITE) && (/\/threads\.db$/iu.test(path) || /CREATE TABLE threads \([^)]*data_type/u.test(text))
    ? 'own'
    : undefined

/** The importer of Zed. */
export const zed: Importer = {
  program: 'zed',
  title: 'Zed',
  homes(environment, home) {
    const data = dataFolder(environment, home)
    const local = textIn(environment['LOCALAPPDATA'])
    return [
      join(data, 'zed', 'threads'),
      join(home, 'Library', 'Application Support', 'Zed', 'threads'),
      ...(local === undefined ? [] : [join(local, 'Zed', 'threads')]),
    ]
  },
  recognize,
  siblings: databaseFiles,
  records: (path, layout) => (layout === 'own' ? databaseRecords(path, rows) : undefined),
  read: () => ({ take, end: () => [] }),
}
