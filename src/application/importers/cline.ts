/**
 * Cline, in both storage formats:
 * - Its extension up to version 3: a task is a list of messages, with companion files for the omitted range and edits.
 * - Its command line and all later versions: `<session>.messages.json`, with session data in `<session>.json`, and the
 *   context after the last compaction in `<session>.compaction.json`. An agent of a team has its own messages file in
 *   the same directory.
 */
import { isRecord } from '../../lib/is-record.js'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { textIn } from '../../lib/text-in.js'
import { countIn, timeIn } from './bodies.js'
import type { ContentId } from './content-id.js'
import { createTaskReader, itemsOf, type RetainedContext } from './task.js'
import { existingPaths, extensionHomes, isOfRoo, taskFileAt, taskFileOf, taskSiblings } from './task-files.js'
import { emptyNotes } from './task-notes.js'
import type { Head, Importer, Parent, TranscriptItem, TranscriptReader, TranscriptRecord } from './transcript.js'

const text = z.string().optional().catch(undefined)
const fields = z.record(z.string(), z.unknown()).optional().catch(undefined)

const sessionSchema = z.looseObject({ sessionId: z.string().min(1), messages: z.array(z.unknown()), origin: fields })
const manifestSchema = z.looseObject({
  session_id: z.string().min(1),
  started_at: z.string(),
  cwd: text,
  workspace_root: text,
  metadata: fields,
})
const stateSchema = z.looseObject({
  source_message_count: z.number().int().nonnegative(),
  source_prefix_hash: text,
  messages: z.array(z.unknown()),
  updated_at: text,
})

const MESSAGES_END = '.messages.json'
// For a session that is too large to parse here, only the first 4,096 characters are checked.
const SESSION_BEGIN = /^\s*\{(?=[^]*"sessionId"\s*:)(?=[^]*"messages"\s*:\s*\[\s*\{[^{}]*"role"\s*:)/u

type SessionFile = 'messages' | 'session.json' | 'compaction.json'

function sessionFileOf(value: unknown): SessionFile | undefined {
  if (stateSchema.safeParse(value).success) return 'compaction.json'
  if (manifestSchema.safeParse(value).success) return 'session.json'
  const session = sessionSchema.safeParse(value).data
  if (session === undefined || 'projectHash' in session) return undefined
  const [first] = session.messages
  return first === undefined || (isRecord(first) && 'role' in first && 'content' in first) ? 'messages' : undefined
}

function isSession({ records, text: begin }: Head): boolean {
  const [value] = records
  return value === undefined ? SESSION_BEGIN.test(begin) : sessionFileOf(value) !== undefined
}

/** The data from the companion files. */
interface Companions {
  manifest?: z.infer<typeof manifestSchema> | undefined
  retained?: RetainedContext | undefined
}

function retainedIn(value: unknown, contentId: ContentId): RetainedContext | undefined {
  const state = stateSchema.safeParse(value).data
  if (state === undefined) return undefined
  const { source_message_count: count, source_prefix_hash: hash, messages, updated_at: at } = state
  return {
    count,
    messages,
    at: timeIn(at),
    sourceId: `compaction-${hash === undefined ? String(count) : contentId(hash)}`,
  }
}

function parentOf(
  session: z.infer<typeof sessionSchema>,
  path: string,
  manifest: Companions['manifest'],
): Parent | undefined {
  const folder = basename(dirname(path.replaceAll('\\', '/')))
  const fork = manifest?.metadata?.['fork']
  const forkedFrom = isRecord(fork) ? textIn(fork['forkedFromSessionId']) : undefined
  if (forkedFrom !== undefined) return { sourceId: forkedFrom, how: 'fork' }
  const isOfTeam = textIn(session.origin?.['subagent']) !== undefined
  const caller = textIn(session.origin?.['parentThreadId']) ?? (isOfTeam ? folder : undefined)
  return caller === undefined || caller === session.sessionId ? undefined : { sourceId: caller, how: 'sub-agent' }
}

function createSessionReader(path: string, contentId: ContentId): TranscriptReader {
  const companions: Companions = {}

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const file = sessionFileOf(value)
    if (file !== 'messages') {
      if (file === 'session.json') companions.manifest = manifestSchema.safeParse(value).data
      if (file === 'compaction.json') companions.retained = retainedIn(value, contentId)
      if (where.file === path) yield { kind: 'left-out', what: file ?? 'file', where }
      return
    }
    const session = sessionSchema.parse(value)
    const { manifest, retained } = companions
    const [first] = session.messages
    yield {
      kind: 'conversation',
      sourceId: session.sessionId,
      programVersion: textIn(session.origin?.['version']),
      parent: parentOf(session, path, manifest),
      title: textIn(manifest?.metadata?.['title']),
      cwd: manifest?.cwd ?? manifest?.workspace_root,
      startedAt: timeIn(manifest?.started_at) ?? timeIn(isRecord(first) ? countIn(first['ts']) : undefined),
      where,
    }
    yield* itemsOf({ messages: session.messages, path: 'messages', where, notes: emptyNotes(), retained, contentId })
  }

  return { take, end: () => [] }
}

/** Combines the readers of both formats. Each record shows its format. */
function createReader(path: string, contentId: ContentId): TranscriptReader {
  const readers = { task: createTaskReader(path, contentId), session: createSessionReader(path, contentId) }
  return {
    take: (record) =>
      sessionFileOf(record.value) === undefined || taskFileOf(record.value, record.where.file) !== undefined
        ? readers.task.take(record)
        : readers.session.take(record),
    end: () => [],
  }
}

async function sessionSiblings(path: string): Promise<readonly string[]> {
  const stem = path.slice(0, -MESSAGES_END.length)
  const siblings = await existingPaths([`${stem}.json`, `${stem}.compaction.json`])
  return [...siblings, path]
}

function sessionsHome(environment: Readonly<Record<string, string | undefined>>, home: string): string {
  const data = environment['CLINE_DATA_DIR'] ?? join(environment['CLINE_DIR'] ?? join(home, '.cline'), 'data')
  return environment['CLINE_SESSION_DATA_DIR'] ?? join(data, 'sessions')
}

/** The importer of Cline. */
export const cline: Importer = {
  program: 'cline',
  title: 'Cline',
  homes: (environment, home) => [
    sessionsHome(environment, home),
    ...extensionHomes('saoudrizwan.claude-dev', environment, home).map((folder) => join(folder, 'tasks')),
  ],
  recognize: (head) => (isSession(head) || (taskFileAt(head) !== undefined && !isOfRoo(head)) ? 'json' : undefined),
  siblings: async (path) => (path.endsWith(MESSAGES_END) ? await sessionSiblings(path) : await taskSiblings(path)),
  makesContentIds: true,
  read: createReader,
}
