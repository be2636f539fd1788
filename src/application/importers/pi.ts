/** pi: one JSON Lines file per session, in `sessions/<directory in which it ran>/` of its own directory. */
import { agentFolders } from '../../lib/user-folders.js'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { timeIn } from './bodies.js'
import { readSession } from './pi-reader.js'
import { withoutRepeats } from './repeats.js'
import type { Head, Importer, Layout } from './transcript.js'

const ROLES = new Set<unknown>(['user', 'assistant', 'toolResult', 'system', 'bashExecution', 'custom', 'hookMessage'])

const isHeader = (record: unknown): boolean =>
  isRecord(record) &&
  record['type'] === 'session' &&
  typeof record['id'] === 'string' &&
  timeIn(record['timestamp']) !== undefined

/** An entry with a message: in pi both have a time, one as text and one as a number. */
const isMessage = (record: unknown): boolean =>
  isRecord(record) &&
  record['type'] === 'message' &&
  typeof record['timestamp'] === 'string' &&
  isRecord(record['message']) &&
  ROLES.has(record['message']['role']) &&
  typeof record['message']['timestamp'] === 'number'

function recognize({ records }: Head): Layout | undefined {
  return records.some((record) => isHeader(record) || isMessage(record)) ? 'lines' : undefined
}

export const pi: Importer = {
  program: 'pi',
  title: 'pi',
  homes(environment, home) {
    const sessions = textIn(environment['PI_CODING_AGENT_SESSION_DIR'])
    const agent = agentFolders.pi(environment, home)
    return [...(sessions === undefined ? [] : [sessions]), `${agent}/sessions`]
  },
  recognize,
  read: (path) =>
    withoutRepeats(readSession(path), {
      id: 'id',
      references: ['parentId', 'firstKeptEntryId', 'targetId'],
      times: ['timestamp'],
      readerKnowsIds: true,
    }),
}
