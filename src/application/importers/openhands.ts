/**
 * OpenHands: conversations of its SDK and its command line (a directory of events, or one file with an event per line),
 * and trajectories of the first version (one list).
 */
import { readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { textIn } from '../../lib/text-in.js'
import { eventSchema } from './openhands-events.js'
import { isBaseState, openhandsReader } from './openhands-reader.js'
import { v0Schema } from './openhands-trajectory.js'
import { withoutRepeats } from './repeats.js'
import type { Head, Importer, Layout } from './transcript.js'

const SOURCES = new Set(['agent', 'user', 'environment', 'hook'])

function isEvent(value: unknown): boolean {
  const { success, data } = eventSchema.safeParse(value)
  return success && data.id !== undefined && data.timestamp !== undefined && SOURCES.has(data.source ?? '')
}

function isFirstEvent(value: unknown): boolean {
  const { success, data } = v0Schema.safeParse(value)
  return success && data.timestamp !== undefined && (data.action !== undefined || data.observation !== undefined)
}

/** The beginning of a list of events that is too large to parse here. */
const FIRST_LIST = /^\s*\[\s*\{\s*"id"\s*:\s*\d+\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"source"\s*:\s*"\w+"/u

function recognize({ path, records, text }: Head): Layout | undefined {
  const [first] = records
  if (Array.isArray(first)) return isEvent(first[0]) || isFirstEvent(first[0]) ? 'json' : undefined
  if (FIRST_LIST.test(text) || isBaseState(first)) return 'json'
  if (!records.some((record) => isEvent(record) || isFirstEvent(record))) return undefined
  return records.length > 1 || path.endsWith('.jsonl') ? 'lines' : 'json'
}

const EVENT_FILE = /^(?:event-)?(?<place>\d+)(?:-.*)?\.json$/u

const placeOf = (name: string): number => Number(EVENT_FILE.exec(name)?.groups?.['place'] ?? Number.NaN)

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch {
    return []
  }
}

const PATH = /^(?<folder>.*)\/(?:base_state\.json|events\/[^/]+\.json)$/u

/** The files of a conversation: its state, then its events by number. Numbers may have more than five digits. */
async function siblings(path: string): Promise<readonly string[]> {
  const folder = PATH.exec(path.split(sep).join('/'))?.groups?.['folder']
  if (folder === undefined) return [path]
  const state = (await namesIn(folder)).includes('base_state.json') ? [`${folder}/base_state.json`] : []
  const events = (await namesIn(`${folder}/events`))
    .filter((name) => EVENT_FILE.test(name))
    .toSorted((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1))
  return [...state, ...events.map((name) => `${folder}/events/${name}`)]
}

/** The importer of OpenHands. */
export const openhands: Importer = {
  program: 'openhands',
  title: 'OpenHands',
  homes: (environment, home) => {
    const conversations = textIn(environment['OPENHANDS_CONVERSATIONS_DIR'])
    const state = textIn(environment['OPENHANDS_PERSISTENCE_DIR']) ?? join(home, '.openhands')
    return [
      ...(conversations === undefined ? [] : [conversations]),
      join(state, 'conversations'),
      join(state, 'sessions'),
    ]
  },
  recognize,
  siblings,
  makesContentIds: true,
  read: (path, contentId) =>
    withoutRepeats(openhandsReader(path, contentId), {
      id: 'id',
      references: ['action_id', 'parent_id', 'forgotten_event_ids'],
      times: ['timestamp'],
      readerKnowsIds: true,
    }),
}
