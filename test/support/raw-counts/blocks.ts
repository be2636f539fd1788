/** Messages of Cline and Roo Code, whose content is a text or blocks, as a raw counter looks at them. */
import { listOf, wordOf, type Raw } from './raw-json.js'
import type { RawCounts } from './raw-counts.js'

const CALLS = new Set(['tool_use', 'tool-call'])
const RESULTS = new Set(['tool_result', 'tool-result'])

/** The parts of the counts that hang on single messages. */
export type BlockCounts = Pick<RawCounts, 'messages' | 'calls' | 'results'>

const ofTypes = (message: Raw, types: ReadonlySet<string>): number =>
  listOf(message['content']).filter(({ type }) => types.has(wordOf(type) ?? '')).length

/** Whether a message says anything beside results. */
function saysMore(message: Raw): boolean {
  const blocks = listOf(message['content'])
  return typeof message['content'] === 'string' || blocks.length > ofTypes(message, RESULTS)
}

/** Counts messages: a result is a message of the tool, and what stands beside it one of the user. */
export function countBlocks(messages: readonly Raw[]): BlockCounts {
  const results = messages.reduce((sum, message) => sum + ofTypes(message, RESULTS), 0)
  const inRole = (role: string): readonly Raw[] => messages.filter((message) => message['role'] === role)
  return {
    messages: {
      instruction: inRole('system').length,
      user: inRole('user').filter(saysMore).length,
      assistant: inRole('assistant').length,
      tool: results,
    },
    calls: messages.reduce((sum, message) => sum + ofTypes(message, CALLS), 0),
    results,
  }
}
