/**
 * Where opencode keeps a conversation: in the older `storage/` tree a file a record, and since then in a database of
 * SQLite. The database is read with Node's own `node:sqlite`, which Node 20 does not have.
 */
import { open, readdir, readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { exactJson } from '../domain/text/json.js'
import { isFields, textIn, type Fields } from './bodies.js'
import type { Unreadable } from './opencode-reader.js'
import type { TranscriptRecord } from './transcript.js'

const slashed = (path: string): string => path.split(sep).join('/')

/** The names in a folder, in their order; none where there is no such folder. */
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
    return isFields(value) ? value : {}
  } catch {
    return {}
  }
}

/** The place of a file in a `storage/` tree. */
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

/** Whether a file lies where one of a `storage/` tree does. */
export const isInTree = (path: string): boolean => placeIn(path) !== undefined

/** The session that a file of the tree belongs to. */
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
 * The files of the session that a file of a `storage/` tree belongs to; undefined where it lies in none. The parts of a
 * message come before it, so that it can be said as soon as its own file is read.
 */
export async function filesOfSession(path: string): Promise<readonly string[] | undefined> {
  const place = placeIn(path)
  if (place === undefined) return undefined
  const id = await sessionIdOf(path, place)
  if (id === undefined) return undefined
  const session = await sessionFile(place.root, id)
  const files = session === undefined ? [] : [session]
  for (const message of await jsonFilesIn(join(place.root, 'message', id))) {
    const messageId = textIn((await fieldsOf(message))['id']) ?? message.slice(dirname(message).length + 1, -5)
    files.push(...(await jsonFilesIn(join(place.root, 'part', messageId))), message)
  }
  return files.map(slashed)
}

/** How every database of SQLite begins. */
export const SQLITE = 'SQLite format 3\u0000'

/** Whether a file is a database, whatever its name. */
export async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0)
    return buffer.toString('latin1') === SQLITE
  } finally {
    await file.close()
  }
}

/** As much of a database as is read of it. */
export interface Database {
  readonly all: (sql: string, ...values: readonly string[]) => readonly Fields[]
  readonly close: () => void
}

interface Sqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean },
  ) => {
    prepare(sql: string): { all(...values: readonly string[]): readonly unknown[] }
    close(): void
  }
}

const isSqlite = (module: object | undefined): module is Sqlite =>
  module !== undefined && 'DatabaseSync' in module && typeof module.DatabaseSync === 'function'

/** Opens a database, to be read only; undefined where this Node has no SQLite. */
export function openDatabase(path: string): Database | undefined {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (!isSqlite(sqlite)) return undefined
  const database = new sqlite.DatabaseSync(path, { readOnly: true })
  return {
    all: (sql, ...values) =>
      database
        .prepare(sql)
        .all(...values)
        .filter((row): row is Fields => isFields(row)),
    close: () => {
      database.close()
    },
  }
}

const HOW_ELSE = 'Print each session with `opencode export <session id>`, and import what it prints.'

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A column of JSON; undefined where it is none. */
function jsonIn(value: unknown): Fields | undefined {
  try {
    const parsed = typeof value === 'string' ? exactJson(value) : value
    return isFields(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

const unreadable = (detail: string): Unreadable => ({ unreadable: detail, isCut: false })

function* messagesIn(database: Database, tables: ReadonlySet<string>, sessionId: string): Generator<[string, unknown]> {
  const messages = tables.has('message')
    ? database.all('SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id', sessionId)
    : []
  for (const { id, data } of messages) {
    const messageId = String(id)
    const info = jsonIn(data)
    if (info === undefined) {
      yield [messageId, unreadable('is a message whose data are no JSON')]
      continue
    }
    // One short query a message: a long one would keep the program from tidying up its log meanwhile.
    const rows = database.all('SELECT id, data FROM part WHERE message_id = ? ORDER BY id', messageId)
    // In the shape of an export, so that a session is the same one wherever it is read from.
    const parts = rows.map((row) => ({
      ...jsonIn(row['data']),
      id: row['id'],
      sessionID: sessionId,
      messageID: messageId,
    }))
    yield [messageId, { info: { ...info, id: messageId, sessionID: sessionId }, parts }]
  }
  if (messages.length > 0 || !tables.has('session_message')) return
  // The newer table, which the program fills in the place of the others.
  for (const { id, type, data } of database.all(
    'SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY time_created, id',
    sessionId,
  ))
    yield [String(id), { ...jsonIn(data), id, type, sessionID: sessionId }]
}

const sessionOf = (row: Fields): Fields => ({
  info: {
    id: row['id'],
    parentID: row['parent_id'],
    title: row['title'],
    directory: row['directory'],
    version: row['version'],
    time: { created: row['time_created'] },
    revert: jsonIn(row['revert']),
  },
})

function* rowsIn(database: Database): Generator<[string | undefined, unknown]> {
  const tables = new Set(
    database.all("SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => String(name)),
  )
  if (!tables.has('session')) {
    const isOfGo = tables.has('sessions') && tables.has('messages')
    yield [
      undefined,
      unreadable(
        isOfGo
          ? 'is a database of the earlier program written in Go that had the same name; its tables are others, and are not read'
          : 'is a database without a table `session`, and so not one of opencode',
      ),
    ]
    return
  }
  for (const row of database.all('SELECT * FROM session ORDER BY time_created, id')) {
    const id = String(row['id'])
    yield [`session ${id}`, sessionOf(row)]
    yield* messagesIn(database, tables, id)
  }
}

/**
 * The records of a database, session by session, parents before their children. Where it cannot be read, the one record
 * says why.
 * @param connect for tests
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
      yield {
        value: unreadable(
          `needs a Node that reads SQLite (22.13 or later), and this one is ${process.version}. ${HOW_ELSE}`,
        ),
        where,
      }
      return
    }
    for (const [name, value] of rowsIn(database))
      yield { value, where: name === undefined ? where : { ...where, path: name } }
  } catch (error) {
    yield { value: unreadable(`cannot be read as a database: ${sentence(error)}. ${HOW_ELSE}`), where }
  } finally {
    database?.close()
  }
}
