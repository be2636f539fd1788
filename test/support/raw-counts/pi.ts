/**
 * Counts a session of pi. A file is one conversation. Every entry of type `message` is one message. So are
 * `custom_message` and `branch_summary`, which the program adds with the role user. A command that the user excluded
 * from the context does not count.
 *
 * Entries of versions 2 and 3 form a tree. The branch of the last entry is current, and messages on other branches are
 * withdrawn. Version 1 has neither ids nor branches.
 */
import { basename } from 'node:path'
import { jsonLines, listOf, objectOf, textOf, type Json } from './json-lines.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

type Role = keyof RawCounts['messages']

const ROLES: Readonly<Record<string, Role>> = {
  system: 'instruction',
  user: 'user',
  custom: 'user',
  hookMessage: 'user',
  bashExecution: 'user',
  branchSummary: 'user',
  assistant: 'assistant',
  toolResult: 'tool',
}

/** The role of an entry; undefined if it is not a message. */
function roleOf(entry: Json): Role | undefined {
  if (entry['type'] === 'custom_message' || entry['type'] === 'branch_summary') return 'user'
  if (entry['type'] !== 'message') return undefined
  const message = objectOf(entry['message'])
  return message['excludeFromContext'] === true ? undefined : ROLES[textOf(message['role']) ?? '']
}

const callsOf = (entry: Json): number =>
  listOf(objectOf(entry['message'])['content']).filter((block) => objectOf(block)['type'] === 'toolCall').length

/** The entries on the path from the last one to the first. */
function branchOf(entries: readonly Json[]): ReadonlySet<Json> {
  const byId = new Map(entries.map((entry) => [textOf(entry['id']), entry]))
  const branch = new Set<Json>()
  let entry = entries.at(-1)
  while (entry !== undefined && !branch.has(entry)) {
    branch.add(entry)
    const parent = textOf(entry['parentId'])
    entry = parent === undefined ? undefined : byId.get(parent)
  }
  return branch
}

/** The parent's id. The header contains the parent's file name (`<time>_<id>.jsonl`) or its id. */
function parentOf(header: Json): string | undefined {
  const named = textOf(header['parentSession']) ?? textOf(header['branchedFrom'])
  return named === undefined ? undefined : basename(named.replaceAll('\\', '/'), '.jsonl').replace(/^.*_/u, '')
}

export const countPi: CountRaw = async (path) => {
  const lines = await jsonLines(path)
  const header = lines.find((line) => line['type'] === 'session')
  const entries = lines.filter((line) => line['type'] !== 'session')
  const messages = entries.filter((entry) => roleOf(entry) !== undefined)
  const isTree = entries.some((entry) => textOf(entry['id']) !== undefined)
  const branch = isTree ? branchOf(entries) : new Set(entries)
  const countOf = (role: Role): number => messages.filter((entry) => roleOf(entry) === role).length
  return [
    {
      sourceId: textOf(header?.['id']) ?? basename(path),
      messages: {
        instruction: countOf('instruction'),
        user: countOf('user'),
        assistant: countOf('assistant'),
        tool: countOf('tool'),
      },
      calls: messages.reduce((sum, entry) => sum + callsOf(entry), 0),
      results: countOf('tool'),
      compactions: entries.filter((entry) => entry['type'] === 'compaction').length,
      withdrawn: messages.filter((entry) => !branch.has(entry)).length,
      edits: entries.filter((entry) => entry['type'] === 'context_edit').length,
      parent: header === undefined ? undefined : parentOf(header),
    },
  ]
}
