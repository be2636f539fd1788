/** The process of a resident reader. `start-resident.ts` starts it with the path of the ledger's directory. */
import { resolve } from 'node:path'
import { runResident } from '../../library/resident.js'
import type { Ledger } from '../../library/ledger.js'
import { answerCommand } from './answer-command.js'
import { isSummaryRequest } from './hook/compacting-session.js'
import { makeSummary } from './hook/make-summary.js'

/** Runs a command whose output is not used, so that the code of commands is loaded and compiled before the first one. */
async function warmUp(store: string): Promise<void> {
  const stream = { isTTY: false, columns: 80 }
  const { env, version: node } = process
  const words = ['list', '--limit', '1', '--store', store]
  await answerCommand(store, { words, cwd: store, env: { ...env }, node, stdout: stream, stderr: stream })
}

/** The answer for another process. A summary that fails here is made by the process that asks, which reports the reason. */
async function answer(store: string, request: unknown, ledger: Ledger): Promise<unknown> {
  if (!isSummaryRequest(request)) return await answerCommand(store, request)
  return await makeSummary(ledger, request).catch(() => undefined)
}

const [path] = process.argv.slice(2)
if (path !== undefined) {
  const store = resolve(path)
  // Another process may open or remove the directory meanwhile. No other process waits for this one, so it just ends.
  await runResident(store, { run: answer, onReady: async () => await warmUp(store) }).catch(() => undefined)
}
// An engine that is being closed must not keep the process.
process.exit(0)
