/**
 * Counts a task of Roo Code: one list of messages, in which a summary or a truncation marker is a compaction and not a
 * message.
 */
import { basename, dirname, join } from 'node:path'
import { countBlocks } from './blocks.js'
import { listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'
import type { CountRaw } from './raw-counts.js'

const isMark = (message: Raw): boolean => message['isSummary'] === true || message['isTruncationMarker'] === true

export const countRoo: CountRaw = async (path) => {
  const folder = dirname(path)
  const file = await rawFile(path)
  const messages = listOf(Array.isArray(file) ? file : rawOf(file)['messages'])
  const item = rawOf(await rawFile(join(folder, 'history_item.json')).catch(() => undefined))
  return [
    {
      sourceId: wordOf(item['id']) ?? basename(folder),
      ...countBlocks(messages.filter((message) => !isMark(message))),
      compactions: messages.filter(isMark).length,
      withdrawn: 0,
      edits: 0,
      parent: wordOf(item['parentTaskId']),
    },
  ]
}
