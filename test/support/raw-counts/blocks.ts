/** Counts messages of Cline and Roo Code, whose content is a string or blocks. */
import { listOf, wordOf, type Raw } from './raw-json.js'
import type { RawCounts } from './raw-counts.js'

const CALLS = new Set(['tool_use', 'tool-call'])
const RESULTS = new Set(['tool_result', 'tool-result'])

/** The counts that depend on single messages. */
export type BlockCounts = Pick<RawCounts, 'messages' | 'calls' | 'results'>

const ofTypes = (message: Raw, types: ReadonlySet<string>): number =>
  listOf(message['content']).filter(({ type }) => types.has(wordOf(type) ?? '')).length

/** Whether a message contains anything except results. */
function hasOtherContent(message: Raw): boolean {
  const blocks = listOf(message['content'])
  return typeof message['content'] === 'string' || blocks.length > ofTypes(message, RESULTS)
}

/** Counts messages: each result is a tool message, and the rest of the record is a user message. */
export function countBlocks(messages: readonly Raw[]): BlockCounts {
  const results = messages.reduce((sum, message) => sum + ofTypes(message, RESULTS), 0)
  const inRole = (role: string): readonly Raw[] => messages.filter((message) => message['role'] === role)
  return {
    messages: {
      instruction: inRole('system').length,
      user: inRole('user').filter(hasOtherContent).length,
      assistant: inRole('assistant').length,
      tool: results,
    },
    calls: messages.reduce((sum, message) => sum + ofTypes(message, CALLS), 0),
    results,
  }
}
