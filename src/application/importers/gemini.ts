/** Gemini CLI: sessions in `~/.gemini/tmp/<project>/chats/`, as one JSON object or, since 2026, as JSON Lines. */
import { agentFolders } from '../../lib/user-folders.js'
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import { createGeminiReader } from './gemini-reader.js'
import { withoutRepeats } from './repeats.js'
import type { Head, Importer, Layout } from './transcript.js'

const isHeader = (record: unknown): boolean =>
  isRecord(record) && typeof record['sessionId'] === 'string' && typeof record['projectHash'] === 'string'

// Lines that no other program writes. A file that begins in the middle of a session has no header.
const isLine = (record: unknown): boolean =>
  isRecord(record) &&
  (isRecord(record['$set']) ||
    typeof record['$rewindTo'] === 'string' ||
    (record['type'] === 'gemini' && typeof record['id'] === 'string' && typeof record['timestamp'] === 'string'))

function recognize({ records, text }: Head): Layout | undefined {
  const [first] = records
  // For an object that is too large to parse here, only the first 4,096 characters are checked.
  if (first === undefined)
    return /^\s*\{\s*"sessionId"\s*:\s*"[^"]+"\s*,\s*"projectHash"\s*:/u.test(text) ? 'json' : undefined
  if (isHeader(first)) return isRecord(first) && Array.isArray(first['messages']) ? 'json' : 'lines'
  return records.some(isLine) ? 'lines' : undefined
}

/** The importer of Gemini CLI. */
export const gemini: Importer = {
  program: 'gemini',
  title: 'Gemini CLI',
  homes: (environment, home) => [join(agentFolders.gemini(environment, home), 'tmp')],
  recognize,
  read: (path) =>
    withoutRepeats(createGeminiReader(path), {
      id: 'id',
      times: ['timestamp'],
      readerKnowsIds: true,
      goesBack: (record) => '$rewindTo' in record || '$set' in record,
    }),
}
