/**
 * Counts a transcript of Claude Code raw: lines of JSON, of which those with a `uuid` are a tree.
 *
 * - A line of the model is one message, although one answer has several lines; a line of the user is a message of his
 *   where it holds anything beside results, and each result in it is one.
 * - An attachment (a file that was read again, a reminder, a prompt that waited for the model) is given to the model in
 *   the place of the user, so that it counts as the user's. One whose text is empty, or not in the file, gives nothing.
 * - A boundary of a compaction is one compaction; the summary behind it is no message of the user.
 * - Messages that do not lead to the last one were withdrawn. Parallel calls fork the tree as well: the lines of an
 *   answer belong together by the id of the answer, and results to their calls.
 */
import { basename, dirname } from 'node:path'
import { jsonLines, listOf, objectOf, textOf, type Json } from './json-lines.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

/** A line that has a place in the tree. */
interface Line {
  readonly uuid: string
  readonly record: Json
  readonly parentUuid: string | undefined
  /** The line before it in the file. */
  readonly before: string | undefined
}

/** What a line holds, if it is a message. */
interface Held {
  readonly answerId: string | undefined
  readonly calls: readonly string[]
  readonly results: readonly string[]
  /** Whether somebody says something beside results. */
  readonly isSaid: boolean
}

const UNNAMED = 'without an id'
/** Where attachments hold their texts. Of a file that is only named, the program makes a text that it does not keep. */
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

function heldIn({ type, message, isCompactSummary, attachment }: Json): Held | undefined {
  if (type === 'attachment') {
    const given = TEXT_FIELDS.map((field) => objectOf(attachment)[field])
    const isEmpty = given.every(
      (value) => value === undefined || value === '' || (listOf(value).length === 0 && Array.isArray(value)),
    )
    return isEmpty ? undefined : { answerId: undefined, calls: [], results: [], isSaid: true }
  }
  if ((type !== 'user' && type !== 'assistant') || isCompactSummary === true) return undefined
  const { id, content } = objectOf(message)
  const blocks = Array.isArray(content) ? listOf(content) : [content]
  const ofType = (name: string): Json[] => blocks.map(objectOf).filter((block) => block['type'] === name)
  return {
    answerId: type === 'assistant' ? textOf(id) : undefined,
    calls: ofType('tool_use').map((block) => textOf(block['id']) ?? UNNAMED),
    results: ofType('tool_result').map((block) => textOf(block['tool_use_id']) ?? UNNAMED),
    isSaid: blocks.length > ofType('tool_result').length,
  }
}

const isBoundary = ({ subtype }: Json): boolean => subtype === 'compact_boundary'
const isMessage = ({ type }: Json): boolean => type === 'user' || type === 'assistant'

/** The line that a line follows. A file that was cut, and a compaction, break the chain, and the order goes on. */
function followed({ record, parentUuid, before }: Line, lines: ReadonlyMap<string, Line>): string | undefined {
  if (parentUuid !== undefined) return lines.has(parentUuid) ? parentUuid : before
  const logical = textOf(record['logicalParentUuid'])
  if (logical !== undefined && lines.has(logical)) return logical
  // A message without a parent begins anew, as after a rewind to the very beginning; a hook or a boundary does not.
  return isMessage(record) ? undefined : before
}

/** The lines that lead to the last one, with the other lines of their answers and the results of their calls. */
function leading(lines: ReadonlyMap<string, Line>): ReadonlySet<string> {
  const led = new Set<string>()
  const answers = new Set<string>()
  const calls = new Set<string>()
  const walk = (from: string | undefined): void => {
    for (let uuid = from; uuid !== undefined && !led.has(uuid);) {
      const line = lines.get(uuid)
      if (line === undefined) return
      led.add(uuid)
      const held = heldIn(line.record)
      if (held?.answerId !== undefined) answers.add(held.answerId)
      for (const call of held?.calls ?? []) calls.add(call)
      uuid = followed(line, lines)
    }
  }
  const main = [...lines.values()].filter(({ record }) => record['isSidechain'] !== true)
  walk(main.at(-1)?.uuid)
  for (let size = -1; size !== led.size;) {
    size = led.size
    for (const { uuid, record } of main) {
      const held = heldIn(record)
      const isOfAnswer = held?.answerId !== undefined && answers.has(held.answerId)
      if (isOfAnswer || held?.results.some((id) => calls.has(id)) === true) walk(uuid)
    }
  }
  return led
}

/** The agent that a line is of; undefined for the conversation of the user. */
function agentOf(line: Line, lines: ReadonlyMap<string, Line>): string | undefined {
  if (line.record['isSidechain'] !== true) return undefined
  const named = textOf(line.record['agentId'])
  if (named !== undefined) return `agent-${named}`
  // Older versions write the agents among the rest, each a tree of its own.
  let first = line
  const seen = new Set<string>()
  while (first.parentUuid !== undefined && !seen.has(first.uuid)) {
    seen.add(first.uuid)
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

/** Results that were cleared out of the context and that the file holds. */
function clearedIn(records: readonly Json[], results: ReadonlySet<string>): number {
  const cleared = records.flatMap(({ microcompactMetadata }) =>
    listOf(objectOf(microcompactMetadata)['compactedToolIds']),
  )
  return new Set(cleared.filter((id) => typeof id === 'string' && results.has(id))).size
}

/** Counts a transcript of Claude Code. */
export const countClaudeCode: CountRaw = async (path) => {
  const lines = linesIn(await jsonLines(path))
  const led = leading(lines)
  const conversations = new Map<string, { readonly sessionId: string; readonly lines: Line[] }>()
  for (const line of lines.values()) {
    const sessionId = textOf(line.record['sessionId'])
    if (sessionId === undefined) continue
    const sourceId = agentOf(line, lines) ?? sessionId
    const conversation = conversations.get(sourceId) ?? { sessionId, lines: [] }
    conversation.lines.push(line)
    conversations.set(sourceId, conversation)
  }
  return [...conversations].map(([name, { sessionId, lines: own }]): RawCounts => {
    const held = own.flatMap(({ uuid, record }) => {
      const message = heldIn(record)
      return message === undefined ? [] : [{ ...message, uuid, isAnswer: record['type'] === 'assistant' }]
    })
    const isAgent = name.startsWith('agent-')
    const parent = parentOf(path, name, sessionId)
    const countOf = ({ results, isSaid }: Held): number => results.length + (isSaid ? 1 : 0)
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
    const results = held.flatMap((message) => message.results)
    return {
      // Two conversations may call agents of one name.
      sourceId: isAgent && parent !== undefined ? `${parent}/${name}` : name,
      messages: {
        instruction: 0,
        user: held.filter(({ isAnswer, isSaid }) => !isAnswer && isSaid).length,
        assistant: held.filter(({ isAnswer }) => isAnswer).length,
        tool: results.length,
      },
      calls: sum(held.map(({ calls }) => calls.length)),
      results: results.length,
      compactions: own.filter(({ record }) => isBoundary(record)).length,
      // An agent cannot be rewound.
      withdrawn: isAgent ? 0 : sum(held.filter(({ uuid }) => !led.has(uuid)).map(countOf)),
      edits: clearedIn(
        own.map(({ record }) => record),
        new Set(results),
      ),
      parent,
    }
  })
}
