/**
 * Crush: the database `.crush/crush.db` of a project. A message has its parts as JSON; a summary is a message of its own,
 * with which the context begins afterwards. Written for the migrations of charmbracelet/crush up to 2026-03 (0.1 to 0.40).
 */
import { dataFolder } from '../lib/user-folders.js'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../lib/is-record.js'
import { contentText, type ContentPart, type MessageBody } from '../domain/values/message.js'
import { textIn } from '../lib/text-in.js'
import { contentOf, inside, unixTime, type Fields } from './bodies.js'
import { textPart, toContentPart } from './content-part.js'
import {
  assistantBody,
  contextAfter,
  functionCall,
  messageItems,
  summaryFrom,
  type NewMessage,
} from './message-items.js'
import { databaseFiles, databaseRecords, jsonColumn, SQLITE, type Database, type DatabaseRecord } from './sqlite.js'
import type {
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

interface Part {
  readonly type: string
  readonly data: Fields
}

const partsIn = (parts: unknown): readonly Part[] =>
  (Array.isArray(parts) ? parts : []).flatMap((part: unknown) => {
    const type = textIn(inside(part, 'type'))
    const data = inside(part, 'data')
    return type === undefined || !isRecord(data) ? [] : [{ type, data }]
  })

function contentPart({ type, data }: Part): readonly ContentPart[] {
  const text = textIn(data['text'])
  if (type === 'finish' || type === 'tool_call' || type === 'tool_result') return []
  if (type === 'text') return text === undefined ? [] : [textPart(text)]
  if (type === 'reasoning' && textIn(data['thinking']) === undefined) return []
  return [toContentPart({ ...data, type: type === 'reasoning' ? 'thinking' : type })]
}

function messagesOf(role: string, parts: readonly Part[]): readonly NewMessage[] {
  const results = parts.flatMap(({ type, data }): readonly NewMessage[] => {
    const toolCallId = textIn(data['tool_call_id'])
    if (type !== 'tool_result' || toolCallId === undefined) return []
    const content = textIn(data['content']) ?? ''
    return [{ body: { role: 'tool', content, toolCallId }, ...(data['is_error'] === true ? { isError: true } : {}) }]
  })
  const content = parts.flatMap(contentPart)
  const calls = parts.flatMap(({ type, data }) => {
    const id = textIn(data['id'])
    return type !== 'tool_call' || id === undefined ? [] : [functionCall(id, data['name'], data['input'])]
  })
  const answer = assistantBody(content, calls)
  if (answer === undefined) return results
  const isHidden = parts.some(({ type, data }) => type === 'text' && data['hidden'] === true)
  const body: MessageBody =
    role === 'assistant' ? answer : { role: role === 'system' ? 'system' : 'user', content: contentOf(content) }
  return [...results, { body, ...(isHidden || role === 'tool' ? { byProgram: true } : {}) }]
}

class CrushReader implements TranscriptReader {
  /** The program is writing the last answer of the session. */
  private isUnfinished = false

  end(): [] {
    return []
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const session = inside(value, 'session')
    const message = inside(value, 'message')
    if (isRecord(session)) {
      const parent = textIn(session['parent_session_id'])
      this.isUnfinished = false
      yield {
        kind: 'conversation',
        sourceId: textIn(session['id']) ?? where.file,
        ...(parent === undefined ? {} : { parent: { sourceId: parent, how: 'sub-agent' } }),
        title: textIn(session['title']),
        cwd: textIn(session['workspace_cwd']),
        startedAt: unixTime(session['created_at']),
        where,
      }
    } else if (isRecord(message)) yield* this.message(message, where)
    else yield { kind: 'left-out', what: 'row', where }
  }

  private *message(row: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const role = textIn(row['role']) ?? 'user'
    const parts = partsIn(jsonColumn(row['parts']))
    const isFinished =
      role !== 'assistant' || row['finished_at'] !== null || parts.some(({ type }) => type === 'finish')
    this.isUnfinished ||= !isFinished
    if (this.isUnfinished) {
      yield { kind: 'left-out', what: 'unfinished answer', where }
      return
    }
    const sourceId = String(row['id'])
    const at = unixTime(row['created_at'])
    const messages = messagesOf(role, parts)
    const [first] = messages
    if (row['is_summary_message'] === 1) {
      const body: MessageBody | undefined =
        first === undefined ? undefined : { role: 'user', content: first.body.content }
      yield {
        kind: 'compaction',
        sourceId,
        at,
        trigger: 'unknown',
        summary: summaryFrom(body === undefined ? undefined : contentText(body.content)),
        context: contextAfter(body),
        model: textIn(row['model']),
        where,
      }
      return
    }
    if (messages.length === 0) yield { kind: 'left-out', what: `empty ${role}`, where }
    yield* messageItems(messages, { sourceId, at, answerId: sourceId, model: textIn(row['model']), where })
  }
}

function* rows(database: Database): Generator<DatabaseRecord> {
  for (const session of database.all('SELECT * FROM sessions ORDER BY created_at, id')) {
    const id = String(session['id'])
    yield { value: { session }, path: `session ${id}` }
    const select =
      'SELECT *, CAST(parts AS TEXT) AS parts FROM messages WHERE session_id = ? ORDER BY created_at, rowid'
    for (const message of database.all(select, id))
      yield { value: { message }, path: `session ${id}, message ${String(message['id'])}` }
  }
}

/** The directories of the projects that Crush has listed. */
function projectFolders(file: string): readonly string[] {
  try {
    const projects = inside(JSON.parse(readFileSync(file, 'utf8')), 'projects')
    return (Array.isArray(projects) ? projects : []).flatMap(
      (project: unknown) => textIn(inside(project, 'data_dir')) ?? [],
    )
  } catch {
    return []
  }
}

const recognize = ({ path, text }: Head): Layout | undefined =>
  text.startsWith(SQLITE) && (/\/crush\.db$/iu.test(path) || text.includes('is_summary_message')) ? 'own' : undefined

/** The importer of Crush. */
export const crush: Importer = {
  program: 'crush',
  title: 'Crush',
  homes(environment, home) {
    const data = dataFolder(environment, home)
    const local = textIn(environment['LOCALAPPDATA'])
    const lists = [data, ...(local === undefined ? [] : [local])].map((root) => join(root, 'crush', 'projects.json'))
    return [...lists.flatMap(projectFolders), join(home, '.crush')]
  },
  recognize,
  siblings: databaseFiles,
  records: (path, layout) => (layout === 'own' ? databaseRecords(path, rows) : undefined),
  read: () => new CrushReader(),
}
