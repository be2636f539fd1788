/**
 * What a task of Roo Code holds: one list of messages, in which a summary and the mark of a truncation are compactions
 * and no messages of anybody.
 */
import { basename, dirname, join } from 'node:path'
import { countBlocks } from './blocks.js'
import { listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'
import type { CountRaw } from './raw-counts.js'

const isMark = (message: Raw): boolean => message['isSummary'] === true || message['isTruncationMarker'] === true

/** Counts the task that a file of messages belongs to. */
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
