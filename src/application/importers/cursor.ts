/**
 * Cursor: the transcripts of its agents (`~/.cursor/projects/<project>/agent-transcripts/`), the stores of its command line
 * (`cursor-store.ts`), and the composers in the database `state.vscdb`. A line of a transcript has a message without id,
 * time or results of its calls; if the session has a store, that is read instead. In the database, `composerData:<id>`
 * lists the bubbles of a conversation, `bubbleId:<composer>:<id>` is a bubble (a prompt, an answer, or one call with its
 * result), and `composerHeaders` has the project. Only the latest summary of a conversation is stored. Other tables and
 * keys contain credentials, and are not read. Written for composers `_v` 3 to 17 and bubbles `_v` 2 and 3 (Cursor 0.43 to
 * 3.x), as SpecStory, agentsview and others read them; Cursor publishes no format.
 */
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import { canonicalJson, sha256 } from '../../domain/values/hash.js'
import { recordable } from '../../lib/json.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, type Fields, inside, jsonText, stemOf, timeIn } from './bodies.js'
import { answerBody, contextAfter, functionCall, knownUsage, messageItems, type NewMessage } from './message-items.js'
import type { ContentId } from './content-id.js'
import {
  columnsOf,
  databaseFiles,
  databaseRecords,
  fromDatabase,
  jsonColumn,
  type Database,
  type DatabaseRecord,
} from './sqlite.js'
import { SQLITE } from './sqlite-header.js'
import { isStore, isWholeStore, storeItems, storeOf, storeRows, transcriptOf } from './cursor-store.js'
import { messagesIn } from './task-blocks.js'
import { editorFolders } from './task-files.js'
import { withoutRepeats } from './repeats.js'
import type {
  ConversationItem,
  Head,
  Importer,
  Layout,
  Parent,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

const FINAL = new Set(['completed', 'error', 'cancelled', 'rejected'])

/** The time at which a bubble began: relative times are counted back from the end. */
function bubbleTime(bubble: Fields): string | undefined {
  const created = timeIn(bubble['createdAt'])
  const start = countIn(inside(bubble, 'timingInfo', 'clientStartTime'))
  return created ?? (start === undefined || start < 946_684_800_000 ? undefined : timeIn(Math.round(start)))
}

/** The messages of a bubble: what the user or the model said, or a call and its result. */
function bubbleMessages(bubble: Fields, id: string): readonly NewMessage[] {
  const text = textIn(bubble['text'])
  if (bubble['type'] === 1) return text === undefined ? [] : [{ body: { role: 'user', content: text } }]
  const thinking = textIn(inside(bubble, 'thinking', 'text')) ?? textIn(bubble['thinking'])
  const signature = textIn(inside(bubble, 'thinking', 'signature'))
  const tool = bubble['toolFormerData']
  const callId = textIn(inside(tool, 'toolCallId')) ?? id
  const name = textIn(inside(tool, 'name'))
  const status = textIn(inside(tool, 'status')) ?? 'completed'
  const rawArguments = inside(tool, 'rawArgs')
  const input = rawArguments === '' ? undefined : rawArguments
  const calls = name === undefined ? [] : [functionCall(callId, name, input ?? inside(tool, 'params') ?? {})]
  const thoughts =
    thinking === undefined && (signature === undefined || text !== undefined || name !== undefined)
      ? []
      : [{ type: 'thinking', thinking: thinking ?? '', ...(thinking === undefined ? { signature } : {}) }]
  const body = answerBody(thoughts, text, calls)
  const answers: readonly NewMessage[] = body === undefined ? [] : [{ body }]
  if (name === undefined || !FINAL.has(status)) return answers
  const result = inside(tool, 'result')
  const content = result === undefined || result === null ? '' : jsonText(result)
  const isError = status === 'error' || status === 'cancelled'
  return [...answers, { body: { role: 'tool', content, toolCallId: callId }, ...(isError ? { isError } : {}) }]
}

/** The summary that the conversation had last; undefined if there is none. */
function latestSummary(
  composer: Fields,
): { readonly text: string; readonly through: string; readonly at: string } | undefined {
  const latest = composer['latestConversationSummary']
  const summary = isRecord(inside(latest, 'summary')) ? inside(latest, 'summary') : latest
  const text = textIn(inside(summary, 'summary'))
  const through = textIn(inside(summary, 'truncationLastBubbleIdInclusive'))
  if (text === undefined || through === undefined) return undefined
  return { text, through, at: textIn(inside(latest, 'lastBubbleId')) ?? through }
}

/** The agent transcript's ids in its path: `<id>/<id>.jsonl`, and `<id>/subagents/<child>.jsonl`. */
function transcriptIds(path: string): { readonly sourceId: string; readonly parent: Parent | undefined } {
  const parts = path.split(/[\\/]/u)
  const sourceId = stemOf(path)
  const caller = parts.at(-2) === 'subagents' ? parts.at(-3) : undefined
  return { sourceId, parent: caller === undefined ? undefined : { sourceId: caller, how: 'sub-agent' } }
}

class CursorReader implements TranscriptReader {
  private hasBegun = false
  /** The session has a store that can be read, so the lines of its transcript are not messages of their own. */
  private hasStore = false
  /** A store of which a part cannot be read: its messages count only if there is no transcript. */
  private partialStore: { readonly store: Fields; readonly where: SourceLocation } | undefined
  private previousId = ''
  private composer: { readonly data: Fields; readonly emitted: string[] } | undefined
  /** Calls without a result, in the order of the conversation. The program may be running them. */
  private running: { readonly bubble: Fields; readonly id: string; readonly where: SourceLocation }[] = []

  constructor(
    private readonly path: string,
    private readonly contentId: ContentId,
  ) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isRecord(value)) yield { kind: 'left-out', what: 'record', where }
    else if (isRecord(value['composer'])) yield* this.begin(value['composer'], value, where)
    else if (isRecord(value['store'])) yield* this.store(value['store'], where)
    else if (isRecord(value['bubble'])) yield* this.bubble(value['bubble'], textIn(value['bubbleId']) ?? '', where)
    else yield* this.line(value, where)
  }

  *end(): Generator<TranscriptItem> {
    if (this.partialStore !== undefined && !this.hasBegun) {
      const { store, where } = this.partialStore
      yield* storeItems(store, where)
    }
    for (const { where } of this.running) yield { kind: 'left-out', what: 'running call', where }
    this.running = []
  }

  private *store(store: Fields, where: SourceLocation): Generator<TranscriptItem> {
    this.hasStore = isWholeStore(store)
    if (this.hasStore) yield* storeItems(store, where)
    else {
      this.partialStore = { store, where }
      yield { kind: 'left-out', what: 'store that cannot be read whole', where }
    }
  }

  private *begin(data: Fields, { composerId, header }: Fields, where: SourceLocation): Generator<TranscriptItem> {
    yield* this.end()
    this.composer = { data, emitted: [] }
    const folder = (of: unknown): string | undefined => textIn(inside(of, 'workspaceIdentifier', 'uri', 'fsPath'))
    const conversation: Omit<ConversationItem, 'where'> = {
      kind: 'conversation',
      sourceId: textIn(composerId) ?? '',
      title: textIn(data['name']) ?? textIn(inside(header, 'name')),
      startedAt: timeIn(countIn(data['createdAt'])),
      cwd: folder(data) ?? folder(header),
    }
    yield { ...conversation, where }
  }

  private *bubble(bubble: Fields, id: string, where: SourceLocation): Generator<TranscriptItem> {
    const { composer } = this
    if (composer === undefined) {
      yield { kind: 'left-out', what: 'bubble without a conversation', where }
      return
    }
    const status = textIn(inside(bubble, 'toolFormerData', 'status'))
    if (status !== undefined && !FINAL.has(status)) {
      this.running.push({ bubble, id, where })
      return
    }
    // Without another call after it, the model or the user continued: a call without a result does not get one any more.
    if (status === undefined)
      for (const call of this.running.splice(0)) yield* this.bubbleItems(call.bubble, call.id, composer, call.where)
    yield* this.bubbleItems(bubble, id, composer, where)
  }

  private *bubbleItems(
    bubble: Fields,
    id: string,
    composer: NonNullable<CursorReader['composer']>,
    where: SourceLocation,
  ): Generator<TranscriptItem> {
    const messages = bubbleMessages(bubble, id)
    const model =
      textIn(inside(bubble, 'modelInfo', 'modelName')) ?? textIn(inside(composer.data, 'modelConfig', 'modelName'))
    const usage = knownUsage({
      inputTokens: countIn(inside(bubble, 'tokenCount', 'inputTokens')),
      outputTokens: countIn(inside(bubble, 'tokenCount', 'outputTokens')),
    })
    if (messages.length === 0) yield { kind: 'left-out', what: 'bubble without text', where }
    else composer.emitted.push(id)
    yield* messageItems(messages, { sourceId: id, at: bubbleTime(bubble), model, usage, where })
    const summary = latestSummary(composer.data)
    if (summary?.at === id) yield this.compaction(summary, composer.emitted, where)
  }

  private compaction(
    { text, through, at }: { readonly text: string; readonly through: string; readonly at: string },
    emitted: readonly string[],
    where: SourceLocation,
  ): TranscriptItem {
    const retained = emitted.slice(emitted.indexOf(through) + 1)
    return {
      kind: 'compaction',
      sourceId: `summary-${at}`,
      trigger: 'unknown',
      summary: { kind: 'text', text },
      context: contextAfter({ role: 'user', content: text }, retained),
      where,
    }
  }

  /** A line of an agent's transcript. */
  private *line(line: Fields, where: SourceLocation): Generator<TranscriptItem> {
    if (this.hasStore) {
      this.previousId = this.contentId(`${this.previousId} ${canonicalJson(recordable(line))}`)
      yield { kind: 'withdrawal', sourceIds: [this.previousId], isReplaced: true, where }
      return
    }
    if (!this.hasBegun) {
      this.hasBegun = true
      yield { kind: 'conversation', ...transcriptIds(this.path), where }
    }
    const role = textIn(line['role'])
    this.previousId = this.contentId(`${this.previousId} ${canonicalJson(recordable(line))}`)
    const content = inside(line, 'message', 'content')
    const messages = role === undefined ? [] : messagesIn(role, content, undefined, this.previousId)
    if (messages.length === 0) yield { kind: 'left-out', what: role ?? textIn(line['type']) ?? 'line', where }
    yield* messageItems(messages, { sourceId: this.previousId, answerId: this.previousId, where })
  }
}

const VALUE = 'SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?'

const composerIds = (database: Database): readonly string[] =>
  database
    .all("SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key")
    .map(({ key }) => String(key).slice('composerData:'.length))

/** Reads the header of a composer, as text. */
function headersOf(database: Database): (composerId: string) => unknown {
  const hasHeaders = columnsOf(database, 'composerHeaders').has('value')
  return (composerId) =>
    hasHeaders
      ? database.all('SELECT value FROM composerHeaders WHERE composerId = ?', composerId)[0]?.['value']
      : undefined
}

/**
 * A digest of each composer. Of its bubbles, it contains numbers and lengths of the rows: Cursor replaces a row, which
 * gets a new number, and their texts may have a gigabyte.
 */
function composerDigests(database: Database): ReadonlyMap<string, string> {
  const headerOf = headersOf(database)
  const bubbles = `SELECT count(*) AS rows, max(rowid) AS last, total(rowid) AS numbers,
    total(octet_length(value)) AS bytes FROM cursorDiskKV WHERE key >= ? AND key < ?`
  return new Map(
    composerIds(database).map((id) => [
      id,
      sha256(
        JSON.stringify([
          database.all(VALUE, `composerData:${id}`)[0]?.['value'],
          headerOf(id),
          database.all(bubbles, `bubbleId:${id}:`, `bubbleId:${id};`)[0],
        ]),
      ),
    ]),
  )
}

/** The composers of a database with their bubbles, in the order of each conversation. */
function* composerRows(
  database: Database,
  isWanted: (composerId: string) => boolean = () => true,
): Generator<DatabaseRecord> {
  const headerOf = headersOf(database)
  for (const composerId of composerIds(database)) {
    if (!isWanted(composerId)) continue
    const key = `composerData:${composerId}`
    const data = jsonColumn(database.all(VALUE, key)[0]?.['value'])
    if (!isRecord(data)) continue
    const inline: readonly unknown[] = Array.isArray(data['conversation']) ? data['conversation'] : []
    const headers: readonly unknown[] = Array.isArray(data['fullConversationHeadersOnly'])
      ? data['fullConversationHeadersOnly']
      : []
    if (inline.length === 0 && headers.length === 0) continue
    yield { value: { composer: data, composerId, header: jsonColumn(headerOf(composerId)) }, path: key }
    for (const entry of inline.length > 0 ? inline : headers) {
      const bubbleId = textIn(inside(entry, 'bubbleId')) ?? ''
      const path = `bubbleId:${composerId}:${bubbleId}`
      const bubble = inline.length > 0 ? entry : jsonColumn(database.all(VALUE, path)[0]?.['value'])
      if (isRecord(bubble)) yield { value: { bubble, bubbleId }, path }
    }
  }
}

const FIELDS = new Set(['role', 'message', 'timestamp', 'timestamp_ms', 'id'])

/** A line of an agent's transcript has hardly more than a role and a message. */
const isLine = (record: unknown): boolean =>
  isRecord(record) &&
  (record['role'] === 'user' || record['role'] === 'assistant') &&
  Array.isArray(inside(record, 'message', 'content')) &&
  Object.keys(record).every((name) => FIELDS.has(name))

function recognize({ path, records, text }: Head): Layout | undefined {
  if (text.startsWith(SQLITE) && isStore(path)) return 'own'
  if (text.startsWith(SQLITE))
    return /\/state\.vscdb$/iu.test(path) && (/\/cursor\//iu.test(path) || text.includes('cursorDiskKV'))
      ? 'own'
      : undefined
  return records.some(isLine) &&
    records.every((record) => isLine(record) || (isRecord(record) && record['role'] === undefined))
    ? 'lines'
    : undefined
}

/** The importer of Cursor. */
export const cursor: Importer = {
  program: 'cursor',
  title: 'Cursor',
  homes: (environment, home) => [
    join(home, '.cursor', 'projects'),
    join(home, '.cursor', 'chats'),
    ...editorFolders(['Cursor'], environment, home).map((folder) => join(folder, 'globalStorage', 'state.vscdb')),
  ],
  recognize,
  async siblings(path) {
    if (/\.vscdb$/iu.test(path)) return await databaseFiles(path)
    const store = isStore(path) ? path : await storeOf(path)
    if (store === undefined) return await databaseFiles(path)
    const transcript = isStore(path) ? await transcriptOf(path) : path
    return [...(await databaseFiles(store)), ...(transcript === undefined ? [] : [transcript])]
  },
  records(path, layout, isWanted) {
    if (/\/store\.db(?:-wal)?$/iu.test(path.replaceAll('\\', '/'))) return databaseRecords(path, storeRows(path))
    return layout === 'own' && !/\.jsonl$/iu.test(path)
      ? databaseRecords(path, (database) => composerRows(database, isWanted))
      : undefined
  },
  digests: (path) => (/\.vscdb$/iu.test(path) ? fromDatabase(path, composerDigests) : undefined),
  makesContentIds: true,
  read: (path, contentId) =>
    withoutRepeats(new CursorReader(path, contentId), { id: 'id', times: ['timestamp', 'timestamp_ms'] }),
}
