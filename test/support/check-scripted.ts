/**
 * Makes the requests of the scripted summarizer again, so that `verify` proves in tests what it proves of real
 * strategies.
 */
import { hashOf } from '../../src/domain/values/hash.js'
import type { CheckRequest } from '../../src/ports/request-check.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'

export const checkScripted: CheckRequest = (events, job, template) => {
  const { strategy, provider, model, parameters, requestHash } = events
  if (strategy !== 'scripted') return checkRequest(events, job, template)
  const request =
    job.kind === 'chunk'
      ? { messages: job.messages.map(({ messageId }) => messageId), existingSummary: job.existingSummary }
      : { summaries: job.summaries.map(({ text }) => text) }
  // As with a model without a temperature setting: the record does not contain the requested temperature.
  return hashOf({ strategy, provider, model, parameters: { ...parameters, temperature: job.temperature }, request }) ===
    requestHash
    ? 'same'
    : 'other'
}
