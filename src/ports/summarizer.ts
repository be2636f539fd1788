/**
 * The summarizer that the ledger needs: it identifies a request before it is paid for, and returns a summary or a named
 * failure.
 *
 * `prepare` is pure. Its `requestHash` covers strategy, provider, model, parameters and the exact request. So a recorded
 * summary is found by its hash, and is never confused with one from another prompt or model.
 */
import type { ChatMessage } from '../domain/values/chat-message.js'
import type { RejectedOperation, Sections, StateOperation, WorkingState } from '../domain/events/index.js'
import type { MessageBody } from '../domain/values/message.js'

/** A message to summarize, with the fields that a prompt can contain. */
export interface MessageToSummarize extends MessageBody {
  /** Its id in the log. */
  readonly messageId: string
  /** Its revision in the log. */
  readonly revision: number
  /** Time of the message, ISO 8601 in UTC. */
  readonly createdAt: string
  /** The host's own data about the message; never sent to a model. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
}

/** An existing summary, as background or to be condensed. */
export interface SummaryToFold {
  /** The summary. */
  readonly text: string
  /** Time of its first message, ISO 8601. */
  readonly startTime: string
  /** Time of its last message, ISO 8601. */
  readonly endTime: string
  /** Messages that it covers. */
  readonly messageCount: number
  /** 0 for one of messages, 1 and more for one of summaries. */
  readonly depth: number
  /** Its named sections, if it has any. */
  readonly sections?: Sections | undefined
}

/** The input of a summary: a chunk of messages, or batches that become one. */
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
      /** The working state before these messages: the items that they may change. Absent if there is none. */
      readonly workingState?: WorkingState | undefined
      /**
       * The beginning of the context of the agent's last request, up to the last of these messages. Only for a
       * summarizer with `ridesPrefix`, and only if the context contains these messages unshortened.
       */
      readonly prefix?: readonly ChatMessage[]
    }
  | {
      readonly kind: 'resummarize'
      readonly summaries: readonly SummaryToFold[]
      /** The summary of the batch before the first of them, as background; undefined if there is none. */
      readonly existingSummary?: string | undefined
    }
)

/** Everything that the answer depends on. */
export interface PreparedSummary {
  /** The job that was prepared. */
  readonly job: SummaryJob
  /** The strategy; recorded. */
  readonly strategy: string
  /** The provider of the model; recorded. */
  readonly provider: string
  /** The model's name; recorded. */
  readonly model: string
  /** Other values that the answer depends on; recorded. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** The template as it was registered, and the persona where there is one. */
  readonly prompt: { readonly name: string; readonly sha256: string; readonly text: string }
  /** The text that the prompt speaks as, with its SHA-256 (hex). */
  readonly persona?: { readonly sha256: string; readonly text: string }
  /** Version of the rule that writes messages as text. */
  readonly formatterVersion: number
  /** SHA-256 (hex) of everything that the answer depends on. The same hash is never paid for twice. */
  readonly requestHash: string
  /** The exact request that goes to the model; for a strategy without a model, its input. */
  readonly request: unknown
  /** Present on a second request for the same job: the rejected answer, and the reason. */
  readonly rejected?: { readonly failure: SummarizerFailureKind; readonly detail: string; readonly text: string }
}

/** An answer of a model: its text, with the tokens and milliseconds that it took. */
export interface PaidAnswer {
  /** The whole text; empty if there was none. */
  readonly text: string
  readonly responseId?: string
  readonly usage?: Summary['usage']
  readonly durationMs: number
}

/** A summary: its text, with the tokens and milliseconds that it took. */
export interface Summary {
  /** Not empty; at most `maxSummaryTokens` by our estimator, or a quarter more if `overLimit` says so. */
  readonly text: string
  /** The named sections, if the strategy produces them. */
  readonly sections?: Sections
  /** The changes of the working state, each checked against the messages, if the strategy asks for them. */
  readonly operations?: readonly StateOperation[]
  /** Changes that the model asked for and that do not follow from the messages. */
  readonly rejectedOperations?: readonly RejectedOperation[]
  /** The provider's id of the response. */
  readonly responseId?: string
  /** Token usage as reported by the provider. */
  readonly usage?: {
    readonly promptTokens: number
    readonly completionTokens: number
    /** Prompt tokens that the provider read from its cache, if it reports them. */
    readonly cachedTokens?: number
  }
  /** How long it took, in milliseconds. */
  readonly durationMs: number
  /** Present if the text is above `maxSummaryTokens`, by at most a quarter. */
  readonly overLimit?: { readonly tokens: number; readonly limit: number }
  /** Present if the text is the beginning of a longer answer: that answer, and its tokens. */
  readonly shortened?: { readonly tokens: number; readonly limit: number; readonly text: string }
  /** True if sections were requested and the answer is plain text. */
  readonly asPlainText?: true
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
  /** A custom summarizer threw. */
  'threw',
  /** A limit on spending, in tokens, was reached; no request was sent. */
  'limit-reached',
  /** The same request failed twice in a row and may have been paid for; no request was sent. */
  'not-sent-again',
] as const
export type SummarizerFailureKind = (typeof summarizerFailureKinds)[number]

/** Why there is no summary. `retryAfterMs` is in milliseconds. */
export interface SummarizerFailure {
  /** Always `SummarizerFailed`. */
  readonly kind: 'SummarizerFailed'
  /** The kind of failure. */
  readonly failure: SummarizerFailureKind
  /** One sentence for users; never contains a key. */
  readonly detail: string
  /** Present if the provider said when to retry. */
  readonly retryAfterMs?: number
  /**
   * True if the call may have to be paid for although this kind of failure usually costs nothing: the connection broke
   * after the request was sent.
   */
  readonly mayBePaid?: true
  /** How often this request was sent and may have been paid for, if more than once. */
  readonly timesSent?: number
  /** The rejected answer, if the model returned one. It was paid for, and is recorded. */
  readonly answer?: PaidAnswer
}

/** Whether an answer is a failure. */
export const isSummarizerFailure = (answer: Summary | SummarizerFailure): answer is SummarizerFailure =>
  'kind' in answer

/** Summarizes: `prepare` builds a request, `summarize` sends it and returns a summary or a failure. */
export interface Summarizer {
  /** The strategy; recorded with each summary. */
  readonly strategy: string
  /** The provider of the model; recorded. */
  readonly provider: string
  /** The model's name; recorded. */
  readonly model: string
  /** Size of the model's context window in tokens; limits the size of a chunk. */
  readonly windowTokens: number
  /** How long one request may take, in milliseconds, if the summarizer has a limit of its own. */
  readonly timeoutMs?: number | undefined
  /** True if its jobs shall contain the beginning of the agent's context. */
  readonly usesPromptCache?: boolean
  /** Builds the request and its hash. Pure: sends nothing. */
  prepare(job: SummaryJob): PreparedSummary
  /** Requests the summary. The signal cancels the request. An error that it throws is a failure of kind `threw`. */
  summarize(prepared: PreparedSummary, signal?: AbortSignal): Promise<Summary | SummarizerFailure>
  /**
   * The request to send after a rejected answer: it quotes that answer and names its faults.
   * Pure. Undefined if a second request cannot help. A second request has no third.
   */
  prepareRetry?(prepared: PreparedSummary, failure: SummarizerFailure): PreparedSummary | undefined
  /**
   * The best summary that the answers of one job allow after all of them were rejected: a longer one is shortened.
   * Pure. Undefined if none of them holds a summary.
   */
  salvage?(job: SummaryJob, failures: readonly SummarizerFailure[]): Summary | undefined
}
