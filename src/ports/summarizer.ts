/**
 * What we need from whoever summarizes: a request that can be named before it is paid for, and the answer or a named
 * failure.
 *
 * `prepare` is pure. Its `requestHash` covers strategy, provider, model, parameters and the exact request, so a summary
 * that was recorded is found again by it, and one that was made by another prompt or model is never taken for it.
 */
import type { taskEither as TE } from 'fp-ts'
import type { ChatMessage } from '../domain/values/chat-message.js'
import type { Sections } from '../domain/events/index.js'
import type { MessageBody } from '../domain/values/message.js'

/** A message to summarize, with what a prompt may say of it. */
export interface MessageToSummarize extends MessageBody {
  /** Its id in the log. */
  readonly messageId: string
  /** When it was said, ISO 8601 in UTC. */
  readonly createdAt: string
  /** What the host keeps beside the message; never sent to a model. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
}

/** A summary that already is, as background or as something to condense. */
export interface SummaryToFold {
  /** The summary. */
  readonly text: string
  /** When its first message was said, ISO 8601. */
  readonly startTime: string
  /** When its last message was said, ISO 8601. */
  readonly endTime: string
  /** Messages that it covers. */
  readonly messageCount: number
  /** 0 for one of messages, 1 and more for one of summaries. */
  readonly depth: number
  /** Its named sections, where there are any. */
  readonly sections?: Sections | undefined
}

/** What is to be summarized: a chunk of messages, or batches that become one. */
export type SummaryJob = {
  /** Tokens that the summary may have, by our estimator. */
  readonly maxSummaryTokens: number
  readonly temperature: number
  readonly persona: string
} & (
  | {
      readonly kind: 'chunk'
      readonly messages: readonly MessageToSummarize[]
      /** The summary of the chunk before: background, not to be repeated. */
      readonly existingSummary: string | undefined
      /**
       * The beginning of the context that the agent's last request had, up to the last of these messages. Only for a
       * summarizer that `ridesPrefix`, and where the context shows them whole.
       */
      readonly prefix?: readonly ChatMessage[]
    }
  | { readonly kind: 'resummarize'; readonly summaries: readonly SummaryToFold[] }
)

/** Everything that decides what the answer will be. */
export interface PreparedSummary {
  /** What was asked for. */
  readonly job: SummaryJob
  /** How it is summarized; recorded. */
  readonly strategy: string
  /** Who runs the model; recorded. */
  readonly provider: string
  /** The model's name; recorded. */
  readonly model: string
  /** Everything else that the answer depends on; recorded. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** The template as it was registered, and the persona where there is one. */
  readonly prompt: { readonly name: string; readonly sha256: string; readonly text: string }
  /** The text that the prompt speaks as, with its SHA-256 (hex). */
  readonly persona?: { readonly sha256: string; readonly text: string }
  /** Version of the rule that writes messages as text. */
  readonly formatterVersion: number
  /** SHA-256 (hex) of all that the answer depends on. The same hash is never paid for twice. */
  readonly requestHash: string
  /** The exact request that goes to the model; for a strategy without a model, its input. */
  readonly request: unknown
}

/** An answer that is paid for: its text, and what it took in tokens and milliseconds. */
export interface Summary {
  /** Not empty, at most `maxSummaryTokens` by our estimator. */
  readonly text: string
  /** The named sections, where the strategy gives them. */
  readonly sections?: Sections
  /** The id that the provider gave its answer. */
  readonly responseId?: string
  /** Tokens that the provider says it took. */
  readonly usage?: {
    readonly promptTokens: number
    readonly completionTokens: number
    /** Those of the prompt that the provider had in its cache, where it tells. */
    readonly cachedTokens?: number
  }
  /** How long it took, in milliseconds. */
  readonly durationMs: number
}

/** The ways in which a summarizer fails. */
export const summarizerFailureKinds = [
  'unreachable',
  'timeout',
  'rate-limited',
  'unauthorized',
  'unknown-model',
  'request-rejected',
  /** The request does not fit the model's window; smaller chunks may. */
  'request-too-large',
  'empty',
  'refused',
  'cut-off',
  'over-long',
  'malformed',
  /** A summarizer of somebody's own threw. */
  'threw',
  /** A limit on what may be spent, in tokens; the summarizer was not asked. */
  'limit-reached',
] as const
export type SummarizerFailureKind = (typeof summarizerFailureKinds)[number]

/** Why there is no summary. `retryAfterMs` is in milliseconds. */
export interface SummarizerFailure {
  /** Always `SummarizerFailed`. */
  readonly kind: 'SummarizerFailed'
  /** What went wrong, in one word. */
  readonly failure: SummarizerFailureKind
  /** One sentence for people; never a key. */
  readonly detail: string
  /** Where the other side said when to come back. */
  readonly retryAfterMs?: number
  /**
   * True where the call may have to be paid for, though one that fails like this mostly costs nothing: a connection
   * that broke behind the request.
   */
  readonly mayBePaid?: true
}

/** Who summarizes: `prepare` names a request, `summarize` asks it and never rejects. */
export interface Summarizer {
  /** How it summarizes; recorded with each summary. */
  readonly strategy: string
  /** Who runs the model; recorded. */
  readonly provider: string
  /** The model's name; recorded. */
  readonly model: string
  /** What its window takes, in tokens; decides how large a chunk may be. */
  readonly windowTokens: number
  /** True for one whose jobs come with the beginning of the agent's context. */
  readonly ridesPrefix?: boolean
  /** Makes the request and its hash. Pure: it asks nobody. */
  prepare(job: SummaryJob): PreparedSummary
  /** Asks for the summary. What goes wrong is a `Left`; the signal ends a request that nobody waits for any more. */
  summarize(prepared: PreparedSummary, signal?: AbortSignal): TE.TaskEither<SummarizerFailure, Summary>
}
