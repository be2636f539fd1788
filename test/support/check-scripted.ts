/**
 * Makes the requests of the scripted summarizer again, so that `verify` proves in tests what it proves of real
 * strategies.
 */
import { hashOf } from '../../src/domain/values/hash.js'
import type { CheckRequest } from '../../src/ports/request-check.js'
import { checkRequest } from '../../src/summarizers/check-request.js'

export const checkScripted: CheckRequest = (events, job, template) => {
  const { strategy, provider, model, parameters, requestHash } = events
  if (strategy !== 'scripted') return checkRequest(events, job, template)
  const request =
    job.kind === 'chunk'
      ? { messages: job.messages.map(({ messageId }) => messageId), existingSummary: job.existingSummary }
      : { summaries: job.summaries.map(({ text }) => text) }
  // As with a model that takes no temperature: what is recorded does not tell which one was asked for.
  return hashOf({ strategy, provider, model, parameters: { ...parameters, temperature: job.temperature }, request }) ===
    requestHash
    ? 'same'
    : 'other'
}
