/**
 * Crush: the database `.crush/crush.db` of a project. A message has its parts as JSON; a summary is a message of its own,
 * with which the context begins afterwards. The session of a sub-agent is named `<message>$$<call>`. Times are in seconds,
 * although the schema says milliseconds. Written for charmbracelet/crush up to 2026-08.
 */
import { dataFolder } from '../../lib/platform.js'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isRecord } from '../../lib/is-record.js'
import { contentText, type ContentPart, type MessageBody } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, inside, jsonText, unixTime, type Fields } from './bodies.js'
import { contentParts, textPart, toContentPart } from './content-part.js'
import {
  assistantBody,
  contextAfter,
  functionCall,
  messageItems,
  summaryFrom,
  type NewMessage,
} from './message-items.js'
import { databaseFiles, databaseRecords, jsonColumn, type Database, type DatabaseRecord } from './sqlite.js'
import { SQLITE } from './sqlite-header.js'
import type {
  Head,
  Importer,
  Layout,
  Parent,
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

/** A command that the user ran, with its output, as Crush sends it to the model. */
const commandText = ({ command, output, exit_code: code }: Fields): string =>
  [`$ ${jsonText(command)}`, jsonText(output), `(exit code ${jsonText(code)})`].join('\n')

function contentPart({ type, data }: Part): readonly ContentPart[] {
  const text = textIn(data['text'])
  if (type === 'shell_command') return [textPart(commandText(data))]
  if (type === 'finish' || type === 'tool_call' || type === 'tool_result') return []
  if (type === 'text') return text === undefined ? [] : [textPart(text)]
  if (type === 'reasoning' && (textIn(data['thinking']) ?? textIn(data['signature'])) === undefined) return []
  return [toContentPart({ ...data, type: type === 'reasoning' ? 'thinking' : type })]
}

/** The model ended with an error, or the user stopped it. */
const isFailed = (parts: readonly Part[]): boolean =>
  parts.some(({ type, data }) => type === 'finish' && (data['reason'] === 'error' || data['reason'] === 'canceled'))

function messagesOf(role: string, parts: readonly Part[]): readonly NewMessage[] {
  const results = parts.flatMap(({ type, data }): readonly NewMessage[] => {
    const toolCallId = textIn(data['tool_call_id'])
    if (type !== 'tool_result' || toolCallId === undefined) return []
    const media = textIn(data['data'])
    const { content: words = '', mime_type: mediaType } = data
    const content =
      media === undefined
        ? jsonText(words)
        : contentOf([...contentParts(words), toContentPart({ type: 'media', mimeType: mediaType, data: media })])
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

/** The directory of the project: the one that contains `.crush`. */
function projectOf(file: string): string | undefined {
  const folder = dirname(file)
  return basename(folder) === '.crush' ? dirname(folder) : undefined
}

/** The parent of a sub-agent's session, with the call in its id. */
function parentOf(id: string | undefined, parentId: unknown): Parent | undefined {
  const sourceId = textIn(parentId)
  const [, callId] = /\$\$(.+)$/u.exec(id ?? '') ?? []
  return sourceId === undefined ? undefined : { sourceId, how: 'sub-agent', callId }
}

class CrushReader implements TranscriptReader {
  /** An answer without an end. The program may be writing it, unless another message follows. */
  private unfinished: { readonly row: Fields; readonly where: SourceLocation } | undefined;

  *end(): Generator<TranscriptItem> {
    if (this.unfinished === undefined) return
    yield { kind: 'left-out', what: 'unfinished answer', where: this.unfinished.where }
    this.unfinished = undefined
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const session = inside(value, 'session')
    const message = inside(value, 'message')
    if (isRecord(session)) {
      const id = textIn(session['id'])
      yield* this.end()
      yield {
        kind: 'conversation',
        sourceId: id ?? where.file,
        parent: parentOf(id, session['parent_session_id']),
        title: textIn(session['title']),
        cwd: textIn(session['workspace_cwd']) ?? projectOf(where.file),
        startedAt: unixTime(session['created_at']),
        where,
      }
    } else if (isRecord(message)) {
      const before = this.unfinished
      if (before !== undefined) yield* messageItemsOf(before.row, before.where)
      this.unfinished = isFinished(message) ? undefined : { row: message, where }
      if (this.unfinished === undefined) yield* messageItemsOf(message, where)
    } else yield { kind: 'left-out', what: 'row', where }
  }
}

const isFinished = (row: Fields): boolean =>
  row['role'] !== 'assistant' ||
  row['finished_at'] !== null ||
  partsIn(jsonColumn(row['parts'])).some(({ type }) => type === 'finish')

function* messageItemsOf(row: Fields, where: SourceLocation): Generator<TranscriptItem> {
  const role = textIn(row['role']) ?? 'user'
  const parts = partsIn(jsonColumn(row['parts']))
  const sourceId = String(row['id'])
  const at = unixTime(row['created_at'])
  const model = textIn(row['model'])
  // Of a summary, Crush sends only the text.
  const isSummary = row['is_summary_message'] === 1
  const messages = messagesOf(role, isSummary ? parts.filter(({ type }) => type === 'text') : parts)
  const [first] = messages
  if (!isSummary) {
    if (first === undefined) yield { kind: 'left-out', what: `empty ${role}`, where }
    yield* messageItems(messages, { sourceId, at, answerId: sourceId, model, where })
  } else if (isFailed(parts) || !isFinished(row)) yield { kind: 'left-out', what: 'failed summary', where }
  else {
    const body: MessageBody | undefined =
      first === undefined ? undefined : { role: 'user', content: first.body.content }
    yield {
      kind: 'compaction',
      sourceId,
      at,
      trigger: 'unknown',
      summary: summaryFrom(body === undefined ? undefined : contentText(body.content)),
      context: contextAfter(body),
      model,
      where,
    }
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
