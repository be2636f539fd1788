/**
 * What a task of Cline holds: the list of messages, and beside it what tells of compactions and edits. Each range of
 * messages that Cline left out is a compaction, as often as it grew; each block that it replaced is an edit.
 */
import { basename, dirname, join } from 'node:path'
import { countBlocks } from './blocks.js'
import { listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'
import type { CountRaw } from './raw-counts.js'

const fileOr = async (path: string): Promise<unknown> => {
  try {
    return await rawFile(path)
  } catch {
    return undefined
  }
}

const rangeOf = (holder: Raw): string | undefined => {
  const range = holder['conversationHistoryDeletedRange']
  return Array.isArray(range) ? JSON.stringify(range) : undefined
}

/** Ranges in the order in which they were shown, each once, and the one that holds now. */
function rangesIn(shown: unknown, item: Raw): ReadonlySet<string> {
  const ranges = [...listOf(shown).map(rangeOf), rangeOf(item)]
  return new Set(ranges.filter((range) => range !== undefined))
}

const entries = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Blocks that were replaced: [[message, [kind, [[block, updates], …]]], …]. */
const editedBlocks = (history: unknown): number =>
  entries(history).reduce<number>((sum, message) => sum + entries(entries(entries(message)[1])[1]).length, 0)

/** Counts the task that a file of messages belongs to. The list of all tasks, which lies beside them, holds no message. */
export const countCline: CountRaw = async (path) => {
  const folder = dirname(path)
  const file = await rawFile(path)
  if (basename(path) === 'taskHistory.json') return []
  const about = rawOf(file)
  const sourceId = wordOf(about['sessionId']) ?? basename(folder)
  const tasks = listOf(await fileOr(join(folder, '..', '..', 'state', 'taskHistory.json')))
  const item = tasks.find((task) => task['id'] === sourceId) ?? {}
  return [
    {
      sourceId,
      ...countBlocks(listOf(Array.isArray(file) ? file : about['messages'])),
      compactions: rangesIn(await fileOr(join(folder, 'ui_messages.json')), item).size,
      withdrawn: 0,
      edits: editedBlocks(await fileOr(join(folder, 'context_history.json'))),
      parent: undefined,
    },
  ]
}
