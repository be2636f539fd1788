/**
 * After a pi compaction, the context is its summary, in pi's own wording, and then the messages from the first entry
 * that it keeps. Versions 2 and 3 name this entry by its id; version 1 by its index among all readable lines, including
 * the header.
 */
import { jsonLines, listOf, objectOf, textOf, type Json } from '../raw-counts/json-lines.js'
import { callText, type RawContext, type ReadContexts } from './raw-contexts.js'

const handedOn = (summary: string): string =>
  `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`

function textsOf(content: unknown): RawContext {
  if (typeof content === 'string') return [content]
  return listOf(content)
    .map(objectOf)
    .map((block) =>
      block['type'] === 'toolCall'
        ? callText(block['name'], block['arguments'])
        : (textOf(block['text']) ?? textOf(block['thinking']) ?? ''),
    )
}

const ROLES = new Set<unknown>(['user', 'assistant', 'toolResult'])

function textsIn(entry: Json): RawContext {
  const { role, content } = objectOf(entry['message'])
  return entry['type'] === 'message' && ROLES.has(role) ? textsOf(content) : []
}

/** The entries that lead to one, oldest first; all before it where entries have no ids. */
function before(entries: readonly Json[], compaction: Json): readonly Json[] {
  const at = entries.indexOf(compaction)
  if (textOf(compaction['id']) === undefined) return entries.slice(0, at)
  const path: Json[] = []
  let parent = textOf(compaction['parentId'])
  for (const entry of entries.slice(0, at).toReversed()) {
    if (entry['id'] !== parent) continue
    path.push(entry)
    parent = textOf(entry['parentId'])
  }
  return path.toReversed()
}

function keptBy(entries: readonly Json[], compaction: Json): readonly Json[] {
  const path = before(entries, compaction)
  const { firstKeptEntryId: id, firstKeptEntryIndex: index } = compaction
  if (typeof index === 'number') return path.filter((entry) => entries.indexOf(entry) >= index)
  const first = path.findIndex((entry) => entry['id'] === id)
  return first === -1 ? [] : path.slice(first)
}

export const piContexts: ReadContexts = async (path) => {
  const entries = await jsonLines(path)
  return entries
    .filter(({ type }) => type === 'compaction')
    .map((compaction): RawContext => [
      handedOn(textOf(compaction['summary']) ?? ''),
      ...keptBy(entries, compaction).flatMap(textsIn),
    ])
}
