/**
 * Delivers background problems to `onProblem`. A listener that throws or rejects is harmless. Without a listener,
 * the first problem is emitted as a process warning, so that a failing compaction does not stay unnoticed for days.
 */
import { sentenceOfProblem } from './problem.js'

export type ReportProblem = (problem: unknown) => void

/** Code of the process warning, for filters. */
const WARNING_CODE = 'CONTEXT_LEDGER_PROBLEM'

/** The processes that were warned: this one, except in tests, whose files have a `process` each. */
const warned = new WeakSet<NodeJS.Process>()

function warn(detail: string): void {
  if (warned.has(process)) return
  warned.add(process)
  process.emitWarning(`context-ledger: ${detail} (said once; pass onProblem to hear of each problem)`, {
    code: WARNING_CODE,
  })
}

/** Wraps a listener, or replaces a missing one. */
export function problemReporter(listener: ReportProblem | undefined): ReportProblem {
  if (listener === undefined)
    return (problem) => {
      warn(sentenceOfProblem(problem))
    }
  return guardListener(listener, (error) => {
    warn(`onProblem failed: ${sentenceOfProblem(error)}`)
  })
}

/** Calls a listener, which may throw or be async. `failed` is called with both kinds of errors. */
export function guardListener<Heard>(
  listener: (heard: Heard) => unknown,
  failed: (error: unknown) => void,
): (heard: Heard) => void {
  return (heard) => {
    // Called immediately, so that problems are reported in the order in which they happened.
    new Promise((resolve) => {
      resolve(listener(heard))
    }).catch(failed)
  }
}
