/**
 * Counts trajectories of SWE-agent: one conversation a file, which has no name of its own. Its `history` is what the
 * model got. The last step, with which the agent submits, was given to no model any more: it stands in `trajectory` alone
 * and counts as an answer, its call, and what came of it.
 */
import type { CountRaw } from './raw-counts.js'
import { listOf, rawFile, rawOf, wordOf, type Raw } from './raw-json.js'

const isOf =
  (...roles: readonly string[]) =>
  (message: Raw): boolean =>
    roles.includes(String(message['role']))

/** A message may answer several calls: it is a result of each. */
const resultsIn = ({ tool_call_ids: ids }: Raw): number => (Array.isArray(ids) ? Math.max(1, ids.length) : 1)

/** Whether the last step of the trajectory is an answer that the history lacks. */
function endsBesides(history: readonly Raw[], trajectory: readonly Raw[]): boolean {
  const last = wordOf(trajectory.at(-1)?.['response'])
  return last !== undefined && !history.some((message) => isOf('assistant')(message) && message['content'] === last)
}

/** @param path of a `.traj` file */
export const countSweAgent: CountRaw = async (path) => {
  const file = rawOf(await rawFile(path))
  const history = listOf(file['history'])
  const submitted = endsBesides(history, listOf(file['trajectory'])) ? 1 : 0
  const results = history.filter(isOf('tool')).reduce((sum, message) => sum + resultsIn(message), 0) + submitted
  return [
    {
      sourceId: undefined,
      messages: {
        instruction: history.filter(isOf('system', 'developer')).length,
        user: history.filter(isOf('user')).length,
        assistant: history.filter(isOf('assistant')).length + submitted,
        tool: results,
      },
      calls: history.reduce((sum, message) => sum + listOf(message['tool_calls']).length, 0) + submitted,
      results,
      compactions: 0,
      withdrawn: 0,
      edits: 0,
      parent: undefined,
    },
  ]
}
