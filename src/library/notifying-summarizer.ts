/** Reports the requests of a summarizer to a listener, so that a program can show what it waits for. */
import { isWithoutModel } from '../domain/reports/prices.js'
import { requestTokens } from '../application/compaction/summarize-step.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { SummaryRequest } from './ledger.js'

/** The same summarizer; `listener` is called with each request to a model, before it is sent, and must not throw. */
export function notifyingSummarizer(summarizer: Summarizer, listener: (request: SummaryRequest) => void): Summarizer {
  if (isWithoutModel(summarizer)) return summarizer
  return {
    ...summarizer,
    prepare: (job) => summarizer.prepare(job),
    summarize: async (prepared, signal) => {
      const answer = summarizer.summarize(prepared, signal)
      listener({
        kind: prepared.job.kind,
        requestHash: prepared.requestHash,
        model: prepared.model,
        promptTokens: requestTokens(prepared),
        answered: answer.then(
          () => undefined,
          () => undefined,
        ),
      })
      return await answer
    },
  }
}
