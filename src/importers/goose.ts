/**
 * Goose: sessions in the database `sessions.db`, in a JSON Lines file each in older versions, or as JSON of
 * `goose session export`. Written for the schema of `crates/goose/src/session/session_manager.rs` up to version 5 and its
 * successors with `message_id` (Goose 1.0 to 1.20). A compaction keeps every message, and marks it invisible for the
 * agent; after them it inserts its summary and an instruction to continue, both invisible for the user.
 */
import { dataFolder } from '../lib/user-folders.js'
import { isRecord } from '../lib/is-record.js'
import { join } from 'node:path'
import { contentText, type ToolCall } from '../domain/values/message.js'
import { textIn } from '../lib/text-in.js'
import { contentOf, countIn, type Fields, inside, jsonText, stemOf, timeIn, unixTime } from './bodies.js'
import { contentPart } from './content-part.js'
import type { ContentId } from './content-id.js'
import { assistantBody, functionCall, messageItems, type NewMessage } from './message-items.js'
import {
  columnsOf,
  databaseFiles,
  databaseRecords,
  jsonColumn,
  SQLITE,
  type Database,
  type DatabaseRecord,
} from './sqlite.js'
import { createContentIds } from './task-blocks.js'
import { withoutRepeats } from './repeats.js'
import type {
  ConversationItem,
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

const isCall = ({ type }: Fields): boolean => type === 'toolRequest' || type === 'frontendToolRequest'

function callOf(block: Fields, fallback: string): ToolCall {
  const call = inside(block, 'toolCall', 'value')
  return functionCall(textIn(block['id']) ?? fallback, inside(call, 'name'), inside(call, 'arguments') ?? {})
}

function resultOf(block: Fields): NewMessage {
  const result = block['toolResult']
  const value = inside(result, 'value')
  const parts = Array.isArray(value) ? value : inside(value, 'content')
  const failed = inside(result, 'status') === 'error' || inside(value, 'isError') === true
  const content =
    textIn(inside(result, 'error')) ??
    (Array.isArray(parts) ? contentOf(parts.map(contentPart)) : value === undefined ? '' : jsonText(value))
  return { body: { role: 'tool', content, toolCallId: textIn(block['id']) }, ...(failed ? { isError: true } : {}) }
}

/** The messages of a record: the results, then the rest. */
function messagesOf(role: 'user' | 'assistant', content: unknown, id: string): readonly NewMessage[] {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : []
  const results = blocks.filter(({ type }) => type === 'toolResponse').map(resultOf)
  const toolCalls = blocks.filter(isCall).map((block, at) => callOf(block, `${id}-call-${String(at + 1)}`))
  const parts = blocks.filter((block) => !isCall(block) && block['type'] !== 'toolResponse').map(contentPart)
  const body = assistantBody(parts, toolCalls)
  return body === undefined ? results : [...results, { body: { ...body, role } }]
}

interface GooseMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly content: unknown
  readonly at: string | undefined
  readonly isHidden: boolean
  readonly where: SourceLocation
}

/** A message; undefined for another record. */
const messageIn = (value: unknown): Fields | undefined =>
  isRecord(value) &&
  (value['role'] === 'user' || value['role'] === 'assistant') &&
  countIn(value['created']) !== undefined &&
  Array.isArray(value['content'])
    ? value
    : undefined
const isMessage = (value: unknown): boolean => messageIn(value) !== undefined

class GooseReader implements TranscriptReader {
  private conversation: Omit<ConversationItem, 'where'> | undefined
  private model: string | undefined
  /** A message that waits for its successor, which shows whether it is a summary. */
  private pending: GooseMessage | undefined
  private idOf: (record: unknown) => string

  constructor(
    private readonly stem: string,
    private readonly contentId: ContentId,
  ) {
    this.idOf = createContentIds(contentId)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const message = messageIn(value)
    if (message !== undefined) yield* this.message(message, where)
    else if (isRecord(value)) {
      yield* this.session(value, where)
      const messages: readonly unknown[] = Array.isArray(value['conversation']) ? value['conversation'] : []
      for (const [at, each] of messages.entries()) {
        const inSession = messageIn(each)
        if (inSession !== undefined) yield* this.message(inSession, { ...where, path: `conversation[${String(at)}]` })
      }
    } else yield { kind: 'left-out', what: 'record', where }
  }

  *end(): Generator<TranscriptItem> {
    yield* this.release(undefined)
  }

  private *session(session: Fields, where: SourceLocation): Generator<TranscriptItem> {
    yield* this.release(undefined)
    const parent = textIn(session['parent_session_id'])
    this.idOf = createContentIds(this.contentId)
    this.model = textIn(inside(jsonColumn(session['model_config_json']) ?? session['model_config'], 'model_name'))
    this.conversation = {
      kind: 'conversation',
      sourceId: textIn(session['id']) ?? this.stem,
      ...(parent === undefined ? {} : { parent: { sourceId: parent, how: 'sub-agent' } }),
      title: textIn(session['name']) ?? textIn(session['description']),
      cwd: textIn(session['working_dir']),
      startedAt: timeIn(session['created_at']),
    }
    yield { ...this.conversation, where }
  }

  private *message(message: Fields, where: SourceLocation): Generator<TranscriptItem> {
    if (this.conversation === undefined) yield* this.session({}, where)
    const { role, created, content, metadata } = message
    const next: GooseMessage = {
      id: textIn(message['id']) ?? this.idOf({ role, created, content }),
      role: role === 'assistant' ? role : 'user',
      content,
      at: unixTime(created),
      isHidden: inside(metadata, 'userVisible') === false,
      where,
    }
    if (yield* this.release(next)) return
    this.pending = next
  }

  /** Yields the pending message. Returns true if it is a summary to which `next` belongs. */
  private *release(next: GooseMessage | undefined): Generator<TranscriptItem, boolean> {
    const { pending } = this
    this.pending = undefined
    if (pending === undefined) return false
    const messages = messagesOf(pending.role, pending.content, pending.id)
    const { id, at, where } = pending
    if (pending.isHidden && pending.role === 'user' && next?.isHidden === true && next.role === 'assistant') {
      const bodies = [...messages, ...messagesOf(next.role, next.content, next.id)].map(({ body }) => body)
      yield {
        kind: 'compaction',
        sourceId: id,
        at,
        trigger: 'unknown',
        summary: { kind: 'text', text: contentText(messages[0]?.body.content ?? '') },
        context: bodies.map((body, index) => ({ kind: 'inserted', body, ...(index === 0 ? { isSummary: true } : {}) })),
        where,
      }
      return true
    }
    if (messages.length === 0) yield { kind: 'left-out', what: `empty ${pending.role}`, where }
    yield* messageItems(messages, { sourceId: id, at, model: this.model, where })
    return false
  }
}

/** The rows of the database, session by session. */
function* gooseRows(database: Database): Generator<DatabaseRecord> {
  const hasIds = columnsOf(database, 'messages').has('message_id')
  for (const session of database.all('SELECT * FROM sessions ORDER BY created_at, id')) {
    const id = String(session['id'])
    yield { value: session, path: `session ${id}` }
    for (const row of database.all('SELECT * FROM messages WHERE session_id = ? ORDER BY created_timestamp, id', id)) {
      const content = jsonColumn(row['content_json'])
      yield {
        value: {
          id: hasIds ? row['message_id'] : undefined,
          role: row['role'],
          created: row['created_timestamp'],
          content: Array.isArray(content) ? content : [],
          metadata: jsonColumn(row['metadata_json']),
        },
        path: `session ${id}, message ${String(row['id'])}`,
      }
    }
  }
}

function recognize({ path, records, text }: Head): Layout | undefined {
  if (text.startsWith(SQLITE))
    return /\/goose\/.*sessions\.db$/iu.test(path) || text.includes('content_json') ? 'own' : undefined
  const [first] = records
  if (isRecord(first) && Array.isArray(first['conversation']) && typeof first['working_dir'] === 'string') return 'json'
  return records.some(isMessage) &&
    records.every((record) => isMessage(record) || (isRecord(record) && 'working_dir' in record))
    ? 'lines'
    : undefined
}

/** The importer of Goose. */
export const goose: Importer = {
  program: 'goose',
  title: 'Goose',
  homes(environment, home) {
    const root = textIn(environment['GOOSE_PATH_ROOT'])
    const data = dataFolder(environment, home)
    const roaming = textIn(environment['APPDATA'])
    return [
      ...(root === undefined ? [] : [join(root, 'data', 'sessions')]),
      join(data, 'goose', 'sessions'),
      ...(roaming === undefined ? [] : [join(roaming, 'Block', 'goose', 'data', 'sessions')]),
    ]
  },
  recognize,
  siblings: databaseFiles,
  records: (path, layout) => (layout === 'own' ? databaseRecords(path, gooseRows) : undefined),
  makesContentIds: true,
  read: (path, contentId) => withoutRepeats(new GooseReader(stemOf(path), contentId), { id: 'id', times: ['created'] }),
}
