/**
 * After a boundary, the next line is the summary. The messages that the boundary names as preserved come after it, or
 * before it if their parent is the boundary itself. Messages that the file lacks are skipped.
 */
import { jsonLines, listOf, objectOf, textOf, type Json } from '../raw-counts/json-lines.js'
import { callText, type RawContext, type ReadContexts } from './raw-contexts.js'

function textsOf(content: unknown): RawContext {
  if (typeof content === 'string') return [content]
  return listOf(content)
    .map(objectOf)
    .flatMap((block): RawContext => {
      if (block['type'] === 'tool_use') return [callText(block['name'], block['input'])]
      if (block['type'] === 'tool_result') return textsOf(block['content'])
      return [textOf(block['text']) ?? textOf(block['thinking']) ?? '']
    })
}

const textsIn = (record: Json | undefined): RawContext => textsOf(objectOf(record?.['message'])['content'])

export const claudeCodeContexts: ReadContexts = async (path) => {
  const records = await jsonLines(path)
  const byId = new Map(records.map((record) => [textOf(record['uuid']), record]))
  return records.flatMap((record, at): RawContext[] => {
    if (record['subtype'] !== 'compact_boundary') return []
    const next = records[at + 1]
    const summary = next?.['isCompactSummary'] === true ? textsIn(next) : []
    const { uuids, anchorUuid } = objectOf(objectOf(record['compactMetadata'])['preservedMessages'])
    const preserved = listOf(uuids).flatMap((uuid) => textsIn(byId.get(textOf(uuid))))
    return [anchorUuid === record['uuid'] ? [...preserved, ...summary] : [...summary, ...preserved]]
  })
}
