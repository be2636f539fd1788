/**
 * Goose: sessions in the database `sessions.db`, in a JSON Lines file each in older versions, or as JSON of
 * `goose session export`. Written for the schema of `crates/goose/src/session/session_manager.rs` up to version 17. A
 * compaction keeps every message, and marks it invisible for the agent; after them it inserts its summary and an
 * instruction to continue, both invisible for the user, and often a copy of the user's newest prompt. `usage_ledger` has
 * what the compaction cost. Goose also replaces single calls of tools with a text that only the agent sees.
 */
import { dataFolder } from '../../lib/platform.js'
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import { contentText, type ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, type Fields, inside, jsonText, listIn, stemOf, timeIn, unixTime } from './bodies.js'
import { contentPart } from './content-part.js'
import type { ContentId } from './content-id.js'
import { assistantBody, functionCall, knownUsage, messageItems, type NewMessage } from './message-items.js'
import { columnsOf, databaseFiles, databaseRecords, jsonColumn, type Database, type DatabaseRecord } from './sqlite.js'
import { SQLITE } from './sqlite-header.js'
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
  Usage,
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
  readonly forUser: boolean
  readonly forAgent: boolean
  readonly where: SourceLocation
}

/** A summary, and the instruction that follows it. */
type Compaction = readonly [GooseMessage, GooseMessage]

/** The usage of a compaction, and when it was recorded. */
interface CompactionUsage {
  readonly at: number
  readonly model: string | undefined
  readonly usage: Usage | undefined
}

/** The usage is recorded when the answer is complete, at most this long after it begins. */
const USAGE_WITHIN_MS = 10 * 60_000

function compactionUsage(row: Fields): CompactionUsage {
  const usage = knownUsage({
    inputTokens: countIn(row['input_tokens']),
    outputTokens: countIn(row['output_tokens']),
    cacheReadTokens: countIn(row['cache_read_tokens']),
    cacheWriteTokens: countIn(row['cache_write_tokens']),
    cost: countIn(row['cost']),
  })
  return { at: Date.parse(unixTime(row['created_timestamp']) ?? ''), model: textIn(row['model']), usage }
}

const textOf = ({ role, content, id }: GooseMessage): string | undefined => {
  const [first, second] = messagesOf(role, content, id)
  return second === undefined && typeof first?.body.content === 'string' && first.body.toolCalls === undefined
    ? textIn(first.body.content)
    : undefined
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
  /** Messages that wait for their successor: a message, or the summary and the instruction of a compaction. */
  private pending: GooseMessage | undefined
  private compaction: Compaction | undefined
  /** The newest prompt that is only a text. An automatic compaction repeats it. */
  private prompt: GooseMessage | undefined
  private costs: CompactionUsage[] = []
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
    yield* this.compact(undefined)
  }

  private *session(session: Fields, where: SourceLocation): Generator<TranscriptItem> {
    yield* this.end()
    const parent = textIn(session['parent_session_id'])
    this.idOf = createContentIds(this.contentId)
    this.prompt = undefined
    this.costs = listIn(session['compactions']).filter(isRecord).map(compactionUsage)
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
      forUser: inside(metadata, 'userVisible') !== false,
      forAgent: inside(metadata, 'agentVisible') !== false,
      where,
    }
    if (yield* this.compact(next)) return
    const { pending } = this
    if (pending?.role === 'user' && !pending.forUser && next.role === 'assistant' && !next.forUser) {
      this.compaction = [pending, next]
      this.pending = undefined
      return
    }
    yield* this.release(next)
    this.pending = next
  }

  /** Yields the pending message. */
  private *release(next: GooseMessage | undefined): Generator<TranscriptItem> {
    const { pending } = this
    this.pending = undefined
    if (pending === undefined) return
    const { id, role, content, at, forUser, forAgent, where } = pending
    // The prompt that a compaction repeats is invisible for both.
    const isRepeated = !forAgent && next?.role === 'user' && !next.forUser
    const messages = messagesOf(role, content, id).map((each): NewMessage =>
      forUser || isRepeated || role !== 'user' ? each : { ...each, byProgram: true },
    )
    if (role === 'user' && (forUser || isRepeated) && textOf(pending) !== undefined) this.prompt = pending
    if (messages.length === 0) yield { kind: 'left-out', what: `empty ${role}`, where }
    yield* messageItems(messages, { sourceId: id, at, model: this.model, where })
  }

  /** Yields the pending compaction. Returns true if `next` repeats the prompt that the compaction keeps. */
  private *compact(next: GooseMessage | undefined): Generator<TranscriptItem, boolean> {
    const { compaction, prompt } = this
    this.compaction = undefined
    if (compaction === undefined) return false
    const [summary, instruction] = compaction
    const bodies = [summary, instruction].flatMap(({ role, content, id }) =>
      messagesOf(role, content, id).map(({ body }) => body),
    )
    const isRepeated =
      next?.role === 'user' && next.at === instruction.at && prompt !== undefined && textOf(next) === textOf(prompt)
    const { model, usage } = this.costOf(summary)
    yield {
      kind: 'compaction',
      sourceId: summary.id,
      at: summary.at,
      trigger: isRepeated ? 'auto' : 'unknown',
      summary: { kind: 'text', text: contentText(bodies[0]?.content ?? '') },
      context: [
        ...bodies.map((body, index) => ({
          kind: 'inserted' as const,
          body,
          ...(index === 0 ? { isSummary: true as const } : {}),
        })),
        ...(isRepeated ? [{ kind: 'message' as const, sourceId: prompt.id }] : []),
      ],
      model: model ?? this.model,
      usage,
      where: summary.where,
    }
    if (isRepeated) yield { kind: 'left-out', what: 'repeated prompt', where: next.where }
    return isRepeated
  }

  /** The usage that was recorded for a compaction: the next one after its summary. */
  private costOf({ at }: GooseMessage): Pick<CompactionUsage, 'model' | 'usage'> {
    const start = Date.parse(at ?? '')
    const index = this.costs.findIndex((cost) => cost.at >= start - 1000 && cost.at <= start + USAGE_WITHIN_MS)
    const [found] = index === -1 ? [] : this.costs.splice(0, index + 1).slice(-1)
    return { model: found?.model, usage: found?.usage }
  }
}

/** The rows of the database, session by session. */
function* gooseRows(database: Database): Generator<DatabaseRecord> {
  const hasIds = columnsOf(database, 'messages').has('message_id')
  const hasCosts = columnsOf(database, 'usage_ledger').has('is_compaction')
  const costs = 'SELECT * FROM usage_ledger WHERE session_id = ? AND is_compaction = 1 ORDER BY id'
  for (const session of database.all('SELECT * FROM sessions ORDER BY created_at, id')) {
    const id = String(session['id'])
    const compactions = hasCosts ? database.all(costs, id) : []
    yield { value: { ...session, compactions }, path: `session ${id}` }
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
