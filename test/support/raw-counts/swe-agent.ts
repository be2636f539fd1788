/**
 * Counts trajectories of SWE-agent: one conversation per file, without an id. `history` contains the model's messages.
 * The last step, which submits, was not sent to a model: it is only in `trajectory`, and counts as an answer with its
 * call and its result.
 */
import type { CountRaw } from './raw-counts.js'
import { listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'

const isOf =
  (...roles: readonly string[]) =>
  (message: Raw): boolean =>
    roles.includes(String(message['role']))

/** A message may be the result of several calls. */
const resultsIn = ({ tool_call_ids: ids }: Raw): number => (Array.isArray(ids) ? Math.max(1, ids.length) : 1)

/** Whether the last step of the trajectory is missing in the history. */
function lacksLastStep(history: readonly Raw[], trajectory: readonly Raw[]): boolean {
  const last = wordOf(trajectory.at(-1)?.['response'])
  return last !== undefined && !history.some((message) => isOf('assistant')(message) && message['content'] === last)
}

export const countSweAgent: CountRaw = async (path) => {
  const file = rawOf(await rawFile(path))
  const history = listOf(file['history'])
  const missingStep = lacksLastStep(history, listOf(file['trajectory'])) ? 1 : 0
  const results = history.filter(isOf('tool')).reduce((sum, message) => sum + resultsIn(message), 0) + missingStep
  return [
    {
      sourceId: undefined,
      messages: {
        instruction: history.filter(isOf('system', 'developer')).length,
        user: history.filter(isOf('user')).length,
        assistant: history.filter(isOf('assistant')).length + missingStep,
        tool: results,
      },
      calls: history.reduce((sum, message) => sum + listOf(message['tool_calls']).length, 0) + missingStep,
      results,
      compactions: 0,
      withdrawn: 0,
      edits: 0,
      parent: undefined,
    },
  ]
}
