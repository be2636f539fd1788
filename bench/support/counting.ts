/** A summarizer that counts its calls. */
import type { Summarizer } from '../../src/ports/summarizer.js'

export interface Counted {
  readonly summarizer: Summarizer
  readonly calls: () => number
}

export function counted(summarizer: Summarizer): Counted {
  let calls = 0
  return {
    summarizer: {
      ...summarizer,
      summarize(prepared, signal) {
        calls += 1
        return summarizer.summarize(prepared, signal)
      },
    },
    calls: () => calls,
  }
}
