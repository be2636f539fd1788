/**
 * Counts a task of Cline: the list of messages, and the companion files with compactions and edits. Each change of the
 * omitted range is a compaction, and each replaced block is an edit.
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

/** The ranges in the order of the user interface, each once, and the current one. */
function rangesIn(uiMessages: unknown, item: Raw): ReadonlySet<string> {
  const ranges = [...listOf(uiMessages).map(rangeOf), rangeOf(item)]
  return new Set(ranges.filter((range) => range !== undefined))
}

const entries = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Blocks that were replaced: [[message, [kind, [[block, updates], …]]], …]. */
const editedBlocks = (history: unknown): number =>
  entries(history).reduce<number>((sum, message) => sum + entries(entries(entries(message)[1])[1]).length, 0)

/** Counts the task of a messages file. The list of all tasks in the same directory contains no messages. */
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
