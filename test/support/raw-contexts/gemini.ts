/** After a list that has lost messages (`$set.messages`), the model gets that list. */
import { listOf, rawLines, rawOf, wordOf, type Raw } from '../raw-counts/raw-json.js'
import { callText, type RawContext, type ReadContexts } from './raw-contexts.js'

const partsOf = (content: unknown): RawContext =>
  typeof content === 'string' ? [content] : listOf(content).map(({ text }) => wordOf(text) ?? '')

const textsOf = (message: Raw): RawContext => [
  ...partsOf(message['content']),
  ...listOf(message['toolCalls']).map(({ name, args }) => callText(name, args)),
]

export const geminiContexts: ReadContexts = async (path) => {
  if (!path.endsWith('.jsonl')) return []
  const contexts: RawContext[] = []
  let live: readonly string[] = []
  for (const line of await rawLines(path)) {
    const id = wordOf(line['type']) === undefined ? undefined : wordOf(line['id'])
    if (id !== undefined && !live.includes(id)) live = [...live, id]
    const back = live.indexOf(wordOf(line['$rewindTo']) ?? '')
    if (back !== -1) live = live.slice(0, back)
    const list = rawOf(line['$set'])['messages']
    if (!Array.isArray(list)) continue
    const ids = listOf(list).map((message) => wordOf(message['id']) ?? '')
    if (live.some((each) => !ids.includes(each))) contexts.push(listOf(list).flatMap(textsOf))
    live = ids
  }
  return contexts
}
