/**
 * The process of the guard, which an agent starts before a call of a tool, with the hooks' directory, the name of the
 * program, the action and, if there is one, the rule file. If there is a problem, or the time is over, it prints nothing,
 * so that the call goes on, and logs the problem.
 */
import { writeSync } from 'node:fs'
import { GUARD_ACTIONS } from './guard-action.js'
import { hasGuard } from './guard-folder.js'
import { logProblem } from './hook-folder.js'
import { readInput } from './read-input.js'
import { runGuard } from './run-guard.js'

/** An agent waits at most this long for its call, also if its session has a long transcript. */
const BUDGET_MS = 8_000

const [folder = '', agent = '', given, file] = process.argv.slice(2)

setTimeout(() => {
  logProblem(folder, agent, 'the guard was not done in time, so the call went on')
  process.exit(0)
}, BUDGET_MS)

try {
  if (!hasGuard(folder, agent)) process.exit(0)
  const output = await runGuard(await readInput(), {
    folder,
    agent,
    action: GUARD_ACTIONS.find((each) => each === given) ?? 'ask',
    ruleFile: file,
    now: Date.now,
  })
  // At once, because the process ends.
  if (output !== '') writeSync(1, output)
} catch (error) {
  logProblem(folder, agent, error)
}
process.exit(0)
