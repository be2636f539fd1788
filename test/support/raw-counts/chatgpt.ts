/**
 * What an export of ChatGPT holds: one conversation, a list of them, or a folder with lists in several files. All
 * branches of a conversation were said; those that do not lead to its current node are said no more.
 *
 * An answer that is sent to a tool is a call, and what a tool says is a result. Nodes that say nothing are not counted.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isFolder, listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

const roleOf = (message: Raw): string => wordOf(rawOf(message['author'])['role']) ?? ''

/** Whether any field of a content but its type says something. */
function saysSomething(message: Raw): boolean {
  const { content_type: _type, parts, ...rest } = rawOf(message['content'])
  const said: unknown[] = [...(Array.isArray(parts) ? parts : []), ...Object.values(rest)]
  return said.some((value) => value !== '' && value !== null && value !== undefined)
}

const isCall = (message: Raw): boolean => {
  const recipient = wordOf(message['recipient'])
  return roleOf(message) === 'assistant' && recipient !== undefined && recipient !== 'all'
}

function countConversation(conversation: Raw): RawCounts {
  const nodes = rawOf(conversation['mapping'])
  const active = new Set<string>()
  let at = wordOf(conversation['current_node'])
  while (at !== undefined && !active.has(at)) {
    active.add(at)
    at = wordOf(rawOf(nodes[at])['parent'])
  }
  const said = Object.entries(nodes)
    .map(([id, node]): [string, Raw] => [id, rawOf(rawOf(node)['message'])])
    .filter(([, message]) => saysSomething(message))
  const messages = said.map(([, message]) => message)
  const inRole = (...roles: readonly string[]): number =>
    messages.filter((message) => roles.includes(roleOf(message))).length
  return {
    sourceId: wordOf(conversation['id']) ?? wordOf(conversation['conversation_id']) ?? '',
    messages: {
      instruction: inRole('system', 'developer'),
      user: inRole('user'),
      assistant: inRole('assistant'),
      tool: inRole('tool'),
    },
    calls: messages.filter(isCall).length,
    results: inRole('tool'),
    compactions: 0,
    withdrawn: said.filter(([id]) => !active.has(id)).length,
    edits: 0,
    parent: undefined,
  }
}

/** Counts the conversations of an export. */
export const countChatgpt: CountRaw = async (path) => {
  const names = (await isFolder(path))
    ? (await readdir(path)).filter((name) => /^conversations.*\.json$/u.test(name))
    : []
  const files = names.length === 0 ? [path] : names.toSorted().map((name) => join(path, name))
  const counts: RawCounts[] = []
  for (const file of files) {
    const value = await rawFile(file)
    for (const conversation of Array.isArray(value) ? listOf(value) : [rawOf(value)])
      counts.push(countConversation(conversation))
  }
  return counts
}
