/**
 * The storage of opencode: in older versions the `storage/` tree with one file per record, later a SQLite database. The
 * database is read with Node's built-in `node:sqlite`, which Node 20 does not have.
 */
import { isRecord } from '../../lib/is-record.js'
import { sentenceOf } from '../../ports/store-error.js'
import { open, readdir, readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { exactJson } from '../../lib/json.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, type Fields } from './bodies.js'
import { needsSqlite, openDatabase, type Database } from './sqlite.js'
import type { Unreadable } from './opencode-reader.js'
import type { TranscriptRecord } from './transcript.js'

const slashed = (path: string): string => path.split(sep).join('/')

/** The names in a directory, sorted; empty if there is no such directory. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch {
    return []
  }
}

const jsonFilesIn = async (folder: string): Promise<readonly string[]> =>
  (await namesIn(folder)).filter((name) => name.endsWith('.json')).map((name) => join(folder, name))

async function fieldsOf(file: string): Promise<Fields> {
  try {
    const value = exactJson(await readFile(file, 'utf8'))
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

/** The position of a file in a `storage/` tree. */
interface InTree {
  readonly root: string
  readonly kind: 'session' | 'message' | 'part'
  readonly folder: string
}

const TREE = /^(?<root>.*)\/(?<kind>session|message|part)\/(?<folder>[^/]+)\/[^/]+\.json$/u

function placeIn(path: string): InTree | undefined {
  const { root, kind, folder } = TREE.exec(slashed(path))?.groups ?? {}
  if (root === undefined || folder === undefined) return undefined
  return kind === 'session' || kind === 'message' || kind === 'part' ? { root, kind, folder } : undefined
}

/** Whether a path is inside a `storage/` tree. */
export const isInTree = (path: string): boolean => placeIn(path) !== undefined

/** The session of a file in the tree. */
async function sessionIdOf(path: string, { root, kind, folder }: InTree): Promise<string | undefined> {
  if (kind === 'message') return folder
  const { id, sessionID } = await fieldsOf(path)
  if (kind === 'session') return textIn(id)
  if (textIn(sessionID) !== undefined) return textIn(sessionID)
  for (const session of await namesIn(join(root, 'message')))
    for (const file of await jsonFilesIn(join(root, 'message', session)))
      if (slashed(file).endsWith(`/${folder}.json`) || (await fieldsOf(file))['id'] === folder) return session
  return undefined
}

async function sessionFile(root: string, id: string): Promise<string | undefined> {
  const files: string[] = []
  for (const project of await namesIn(join(root, 'session')))
    files.push(...(await jsonFilesIn(join(root, 'session', project))))
  const named = files.find((file) => slashed(file).endsWith(`/${id}.json`))
  if (named !== undefined) return named
  for (const file of files) if ((await fieldsOf(file))['id'] === id) return file
  return undefined
}

/**
 * The files of the session that contains a file of a `storage/` tree; undefined for a file outside a tree. The parts of
 * a message precede the message, so that it can be yielded when its own file is read.
 */
export async function filesOfSession(path: string): Promise<readonly string[] | undefined> {
  const position = placeIn(path)
  if (position === undefined) return undefined
  const id = await sessionIdOf(path, position)
  if (id === undefined) return undefined
  const session = await sessionFile(position.root, id)
  const files = session === undefined ? [] : [session]
  for (const message of await jsonFilesIn(join(position.root, 'message', id))) {
    const messageId = textIn((await fieldsOf(message))['id']) ?? message.slice(dirname(message).length + 1, -5)
    files.push(...(await jsonFilesIn(join(position.root, 'part', messageId))), message)
  }
  return files.map(slashed)
}

const HOW_ELSE = 'Print each session with `opencode export <session id>`, and import what it prints.'
const OF_GO =
  'is a database of the earlier program named opencode that was written in Go. Its tables differ, and there is no importer for it'

/** SQLite stores the statements that created its tables on the first pages. */
const SCHEMA_BYTES = 65_536

/** Whether the first pages of a database create the tables of the earlier program that was written in Go. */
async function isOfGoByText(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SCHEMA_BYTES), 0, SCHEMA_BYTES, 0)
    const text = buffer.toString('latin1', 0, bytesRead)
    return (
      /CREATE TABLE [^(]{0,40}\bsessions\b/u.test(text) && !/CREATE TABLE [^(]{0,40}\bsession(?:_v2)?\b/u.test(text)
    )
  } finally {
    await file.close()
  }
}

/** Parses a JSON column; undefined if it is not JSON. */
function jsonIn(value: unknown): Fields | undefined {
  try {
    const parsed = typeof value === 'string' ? exactJson(value) : value
    return isRecord(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

const unreadable = (detail: string): Unreadable => ({ unreadable: detail, isCut: false })

/** The tables of version 1, which version 2 does not change after the upgrade. */
function* olderMessages(database: Database, tables: ReadonlySet<string>, sessionId: string): Generator<OlderMessage> {
  if (!tables.has('message')) return
  for (const { id, data, time_created: created } of database.all(
    'SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id',
    sessionId,
  )) {
    const messageId = String(id)
    const info = jsonIn(data)
    if (info === undefined) {
      yield { id: messageId, createdAt: countIn(created), record: unreadable('is a message whose data are no JSON') }
      continue
    }
    // One short query per message: a long query would prevent the program from truncating its log.
    const rows = tables.has('part')
      ? database.all('SELECT id, data FROM part WHERE message_id = ? ORDER BY id', messageId)
      : []
    // In the form of an export, so that a session is identical in every source.
    const parts = rows.map((row) => ({
      ...jsonIn(row['data']),
      id: row['id'],
      sessionID: sessionId,
      messageID: messageId,
    }))
    yield {
      id: messageId,
      createdAt: countIn(created),
      record: { info: { ...info, id: messageId, sessionID: sessionId }, parts },
    }
  }
}

/** A message from the tables of version 1 in the form of an export, or the reason why it is unreadable. */
interface OlderMessage {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly createdAt: number | undefined
  readonly record: unknown
}

/** The rows of `session_message`, in the order of the session. */
function newerMessages(database: Database, tables: ReadonlySet<string>, sessionId: string): readonly Fields[] {
  if (!tables.has('session_message')) return []
  const rows = database.all('SELECT * FROM session_message WHERE session_id = ?', sessionId)
  // The first versions of the table did not have the column `seq`.
  const placeOf = (row: Fields): number => countIn(row['seq']) ?? countIn(row['time_created']) ?? 0
  return rows.toSorted(
    (a, b) => placeOf(a) - placeOf(b) || (countIn(a['time_created']) ?? 0) - (countIn(b['time_created']) ?? 0),
  )
}

const newerRecord = (row: Fields, sessionId: string): unknown => {
  const data = jsonIn(row['data'])
  if (data === undefined) return unreadable('is a message whose data are no JSON')
  return { ...data, id: row['id'], type: row['type'], sessionID: sessionId }
}

/**
 * The rows of `session_message` that are not copies of older messages. Version 2 copies existing sessions at its first
 * start. A copy has the id or the time of its original, and precedes the last row with an original's id.
 */
function withoutCopies(newer: readonly Fields[], older: readonly OlderMessage[]): readonly Fields[] {
  const ids = new Set(older.map(({ id }) => id))
  const times = new Set(older.flatMap(({ createdAt }) => createdAt ?? []))
  const lastCopy = newer.findLastIndex(({ id }) => ids.has(String(id)))
  return newer.filter((row, at) => at > lastCopy && !times.has(countIn(row['time_created']) ?? -1))
}

/**
 * The messages of a session, each once: first the rows of the older tables unchanged, so that a session that was
 * imported before the upgrade stays the same, then the rows that version 2 added. Later messages of version 1 come
 * last.
 */
function* messagesIn(database: Database, tables: ReadonlySet<string>, sessionId: string): Generator<[string, unknown]> {
  const older = [...olderMessages(database, tables, sessionId)]
  const added = withoutCopies(newerMessages(database, tables, sessionId), older)
  const begins = added.reduce((least, row) => Math.min(least, countIn(row['time_created']) ?? least), Infinity)
  const isLater = ({ createdAt = 0 }: OlderMessage): boolean => createdAt > begins
  for (const message of older) if (!isLater(message)) yield [message.id, message.record]
  for (const row of added) yield [String(row['id']), newerRecord(row, sessionId)]
  for (const message of older) if (isLater(message)) yield [message.id, message.record]
}

const sessionOf = (row: Fields): Fields => ({
  info: {
    id: row['id'],
    parentID: row['parent_id'],
    forkedFromID: row['fork_session_id'],
    title: row['title'],
    directory: row['directory'],
    version: row['version'],
    time: { created: row['time_created'] },
    revert: jsonIn(row['revert']),
  },
})

/** The sessions of both versions, each once, by start time. */
function sessionsIn(database: Database, tables: ReadonlySet<string>): readonly Fields[] {
  const sessions = new Map<string, Fields>()
  for (const table of ['session_v2', 'session'] as const) {
    if (!tables.has(table)) continue
    for (const row of database.all(`SELECT * FROM ${table} ORDER BY time_created, id`))
      if (!sessions.has(String(row['id']))) sessions.set(String(row['id']), row)
  }
  return [...sessions.values()].toSorted(
    (a, b) => (countIn(a['time_created']) ?? 0) - (countIn(b['time_created']) ?? 0),
  )
}

function* rowsIn(database: Database): Generator<[string | undefined, unknown]> {
  const tables = new Set(
    database.all("SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => String(name)),
  )
  if (!tables.has('session') && !tables.has('session_v2')) {
    const isOfGo = tables.has('sessions') && tables.has('messages')
    yield [
      undefined,
      unreadable(
        isOfGo ? OF_GO : 'is a database without the tables `session` and `session_v2`, and so not one of opencode',
      ),
    ]
    return
  }
  for (const row of sessionsIn(database, tables)) {
    const id = String(row['id'])
    yield [`session ${id}`, sessionOf(row)]
    yield* messagesIn(database, tables, id)
  }
}

/**
 * The records of a database, session by session, parents before children. If the database cannot be read, the only
 * record contains the reason.
 * @param connect replaced by tests
 */
export async function* recordsOfDatabase(
  path: string,
  connect: (path: string) => Database | undefined = openDatabase,
): AsyncGenerator<TranscriptRecord> {
  const where = { file: slashed(path) }
  let database: Database | undefined
  try {
    database = connect(path)
    if (database === undefined) {
      if (await isOfGoByText(path).catch(() => false)) {
        yield { value: unreadable(OF_GO), where }
        return
      }
      yield {
        value: unreadable(`${needsSqlite()}. ${HOW_ELSE}`),
        where,
      }
      return
    }
    for (const [name, value] of rowsIn(database))
      yield { value, where: name === undefined ? where : { ...where, path: name } }
  } catch (error) {
    yield { value: unreadable(`cannot be read as a database: ${sentenceOf(error)}. ${HOW_ELSE}`), where }
  } finally {
    database?.close()
  }
}
