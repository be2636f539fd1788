/**
 * The process of a hook, started by an agent with the hooks' directory and the name of the program. It never fails its
 * agent: it ends in time with status 0, prints nothing if there is a problem, and logs the problem.
 */
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { builtFile } from '../../../lib/package-root.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { logProblem } from './hook-folder.js'
import { readInput } from './read-input.js'
import { limitAfterStart, runHook } from './run-hook.js'

/** An agent waits at most 300 ms. The rest is for the start and the end of this process. */
const BUDGET_MS = { background: 10_000, waits: 180 } as const

const [folder = '', agent = '', mode] = process.argv.slice(2)
const remainingMs = (): number => BUDGET_MS[mode === 'background' ? mode : 'waits'] - performance.now()

const end = (): never => process.exit(0)

function startWorker(key: string): number | undefined {
  // In the home directory, because the directory of a project may have settings of other people.
  const child = spawn(
    process.execPath,
    [builtFile('src', 'interfaces', 'cli', 'hook', 'worker-main.js'), folder, key],
    {
      cwd: homeFolder(),
      detached: true,
      stdio: 'ignore',
      windowsHide: true,
    },
  )
  child.on('error', (error) => {
    logProblem(folder, agent, error)
  })
  child.unref()
  return child.pid
}

setTimeout(
  () => {
    logProblem(folder, agent, 'the hook was not done in time, so the agent continued without it')
    end()
  },
  // Since the start of the process.
  limitAfterStart(remainingMs(), performance.now()),
)
try {
  const output = await runHook(await readInput(), {
    folder,
    agent,
    remainingMs,
    startWorker,
    now: Date.now,
  })
  // At once, because the process ends.
  if (output !== '') writeSync(1, output)
} catch (error) {
  logProblem(folder, agent, error)
}
end()
