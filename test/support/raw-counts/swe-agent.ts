/** Counts trajectories of SWE-agent: one conversation a file, whose `history` is what the model got and gave. */
import { basename } from 'node:path'
import type { CountRaw } from './raw-counts.js'
import { listOf, rawFile, rawOf, type Raw } from './raw-json.js'

const isOf =
  (...roles: readonly string[]) =>
  (message: Raw): boolean =>
    roles.includes(String(message['role']))

/** A message may answer several calls: it is a result of each. */
const resultsIn = ({ tool_call_ids: ids }: Raw): number => (Array.isArray(ids) ? Math.max(1, ids.length) : 1)

/** @param path of a `.traj` file */
export const countSweAgent: CountRaw = async (path) => {
  const history = listOf(rawOf(await rawFile(path))['history'])
  const results = history.filter(isOf('tool')).reduce((sum, message) => sum + resultsIn(message), 0)
  return [
    {
      sourceId: basename(path).replace(/\.traj(?:\.json)?$/u, ''),
      messages: {
        instruction: history.filter(isOf('system', 'developer')).length,
        user: history.filter(isOf('user')).length,
        assistant: history.filter(isOf('assistant')).length,
        tool: results,
      },
      calls: history.reduce((sum, message) => sum + listOf(message['tool_calls']).length, 0),
      results,
      compactions: 0,
      withdrawn: 0,
      edits: 0,
      parent: undefined,
    },
  ]
}
