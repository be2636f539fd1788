/**
 * Counts an export of ChatGPT: one conversation, a list, or a directory with lists in several files. The messages of
 * all branches count; those that are not on the path to the current node count as withdrawn.
 *
 * An answer with a tool as its recipient is a call, and a tool's message is a result. Nodes without content do not
 * count.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isFolder, listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

const roleOf = (message: Raw): string => wordOf(rawOf(message['author'])['role']) ?? ''

/** Whether a content has a value in any field except its type. */
function hasContent(message: Raw): boolean {
  const { content_type: _type, parts, ...rest } = rawOf(message['content'])
  const values: unknown[] = [...(Array.isArray(parts) ? parts : []), ...Object.values(rest)]
  return values.some((value) => value !== '' && value !== null && value !== undefined)
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
  const entries = Object.entries(nodes)
    .map(([id, node]): [string, Raw] => [id, rawOf(rawOf(node)['message'])])
    .filter(([, message]) => hasContent(message))
  const messages = entries.map(([, message]) => message)
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
    withdrawn: entries.filter(([id]) => !active.has(id)).length,
    edits: 0,
    parent: undefined,
  }
}

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
