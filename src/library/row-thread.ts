/** Compares rows in a thread of its own (`row-thread-main.ts`), which opens log and database for itself. */
import { Worker } from 'node:worker_threads'
import type { CheckRows, RowDifference } from '../ports/row-check.js'
import { builtFile } from '../lib/package-root.js'

/** The addresses that a ledger was opened with. */
export interface RowThreadPlace {
  readonly store: string
  readonly database: string | undefined
  readonly keys?: string | undefined
}

/** What the thread is given. */
export interface RowThreadTask extends RowThreadPlace {
  readonly conversationId: string | undefined
}

/**
 * Compares rows in a thread, which ends with its answer or when the caller aborts.
 * @param main the file that the thread runs
 */
export function createRowThread(
  place: RowThreadPlace,
  main = builtFile('src', 'library', 'row-thread-main.js'),
): CheckRows {
  return async (conversationId, signal) => {
    signal.throwIfAborted()
    const task: RowThreadTask = { ...place, conversationId }
    const thread = new Worker(main, {
      workerData: task,
      name: 'context-ledger rows',
      resourceLimits: { maxYoungGenerationSizeMb: 32 },
    })
    return await new Promise<readonly RowDifference[]>((resolve, reject) => {
      let answer: readonly RowDifference[] | undefined
      thread.once('message', (found: readonly RowDifference[]) => {
        answer = found
      })
      thread.once('error', reject)
      thread.once('exit', () => {
        if (answer === undefined)
          reject(signal.aborted ? signal.reason : new Error('the thread that compares rows ended without an answer'))
        else resolve(answer)
      })
      signal.addEventListener(
        'abort',
        () => {
          void thread.terminate()
        },
        { once: true },
      )
    })
  }
}
