/**
 * Codex CLI: rollouts in `sessions/<year>/<month>/<day>/` and `archived_sessions/` of its directory, one file per
 * conversation. Codex compresses files after a week.
 */
import { agentFolders } from '../../lib/user-folders.js'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { inside, timeIn } from './bodies.js'
import { beginsCompressed, rolloutRecords } from './codex-compressed.js'
import { lineOf, readRollout } from './codex-reader.js'
import { withoutRepeats } from './repeats.js'
import type { Head, Importer, Layout } from './transcript.js'

const TYPES = new Set(['session_meta', 'response_item', 'turn_context', 'event_msg', 'compacted'])

/** The first line of the oldest files: a header without a type. */
const isOldHeader = (record: unknown): boolean =>
  isRecord(record) &&
  record['type'] === undefined &&
  typeof record['id'] === 'string' &&
  timeIn(record['timestamp']) !== undefined &&
  ('instructions' in record || 'git' in record)

function recognize({ path, records, text }: Head): Layout | undefined {
  // A compressed file is recognized by its name only.
  if (beginsCompressed(text)) return /\/rollout-[^/]+\.jsonl\.zst$/u.test(path) ? 'own' : undefined
  if (isOldHeader(records[0])) return 'lines'
  return records.some((record) => {
    const line = isRecord(record) && 'payload' in record ? lineOf(record) : undefined
    return line !== undefined && line.at !== undefined && TYPES.has(line.type)
  })
    ? 'lines'
    : undefined
}

export const codex: Importer = {
  program: 'codex',
  title: 'Codex CLI',
  homes(environment, home) {
    const root = agentFolders.codex(environment, home)
    return [`${root}/sessions`, `${root}/archived_sessions`]
  },
  recognize,
  records: (path, layout) => (layout === 'own' ? rolloutRecords(path) : undefined),
  read: (path) =>
    withoutRepeats(readRollout(path), {
      times: ['timestamp'],
      copiesHistory: ({ type, payload }) =>
        type === 'session_meta' && textIn(inside(payload, 'forked_from_id')) !== undefined,
    }),
}
