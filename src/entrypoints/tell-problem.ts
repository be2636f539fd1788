/**
 * Hands problems that nobody waits for to who asked to hear of them. A listener that throws or rejects breaks nothing. Where nobody listens, the
 * first problem is a warning of the process: silence would hide a compaction that fails for days.
 */
import { sentenceOfProblem } from './problem.js'

export type TellProblem = (problem: unknown) => void

/** The code of the warning, for who filters warnings. */
export const WARNING_CODE = 'CONTEXT_LEDGER_PROBLEM'

let hasWarned = false

function warn(detail: string): void {
  if (hasWarned) return
  hasWarned = true
  process.emitWarning(`context-ledger: ${detail} (said once; pass onProblem to hear of each problem)`, { code: WARNING_CODE })
}

/** Wraps a listener, or stands in for one that was not given. */
export function tellProblems(listener: TellProblem | undefined): TellProblem {
  if (listener === undefined) return (problem) => { warn(sentenceOfProblem(problem)) }
  const deaf = (error: unknown): void => { warn(`onProblem failed: ${sentenceOfProblem(error)}`) }
  return (given) => {
    try {
      // A listener may be async, whatever its type says.
      void Promise.resolve(listener(given)).catch(deaf)
    } catch (error) {
      deaf(error)
    }
  }
}
