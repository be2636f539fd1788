/**
 * Counts a chat of Gemini CLI, from one JSON value or from JSON Lines. In JSON Lines, a line with a known id replaces
 * the earlier one, `$set.messages` replaces the list, and `$rewindTo` removes everything from a message on.
 *
 * Each answer is a message of the model, and each result of its calls a tool message. Messages that only the user sees
 * (`info`, `error`, `warning`) do not count. A list that lacks messages is a compaction, and its new messages were
 * inserted by the program. A message that returns with other content is an edit.
 */
import { basename, dirname } from 'node:path'
import { listOf, rawFile, rawLines, rawOf, wordOf, type Raw } from './raw-json.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

const hasContent = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : wordOf(value) !== undefined)
const resultsOf = (message: Raw): number =>
  listOf(message['toolCalls']).filter((call) => call['result'] !== undefined && call['result'] !== null).length

const isCounted = (message: Raw): boolean =>
  message['type'] === 'user'
    ? hasContent(message['content'])
    : message['type'] === 'gemini' &&
      (hasContent(message['content']) || hasContent(message['toolCalls']) || hasContent(message['thoughts']))

const weight = (message: Raw): number => (isCounted(message) ? 1 + resultsOf(message) : 0)

interface Log {
  /** Message id → latest record, in the order in which the messages began. */
  readonly records: Map<string, Raw>
  live: string[]
  withdrawn: number
  compactions: number
  edits: number
}

function addLine(log: Log, message: Raw): void {
  const id = wordOf(message['id']) ?? `line ${String(log.records.size)}`
  log.records.set(id, message)
  if (!log.live.includes(id)) log.live.push(id)
}

const contentIn = (message: Raw | undefined): string => JSON.stringify([message?.['content'], message?.['toolCalls']])

function replaceList(log: Log, messages: readonly Raw[]): void {
  const ids = messages.map((message) => wordOf(message['id']) ?? '')
  const isLost = log.live.some((id) => !ids.includes(id))
  if (isLost) log.compactions += 1
  for (const [at, message] of messages.entries()) {
    const id = ids[at] ?? ''
    const before = log.records.get(id)
    if (before === undefined) {
      if (!isLost) log.records.set(id, message)
    } else if (contentIn(before) !== contentIn(message)) log.edits += 1
  }
  log.live = ids
}

function rewind(log: Log, id: string): void {
  const from = log.live.indexOf(id)
  if (from === -1) return
  for (const removed of log.live.splice(from)) log.withdrawn += weight(log.records.get(removed) ?? {})
}

function countsOf(log: Log, sourceId: string, parent: string | undefined): RawCounts {
  const messages = [...log.records.values()].filter(isCounted)
  const tool = messages.reduce((sum, message) => sum + resultsOf(message), 0)
  return {
    sourceId,
    messages: {
      instruction: 0,
      user: messages.filter(({ type }) => type === 'user').length,
      assistant: messages.filter(({ type }) => type === 'gemini').length,
      tool,
    },
    calls: messages.reduce((sum, message) => sum + listOf(message['toolCalls']).length, 0),
    results: tool,
    compactions: log.compactions,
    withdrawn: log.withdrawn,
    edits: log.edits,
    parent,
  }
}

export const countGemini: CountRaw = async (path) => {
  const log: Log = { records: new Map(), live: [], withdrawn: 0, compactions: 0, edits: 0 }
  const lines = path.endsWith('.jsonl') ? await rawLines(path) : [rawOf(await rawFile(path))]
  let about: Raw = {}
  for (const line of lines) {
    const set = rawOf(line['$set'])
    const back = wordOf(line['$rewindTo'])
    if (wordOf(line['sessionId']) !== undefined) about = { ...about, ...line }
    if (Array.isArray(line['messages'])) for (const message of listOf(line['messages'])) addLine(log, message)
    else if (wordOf(line['type']) !== undefined) addLine(log, line)
    if (Array.isArray(set['messages'])) replaceList(log, listOf(set['messages']))
    if (back !== undefined) rewind(log, back)
  }
  const sourceId = wordOf(about['sessionId']) ?? basename(path).replace(/\.jsonl?$/u, '')
  const parent = about['kind'] === 'subagent' ? basename(dirname(path)) : undefined
  return [countsOf(log, sourceId, parent)]
}
