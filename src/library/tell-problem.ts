/**
 * Hands problems that nobody waits for to who asked to hear of them. A listener that throws or rejects breaks nothing.
 * Where nobody listens, the first problem is a warning of the process: silence would hide a compaction that fails for
 * days.
 */
import { sentenceOfProblem } from './problem.js'

export type TellProblem = (problem: unknown) => void

/** The code of the warning, for who filters warnings. */
const WARNING_CODE = 'CONTEXT_LEDGER_PROBLEM'

let hasWarned = false

function warn(detail: string): void {
  if (hasWarned) return
  hasWarned = true
  process.emitWarning(`context-ledger: ${detail} (said once; pass onProblem to hear of each problem)`, {
    code: WARNING_CODE,
  })
}

/** Wraps a listener, or stands in for one that was not given. */
export function tellProblems(listener: TellProblem | undefined): TellProblem {
  if (listener === undefined)
    return (problem) => {
      warn(sentenceOfProblem(problem))
    }
  return heardBy(listener, (error) => {
    warn(`onProblem failed: ${sentenceOfProblem(error)}`)
  })
}

/**
 * Calls a listener of somebody's own, which may throw; and it may be async, whatever its type says. `failed` hears of
 * both.
 */
export function heardBy<Heard>(
  listener: (heard: Heard) => unknown,
  failed: (error: unknown) => void,
): (heard: Heard) => void {
  return (heard) => {
    // At once, and not behind what is under way: the order of what is heard is that in which it happened.
    new Promise((resolve) => {
      resolve(listener(heard))
    }).catch(failed)
  }
}
