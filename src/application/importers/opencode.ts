/**
 * opencode (anomalyco/opencode): the JSON of `opencode export`, the `storage/` tree of older versions, its database if
 * this version of Node.js can read SQLite, and the newer events if a file contains them.
 */
import { agentFolders } from '../../lib/user-folders.js'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { filesOfSession, isInTree, recordsOfDatabase } from './opencode-files.js'
import { isDatabase } from './sqlite.js'
import { SQLITE } from './sqlite-header.js'
import { OpencodeReader } from './opencode-reader.js'
import { eventIn, isV2Message } from './opencode-v2.js'
import { headOf, recordsOf } from './records-of.js'
import type { Head, Importer, Layout, TranscriptRecord } from './transcript.js'

/** The beginning of an export that is too large to parse here. */
const EXPORT = /^\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_/u
const DATABASE_NAME = /\/opencode[\w.-]*\.db$/iu
const TABLES = /CREATE TABLE [`"]?(?:session|part|session_v2|session_message)[`"]?\s*\(/u
const PART_PATH = /\/part\/[^/]+\/[^/]+\.json$/u

const isMessage = (value: unknown): boolean =>
  isRecord(value) && ((isRecord(value['info']) && Array.isArray(value['parts'])) || isV2Message(value))

function isExport(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['info']) || !Array.isArray(value['messages'])) return false
  const { info, messages } = value
  return textIn(info['id']) !== undefined && (messages.length === 0 || isMessage(messages[0]))
}

const isId = (value: unknown, prefix: RegExp): boolean => prefix.test(textIn(value) ?? '')

/** Whether a value is a file of the `storage/` tree. */
function isOfTree(value: unknown, path: string): boolean {
  if (!isRecord(value) || textIn(value['id']) === undefined) return false
  const { type, role, sessionID, projectID, directory, messageID, time } = value
  if (typeof type === 'string') return typeof messageID === 'string' || PART_PATH.test(path)
  if (role === 'user' || role === 'assistant') return typeof sessionID === 'string' && isRecord(time)
  return typeof projectID === 'string' && typeof directory === 'string' && isRecord(time)
}

/** Whether the records are durable events, and at least one names a session. */
const isEvents = (records: readonly unknown[]): boolean =>
  records.some((record) => {
    const event = isRecord(record) ? eventIn(record) : undefined
    return event !== undefined && (event.type.startsWith('session.next.') || isId(event.data['sessionID'], /^ses_/u))
  })

function recognize(head: Head): Layout | undefined {
  const { path, records, text } = head
  // No layout describes a database: `records` reads it.
  if (text.startsWith(SQLITE)) return DATABASE_NAME.test(path) || TABLES.test(text) ? 'json' : undefined
  const [first] = records
  if (isExport(first) || isOfTree(first, path) || EXPORT.test(text)) return 'json'
  return isEvents(records) ? 'lines' : undefined
}

async function* recordsIn(path: string): AsyncGenerator<TranscriptRecord> {
  // A tree has many small files. Each is opened only once.
  const isSmall = isInTree(path)
  if (!isSmall && (await isDatabase(path))) {
    yield* recordsOfDatabase(path)
    return
  }
  const layout = isSmall ? 'json' : (recognize(await headOf(path)) ?? 'json')
  for await (const record of recordsOf(path, layout))
    yield 'kind' in record ? { value: { unreadable: record.detail, isCut: record.isCut }, where: record.where } : record
}

/** The importer of opencode. */
export const opencode: Importer = {
  program: 'opencode',
  title: 'opencode',
  homes: (environment, home) => [agentFolders.opencode(environment, home)],
  recognize,
  siblings: async (path) => (await filesOfSession(path)) ?? [path],
  records: recordsIn,
  read: () => new OpencodeReader(),
}
