/**
 * Codex CLI: rollouts under `sessions/<year>/<month>/<day>/` and `archived_sessions/` of its folder, one file a
 * conversation; those of a week ago are compressed.
 */
import { isFields, textIn, timeIn } from './bodies.js'
import { beginsCompressed, rolloutRecords } from './codex-compressed.js'
import { lineOf, readRollout } from './codex-reader.js'
import type { Head, Importer, Layout } from './transcript.js'

const TYPES = new Set(['session_meta', 'response_item', 'turn_context', 'event_msg', 'compacted'])

/** The first line of the oldest files, which says whose it is without a type. */
const isOldHeader = (record: unknown): boolean =>
  isFields(record) &&
  record['type'] === undefined &&
  typeof record['id'] === 'string' &&
  timeIn(record['timestamp']) !== undefined &&
  ('instructions' in record || 'git' in record)

function recognize({ path, records, text }: Head): Layout | undefined {
  // What is compressed can be told by its name alone.
  if (beginsCompressed(text)) return /\/rollout-[^/]+\.jsonl\.zst$/u.test(path) ? 'own' : undefined
  if (isOldHeader(records[0])) return 'lines'
  return records.some((record) => {
    const line = isFields(record) && 'payload' in record ? lineOf(record) : undefined
    return line !== undefined && line.at !== undefined && TYPES.has(line.type)
  })
    ? 'lines'
    : undefined
}

export const codex: Importer = {
  program: 'codex',
  title: 'Codex CLI',
  homes(environment, home) {
    const root = textIn(environment['CODEX_HOME']) ?? `${home}/.codex`
    return [`${root}/sessions`, `${root}/archived_sessions`]
  },
  recognize,
  records: (path, layout) => (layout === 'own' ? rolloutRecords(path) : undefined),
  read: readRollout,
}
