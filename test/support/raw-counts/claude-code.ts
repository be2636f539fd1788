/**
 * Counts a transcript of Claude Code. Its lines are JSON, and those with a `uuid` form a tree.
 *
 * - A line of the model is one message, although one answer has several lines. A line of the user is a user message if
 *   it contains anything except results, and each result in it is a message.
 * - An attachment (a file that was read again, a reminder, a queued prompt) is sent to the model with the role user, so
 *   it counts as the user's. An attachment whose text is empty or not in the file does not count.
 * - A compaction boundary is one compaction. The summary after it is not a user message.
 * - Messages that are not on the path to the last one were withdrawn. Parallel calls also fork the tree: the lines of
 *   an answer share its id, and results belong to their calls.
 */
import { basename, dirname } from 'node:path'
import { jsonLines, listOf, objectOf, textOf, type Json } from './json-lines.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

/** A line that is part of the tree. */
interface Line {
  readonly uuid: string
  readonly record: Json
  readonly parentUuid: string | undefined
  /** Uuid of the previous line in the file. */
  readonly before: string | undefined
}

/** The content of a message line. */
interface LineContent {
  readonly answerId: string | undefined
  readonly calls: readonly string[]
  readonly results: readonly string[]
  /** Whether it contains anything except results. */
  readonly hasOtherContent: boolean
}

const UNNAMED = 'without an id'
/**
 * The fields of attachments that contain text. If only the name of a file is attached, the program generates the text
 * and does not store it.
 */
const TEXT_FIELDS = [
  'content',
  'addedBlocks',
  'addedLines',
  'prompt',
  'snippet',
  'files',
  'memories',
  'skills',
  'planContent',
]

function linesIn(records: readonly Json[]): ReadonlyMap<string, Line> {
  const lines = new Map<string, Line>()
  let before: string | undefined
  for (const record of records) {
    const uuid = textOf(record['uuid'])
    if (uuid === undefined || lines.has(uuid)) continue
    lines.set(uuid, { uuid, record, parentUuid: textOf(record['parentUuid']), before })
    if (record['isSidechain'] !== true) before = uuid
  }
  return lines
}

function contentOfLine({ type, message, isCompactSummary, attachment }: Json): LineContent | undefined {
  if (type === 'attachment') {
    const values = TEXT_FIELDS.map((field) => objectOf(attachment)[field])
    const isEmpty = values.every(
      (value) => value === undefined || value === '' || (listOf(value).length === 0 && Array.isArray(value)),
    )
    return isEmpty ? undefined : { answerId: undefined, calls: [], results: [], hasOtherContent: true }
  }
  if ((type !== 'user' && type !== 'assistant') || isCompactSummary === true) return undefined
  const { id, content } = objectOf(message)
  const blocks = Array.isArray(content) ? listOf(content) : [content]
  const ofType = (name: string): Json[] => blocks.map(objectOf).filter((block) => block['type'] === name)
  return {
    answerId: type === 'assistant' ? textOf(id) : undefined,
    calls: ofType('tool_use').map((block) => textOf(block['id']) ?? UNNAMED),
    results: ofType('tool_result').map((block) => textOf(block['tool_use_id']) ?? UNNAMED),
    hasOtherContent: blocks.length > ofType('tool_result').length,
  }
}

const isBoundary = ({ subtype }: Json): boolean => subtype === 'compact_boundary'
const isMessage = ({ type }: Json): boolean => type === 'user' || type === 'assistant'

/**
 * The line that precedes a line in the conversation. If a truncated file or a compaction breaks the chain, the order of
 * lines applies.
 */
function predecessorOf({ record, parentUuid, before }: Line, lines: ReadonlyMap<string, Line>): string | undefined {
  if (parentUuid !== undefined) return lines.has(parentUuid) ? parentUuid : before
  const logical = textOf(record['logicalParentUuid'])
  if (logical !== undefined && lines.has(logical)) return logical
  // A message without a parent starts over, as after a rewind to the beginning; a hook or a boundary does not.
  return isMessage(record) ? undefined : before
}

/** The lines on the path to the last one, with the other lines of their answers and the results of their calls. */
function linesToLast(lines: ReadonlyMap<string, Line>): ReadonlySet<string> {
  const included = new Set<string>()
  const answers = new Set<string>()
  const calls = new Set<string>()
  const walk = (from: string | undefined): void => {
    for (let uuid = from; uuid !== undefined && !included.has(uuid);) {
      const line = lines.get(uuid)
      if (line === undefined) return
      included.add(uuid)
      const content = contentOfLine(line.record)
      if (content?.answerId !== undefined) answers.add(content.answerId)
      for (const call of content?.calls ?? []) calls.add(call)
      uuid = predecessorOf(line, lines)
    }
  }
  const main = [...lines.values()].filter(({ record }) => record['isSidechain'] !== true)
  walk(main.at(-1)?.uuid)
  for (let size = -1; size !== included.size;) {
    size = included.size
    for (const { uuid, record } of main) {
      const content = contentOfLine(record)
      const isOfAnswer = content?.answerId !== undefined && answers.has(content.answerId)
      if (isOfAnswer || content?.results.some((id) => calls.has(id)) === true) walk(uuid)
    }
  }
  return included
}

/** The agent of a line; undefined for the user's conversation. */
function agentOf(line: Line, lines: ReadonlyMap<string, Line>): string | undefined {
  if (line.record['isSidechain'] !== true) return undefined
  const named = textOf(line.record['agentId'])
  if (named !== undefined) return `agent-${named}`
  // Older versions write the lines of agents between the others, as separate trees.
  let first = line
  const visited = new Set<string>()
  while (first.parentUuid !== undefined && !visited.has(first.uuid)) {
    visited.add(first.uuid)
    const parent = lines.get(first.parentUuid)
    if (parent?.record['isSidechain'] !== true) break
    first = parent
  }
  return `agent-${first.uuid}`
}

function parentOf(path: string, name: string, sessionId: string): string | undefined {
  if (!name.startsWith('agent-')) return undefined
  if (sessionId !== name) return sessionId
  // `<session that called>/subagents/agent-<id>.jsonl`
  const folder = dirname(path.replaceAll('\\', '/'))
  return basename(folder) === 'subagents' ? basename(dirname(folder)) : undefined
}

/** Number of cleared results that are in the file. */
function clearedIn(records: readonly Json[], results: ReadonlySet<string>): number {
  const cleared = records.flatMap(({ microcompactMetadata }) =>
    listOf(objectOf(microcompactMetadata)['compactedToolIds']),
  )
  return new Set(cleared.filter((id) => typeof id === 'string' && results.has(id))).size
}

export const countClaudeCode: CountRaw = async (path) => {
  const lines = linesIn(await jsonLines(path))
  const included = linesToLast(lines)
  const conversations = new Map<string, { readonly sessionId: string; readonly lines: Line[] }>()
  for (const line of lines.values()) {
    const sessionId = textOf(line.record['sessionId'])
    if (sessionId === undefined) continue
    const sourceId = agentOf(line, lines) ?? sessionId
    const conversation = conversations.get(sourceId) ?? { sessionId, lines: [] }
    conversation.lines.push(line)
    conversations.set(sourceId, conversation)
  }
  return [...conversations].map(([name, { sessionId, lines: ownLines }]): RawCounts => {
    const contents = ownLines.flatMap(({ uuid, record }) => {
      const message = contentOfLine(record)
      return message === undefined ? [] : [{ ...message, uuid, isAnswer: record['type'] === 'assistant' }]
    })
    const isAgent = name.startsWith('agent-')
    const parent = parentOf(path, name, sessionId)
    const countOf = ({ results, hasOtherContent }: LineContent): number => results.length + (hasOtherContent ? 1 : 0)
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
    const results = contents.flatMap((message) => message.results)
    return {
      // Two conversations may call agents with the same name.
      sourceId: isAgent && parent !== undefined ? `${parent}/${name}` : name,
      messages: {
        instruction: 0,
        user: contents.filter(({ isAnswer, hasOtherContent }) => !isAnswer && hasOtherContent).length,
        assistant: contents.filter(({ isAnswer }) => isAnswer).length,
        tool: results.length,
      },
      calls: sum(contents.map(({ calls }) => calls.length)),
      results: results.length,
      compactions: ownLines.filter(({ record }) => isBoundary(record)).length,
      // An agent cannot be rewound.
      withdrawn: isAgent ? 0 : sum(contents.filter(({ uuid }) => !included.has(uuid)).map(countOf)),
      edits: clearedIn(
        ownLines.map(({ record }) => record),
        new Set(results),
      ),
      parent,
    }
  })
}
