/**
 * The store of a session of Cursor's command line, `~/.cursor/chats/<project>/<session>/store.db`: blobs by the hash of
 * their content. `meta` has a JSON object in hexadecimal, which names the root; the root is a protobuf message whose field 1
 * lists the messages (AI SDK), field 9 the projects, and field 13 the archives of summarized messages. The store may have a
 * key for encrypted blobs, which is never read out. Written for Cursor CLI 2026.07, as other tools read it; Cursor
 * publishes no format.
 */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, inside, listIn, pathOfUri, timeIn, type Fields } from './bodies.js'
import { contextAfter, messageItems, type NewMessage } from './message-items.js'
import { jsonColumn, type Database, type DatabaseRecord } from './sqlite.js'
import { messagesIn } from './task-blocks.js'
import type { Parent, SourceLocation, TranscriptItem } from './transcript.js'

const ROOT = { messages: 1, projects: 9, archives: 13 } as const
const ARCHIVE = { messages: 1, summary: 2 } as const

/** The values of the fields of a protobuf message that have bytes; undefined if it is none. */
function byteFields(bytes: Buffer): ReadonlyMap<number, readonly Buffer[]> | undefined {
  const fields = new Map<number, Buffer[]>()
  let at = 0
  const number = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at]
      at += 1
      if (byte === undefined || scale > 2 ** 56) return Number.NaN
      value += (byte % 128) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const key = number()
    const wire = key % 8
    if (wire === 0) number()
    else if (wire === 1) at += 8
    else if (wire === 5) at += 4
    else if (wire === 2) {
      const length = number()
      const value = bytes.subarray(at, at + length)
      if (value.length !== length) return undefined
      at += length
      fields.set(Math.floor(key / 8), [...(fields.get(Math.floor(key / 8)) ?? []), value])
    } else return undefined
  }
  return at === bytes.length ? fields : undefined
}

const hex = (bytes: Buffer): string => bytes.toString('hex')

/** A message of the session: the id of its blob, and its content if the store has it. */
interface StoredMessage {
  readonly id: string
  readonly message: unknown
}

interface StoredArchive {
  readonly id: string
  readonly summary: string
  readonly messages: readonly StoredMessage[]
}

/** The record of a store: the session, its archives, and the messages of the root in their order. */
export const storeRows = (path: string) =>
  function* rows(database: Database): Generator<DatabaseRecord> {
    const blob = (id: string): Buffer | undefined => {
      const [row] = database.all('SELECT hex(data) AS hex FROM blobs WHERE id = ?', id)
      return row === undefined ? undefined : Buffer.from(textIn(row['hex']) ?? '', 'hex')
    }
    const [row] = database.all("SELECT value FROM meta WHERE key = '0'")
    const meta = jsonColumn(Buffer.from(textIn(row?.['value']) ?? '', 'hex').toString('utf8'))
    const rootId = textIn(inside(meta, 'latestRootBlobId'))
    const root = byteFields(rootId === undefined ? Buffer.alloc(0) : (blob(rootId) ?? Buffer.alloc(0)))
    const stored = (id: Buffer): StoredMessage => ({
      id: hex(id),
      message: jsonColumn(blob(hex(id))?.toString('utf8')),
    })
    const archives = (root?.get(ROOT.archives) ?? []).flatMap((id): StoredArchive[] => {
      const archive = byteFields(blob(hex(id)) ?? Buffer.alloc(0))
      const summary = archive?.get(ARCHIVE.summary)?.[0]?.toString('utf8')
      return archive === undefined || summary === undefined
        ? []
        : [{ id: hex(id), summary, messages: (archive.get(ARCHIVE.messages) ?? []).map(stored) }]
    })
    const store = {
      sessionId: textIn(inside(meta, 'agentId')) ?? basename(dirname(path)),
      title: inside(meta, 'name'),
      createdAt: inside(meta, 'createdAt'),
      model: inside(meta, 'lastUsedModel'),
      parentId: inside(meta, 'subagentInfo', 'parentAgentId'),
      callId: inside(meta, 'subagentInfo', 'toolCallId'),
      project: root?.get(ROOT.projects)?.at(-1)?.toString('utf8'),
      hasRoot: root !== undefined,
      archives,
      messages: (root?.get(ROOT.messages) ?? []).map(stored),
    }
    yield { value: { store }, path: 'root' }
  }

/** A part of the AI SDK in the form that `messagesIn` reads. */
function blockOf(part: unknown): unknown {
  if (!isRecord(part)) return part
  const { args, result, ...rest } = part
  if (part['type'] === 'tool-call' && part['input'] === undefined) return { ...rest, input: args }
  return part['type'] === 'tool-result' && part['output'] === undefined ? { ...rest, content: result } : part
}

// Cursor puts the user's words into this tag, and its own additions into others.
const ADDITION = /^\s*<(?!user_query\b)[a-z_]+>/u

function messagesOf({ id, message }: StoredMessage): readonly NewMessage[] {
  const content = inside(message, 'content')
  const blocks = Array.isArray(content) ? content.map(blockOf) : content
  return messagesIn(textIn(inside(message, 'role')) ?? '', blocks, undefined, id).map((each): NewMessage => {
    const words = JSON.stringify(each.body.content)
    const [first] = listIn(content)
    const isAddition = ADDITION.test(textIn(content) ?? textIn(inside(first, 'text')) ?? '')
    return each.body.role === 'user' && isAddition && !words.includes('<user_query>')
      ? { ...each, byProgram: true }
      : each
  })
}

function parentOf({ parentId, callId }: Fields): Parent | undefined {
  const sourceId = textIn(parentId)
  return sourceId === undefined ? undefined : { sourceId, how: 'sub-agent', callId: textIn(callId) }
}

const isStored = (value: unknown): value is StoredMessage => isRecord(value) && typeof value['id'] === 'string'

const storedMessages = (owner: unknown): readonly StoredMessage[] => listIn(inside(owner, 'messages')).filter(isStored)

/** Whether the root and all messages of a store could be read. */
export const isWholeStore = (store: Fields): boolean =>
  store['hasRoot'] === true &&
  [store, ...listIn(store['archives'])].flatMap(storedMessages).every(({ message }) => message !== undefined)

/** The items of a store. */
export function* storeItems(store: Fields, where: SourceLocation): Generator<TranscriptItem> {
  const project = textIn(store['project'])
  yield {
    kind: 'conversation',
    sourceId: textIn(store['sessionId']) ?? where.file,
    parent: parentOf(store),
    title: textIn(store['title']),
    cwd: project === undefined ? undefined : pathOfUri(project),
    startedAt: timeIn(countIn(store['createdAt'])),
    where,
  }
  if (store['hasRoot'] !== true)
    yield { kind: 'damage', detail: 'has a list of messages that cannot be read', isCut: false, where }
  const model = textIn(store['model'])
  const emitted = new Set<string>()
  const emit = function* (messages: readonly StoredMessage[]): Generator<TranscriptItem> {
    for (const stored of messages) {
      const { id, message } = stored
      if (emitted.has(id)) continue
      const location = { ...where, path: `blob ${id}` }
      if (message === undefined)
        yield { kind: 'damage', detail: 'is a message that is missing or encrypted', isCut: false, where: location }
      const found = message === undefined ? [] : messagesOf(stored)
      if (message !== undefined && found.length === 0)
        yield { kind: 'left-out', what: 'empty message', where: location }
      if (found.length > 0) emitted.add(id)
      yield* messageItems(found, { sourceId: id, answerId: id, model, where: location })
    }
  }
  const current = storedMessages(store)
  for (const archive of listIn(store['archives'])) {
    yield* emit(storedMessages(archive))
    const text = textIn(inside(archive, 'summary')) ?? ''
    const retainedIds = current.filter(({ id }) => emitted.has(id)).map(({ id }) => id)
    yield {
      kind: 'compaction',
      sourceId: textIn(inside(archive, 'id')) ?? '',
      trigger: 'unknown',
      summary: { kind: 'text', text },
      context: contextAfter({ role: 'user', content: text }, retainedIds),
      where,
    }
  }
  const summaries = listIn(store['archives']).map((archive) => textIn(inside(archive, 'summary')) ?? '')
  // The summary is a message of the root too.
  yield* emit(current.filter(({ message }) => !summaries.some((text) => text !== '' && isText(message, text))))
}

/** A text without its tags and white space. */
const lettersOf = (text: string): string => text.replaceAll(/<\/?[a-z_]+>|\s/gu, '')

/** Whether a message of the user is a text, perhaps in tags. */
function isText(message: unknown, text: string): boolean {
  const content = inside(message, 'content')
  const words =
    textIn(content) ??
    listIn(content)
      .flatMap((part) => textIn(inside(part, 'text')) ?? [])
      .join('')
  return inside(message, 'role') === 'user' && lettersOf(words) === lettersOf(text)
}

/** Whether a path is that of a store. */
export const isStore = (path: string): boolean => /\/chats\/[^/]+\/[^/]+\/store\.db$/iu.test(path.replaceAll('\\', '/'))

const existing = async (path: string): Promise<string | undefined> =>
  (await stat(path).catch(() => undefined))?.isFile() === true ? path : undefined

/** The first of these directories with a file. */
async function fileIn(folder: string, names: (name: string) => string): Promise<string | undefined> {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await existing(join(folder, names(name)))
    if (found !== undefined) return found
  }
  return undefined
}

/** The store of the session of a transcript; undefined if there is none, or this version of Node.js cannot read it. */
export async function storeOf(transcript: string): Promise<string | undefined> {
  const [, root, id] =
    /^(.*)\/projects\/[^/]+\/agent-transcripts\/(?:[^/]+\/)*([^/]+)\.jsonl$/u.exec(transcript.replaceAll('\\', '/')) ??
    []
  if (root === undefined || id === undefined || process.getBuiltinModule('node:sqlite') === undefined) return undefined
  return await fileIn(join(root, 'chats'), (project) => join(project, id, 'store.db'))
}

/** The transcript of the session of a store. */
export async function transcriptOf(store: string): Promise<string | undefined> {
  const id = basename(dirname(store))
  const root = dirname(dirname(dirname(dirname(store))))
  return await fileIn(join(root, 'projects'), (project) => join(project, 'agent-transcripts', id, `${id}.jsonl`))
}
