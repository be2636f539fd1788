/**
 * The files of a task of Cline's extension or Roo Code: the messages that are sent, and companion files in the same
 * directory. Roo began as a copy of Cline, so both use the same file names, and many files could belong to either.
 */
import { isRecord } from '../../lib/is-record.js'
import { access } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { textIn } from '../../lib/text-in.js'
import { type Fields } from './bodies.js'
import type { Head } from './transcript.js'

/** Names of the companion files. They contain no conversation. */
const COMPANIONS = [
  'taskHistory.json',
  '_index.json',
  'history_item.json',
  'task_metadata.json',
  'ui_messages.json',
  'context_history.json',
] as const
type Companion = (typeof COMPANIONS)[number]

const MESSAGES = 'api_conversation_history.json'

/** The kind of a file: the messages, or a companion file. */
export type TaskFile = 'messages' | Companion

// Tags in which both programs wrap the user's request and their own additions.
const TAGS = /<(?:task|environment_details)>/u

const nameOf = (path: string): string => basename(path.replaceAll('\\', '/'))

function hasTags(messages: readonly unknown[]): boolean {
  for (const message of messages.slice(0, 3)) {
    const content = isRecord(message) ? message['content'] : undefined
    const blocks = Array.isArray(content) ? content : [content]
    if (blocks.some((block) => TAGS.test(textIn(isRecord(block) ? block['text'] : block) ?? ''))) return true
  }
  return false
}

const isMessage = (value: unknown): boolean =>
  isRecord(value) &&
  (value['role'] === 'user' || value['role'] === 'assistant') &&
  (typeof value['content'] === 'string' || Array.isArray(value['content']))

const isHistoryItem = (value: unknown): value is Fields =>
  isRecord(value) &&
  typeof value['id'] === 'string' &&
  typeof value['ts'] === 'number' &&
  typeof value['task'] === 'string'

function companionNamed(path: string): Companion | undefined {
  const name = nameOf(path)
  return COMPANIONS.find((companion) => companion === name)
}

function ofList(list: readonly unknown[], path: string): TaskFile | undefined {
  const [first] = list
  // An empty list is recognized by its file name.
  if (first === undefined) return nameOf(path) === MESSAGES ? 'messages' : companionNamed(path)
  if (isMessage(first)) return nameOf(path) === MESSAGES || hasTags(list) ? 'messages' : undefined
  if (isHistoryItem(first)) return 'taskHistory.json'
  if (isRecord(first) && typeof first['ts'] === 'number' && (first['type'] === 'ask' || first['type'] === 'say'))
    return 'ui_messages.json'
  if (Array.isArray(first) && typeof first[0] === 'number' && Array.isArray(first[1])) return 'context_history.json'
  return undefined
}

/** The kind of a task file, by its content; undefined if it is not one. */
export function taskFileOf(value: unknown, path: string): TaskFile | undefined {
  if (Array.isArray(value)) return ofList(value, path)
  if (!isRecord(value)) return undefined
  const { version, messages, entries } = value
  if (version === 2 && Array.isArray(messages) && !('sessionId' in value))
    return messages.length === 0 || messages.slice(0, 3).some(isMessage) ? 'messages' : undefined
  if (Array.isArray(value['files_in_context'])) return 'task_metadata.json'
  if (Array.isArray(entries) && entries.length > 0 && entries.every(isHistoryItem)) return '_index.json'
  return isHistoryItem(value) ? 'history_item.json' : undefined
}

// For a file that is too large to parse here, only the first 4,096 characters are checked.
const MESSAGES_BEGIN =
  /^\s*(?:\{\s*"version"\s*:\s*2\s*,\s*"messages"\s*:\s*)?\[\s*\{\s*"role"\s*:\s*"(?:user|assistant)"/u
const UI_BEGIN = /^\s*\[\s*\{\s*"ts"\s*:\s*\d+\s*,\s*"type"\s*:\s*"(?:ask|say)"/u

/** The kind of a task file, from its head. */
export function taskFileAt({ path, records, text }: Head): TaskFile | undefined {
  const [value] = records
  if (value !== undefined) return taskFileOf(value, path)
  if (UI_BEGIN.test(text)) return 'ui_messages.json'
  return MESSAGES_BEGIN.test(text) && (nameOf(path) === MESSAGES || TAGS.test(text)) ? 'messages' : undefined
}

const ROO_TEXT =
  /"(?:condenseParent|condenseId|isSummary|truncationParent|truncationId|isTruncationMarker|contextCondense|contextTruncation)"\s*:|^\s*\{\s*"version"\s*:\s*2\b/u
const CLINE_TEXT = /"(?:ulid|cwdOnTaskInitialization|conversationHistoryDeletedRange|shadowGitConfigWorkTree)"\s*:/u
const ROO_PATH = /rooveterinaryinc|roo-cline|roo-code|\/\.?roo\//iu
const CLINE_PATH = /saoudrizwan\.claude-dev|\/\.?cline\//iu

const isRooMessage = (value: unknown): boolean =>
  isRecord(value) &&
  ['condenseParent', 'condenseId', 'isSummary', 'truncationParent', 'truncationId', 'type'].some(
    (field) => field in value,
  )

/**
 * Whether a file belongs to Roo: by Roo's own fields, otherwise by its directory. If neither decides, it belongs to
 * Cline.
 */
export function isOfRoo({ path, records, text }: Head): boolean {
  const [value] = records
  if (ROO_TEXT.test(text) || (isRecord(value) && typeof value['number'] === 'number' && 'workspace' in value))
    return true
  if (CLINE_TEXT.test(text) || CLINE_PATH.test(path)) return false
  if (taskFileAt({ path, records, text }) === 'messages' && Array.isArray(value) && value.some(isRooMessage))
    return true
  return ROO_PATH.test(path)
}

/** The paths that exist. */
export async function existingPaths(paths: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of paths) {
    try {
      await access(path)
      found.push(path)
    } catch {
      // Most conversations lack some of the companion files.
    }
  }
  return found
}

/** The companion files of the messages, followed by the messages. Any other file is returned alone. */
export async function taskSiblings(path: string): Promise<readonly string[]> {
  if (nameOf(path) !== MESSAGES) return [path]
  const folder = dirname(path)
  const companions = await existingPaths([
    join(folder, '..', '..', 'state', 'taskHistory.json'),
    ...COMPANIONS.slice(2).map((name) => join(folder, name)),
  ])
  return [...companions, path]
}

const EDITORS = ['Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf']

/** The directories `User` of editors, on all supported systems. */
export function editorFolders(
  editors: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  home: string,
): readonly string[] {
  const roots = [
    join(environment['XDG_CONFIG_HOME'] ?? join(home, '.config')),
    join(home, 'Library', 'Application Support'),
    ...(environment['APPDATA'] === undefined ? [] : [environment['APPDATA']]),
  ]
  return roots.flatMap((root) => editors.map((editor) => join(root, editor, 'User')))
}

/** The directories in which editors store an extension's files, on all supported systems. */
export const extensionHomes = (
  extension: string,
  environment: Readonly<Record<string, string | undefined>>,
  home: string,
): readonly string[] =>
  [...editorFolders(EDITORS, environment, home), join(home, '.vscode-server', 'data', 'User')].map((folder) =>
    join(folder, 'globalStorage', extension),
  )
