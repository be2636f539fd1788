/**
 * After an opencode summary, the context is a question by the program, the summary as its answer, and the messages from
 * the first one of the tail, if the request names one.
 */
import { listOf, rawFile, rawOf, wordOf, type Raw } from '../raw-counts/raw-json.js'
import { callText, type RawContext, type ReadContexts } from './raw-contexts.js'

/** The file does not hold it. */
const QUESTION = 'What did we do so far?'

function textsOf(parts: readonly Raw[]): RawContext {
  return parts.flatMap((part): RawContext => {
    const state = rawOf(part['state'])
    if (part['type'] === 'text' || part['type'] === 'reasoning') return [wordOf(part['text']) ?? '']
    if (part['type'] !== 'tool') return []
    return [
      callText(part['tool'], state['input']),
      ...(wordOf(state['output'] ?? state['error']) === undefined ? [] : [String(state['output'] ?? state['error'])]),
    ]
  })
}

const summaryIn = (parts: readonly Raw[]): RawContext => textsOf(parts.filter(({ type }) => type === 'text'))

export const opencodeContexts: ReadContexts = async (path) => {
  const messages = listOf(rawOf(await rawFile(path))['messages']).map(({ info, parts }) => ({
    info: rawOf(info),
    parts: listOf(parts),
  }))
  return messages.flatMap(({ info, parts }, at): RawContext[] => {
    if (info['role'] !== 'assistant' || info['summary'] !== true) return []
    const request = messages.find((message) => message.info['id'] === info['parentID'])
    const start = request?.parts.find(({ type }) => type === 'compaction')?.['tail_start_id']
    const first = messages.findIndex((message) => message.info['id'] === start)
    const tail = first === -1 ? [] : messages.slice(first, at).filter((message) => message !== request)
    return [[QUESTION, ...summaryIn(parts), ...tail.flatMap((message) => textsOf(message.parts))]]
  })
}
