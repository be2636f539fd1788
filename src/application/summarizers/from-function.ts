/** A summarizer that is one function of the host: messages in, a text out. */
import { FUNCTION_STRATEGY } from '../../domain/events/summarizer-record.js'
import type { ChatMessage } from '../../domain/values/chat-message.js'
import { hashOf, sha256 } from '../../domain/values/hash.js'
import { toChatMessage } from '../../domain/values/message.js'
import { DEFAULT_WINDOW_TOKENS } from '../../domain/values/model-windows.js'
import type { Summarizer, SummaryJob } from '../../ports/summarizer.js'

/**
 * Summarizes messages; of summaries that become one, each is a message. The limit of its text is `maxSummaryTokens` of
 * the policy: up to a quarter more is accepted, and a longer text is shortened to the limit. An empty text, a refusal,
 * an error that it throws, and no answer within ten minutes are failures. `signal` aborts if the answer is no longer
 * needed.
 */
export type SummarizeMessages = (messages: readonly ChatMessage[], signal?: AbortSignal) => Promise<string>

const messagesOf = (job: SummaryJob): ChatMessage[] =>
  job.kind === 'chunk'
    ? job.messages.map(toChatMessage)
    : job.summaries.map(({ text }): ChatMessage => ({ role: 'user', content: text }))

/**
 * Creates the summarizer. Recorded summaries are reused as long as the function's own source is the same; functions
 * that it calls are not checked.
 */
export function createSummarizerFrom(summarize: SummarizeMessages): Summarizer {
  const events = {
    strategy: FUNCTION_STRATEGY,
    provider: 'own',
    model: summarize.name === '' ? 'function' : summarize.name,
  }
  const source = sha256(summarize.toString())
  const text = `A function of the host's own: ${events.model}`
  return {
    ...events,
    windowTokens: DEFAULT_WINDOW_TOKENS,
    prepare(job) {
      const parameters = { source, maxSummaryTokens: job.maxSummaryTokens }
      const request = messagesOf(job)
      return {
        job,
        ...events,
        parameters,
        prompt: { name: events.model, sha256: sha256(text), text },
        formatterVersion: 1,
        requestHash: hashOf({ ...events, parameters, request }),
        request,
      }
    },
    summarize: async ({ job }, signal) => {
      const started = performance.now()
      const answer = await summarize(messagesOf(job), signal)
      return { text: answer, durationMs: Math.round(performance.now() - started) }
    },
  }
}
