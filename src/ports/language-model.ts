/**
 * The language model that the ledger needs: it answers a prompt with text or a named failure. Contract:
 * - an answer is complete (the model itself ended it) and not blank; otherwise the result is a failure, with the text
 * that was paid for, if there is any;
 * - `complete` never throws, and none of its requests takes longer than the time limit;
 * - `complete` repeats a request only if it can succeed: never after a timeout, and at most once if it may have been
 * paid for;
 * - `parameters` is pure and returns everything that is sent to the model in addition to the prompt, so that it can be
 * recorded and hashed.
 */
import type { taskEither as TE } from 'fp-ts'
import type { ChatMessage } from '../domain/values/chat-message.js'
import type { SummarizerFailureKind } from './summarizer.js'

export interface LanguageModelRequest {
  /** Messages before the prompt, identical to those of an earlier request, so that the provider's cache can have them. */
  readonly messages?: readonly ChatMessage[]
  /** The tools of that earlier request, which precede its messages. The request forbids calling them. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[]
  readonly prompt: string
  /** Instructions about the form of the answer, apart from the prompt. */
  readonly system?: string
  readonly temperature: number
  /** Maximum tokens of the answer, counted by the model. */
  readonly maxOutputTokens: number
  /** A JSON schema for the answer, if the model supports one. */
  readonly responseSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
}

export interface LanguageModelAnswer {
  readonly text: string
  readonly responseId?: string
  /** `cachedTokens`: prompt tokens that the provider read from its cache, if it reports them. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number; readonly cachedTokens?: number }
}

/** The failure kinds of the summarizer, except those that only the summarizer can detect. */
export interface LanguageModelFailure {
  readonly kind: 'LanguageModelFailed'
  readonly failure: Exclude<SummarizerFailureKind, 'over-long' | 'threw' | 'limit-reached'>
  readonly detail: string
  readonly retryAfterMs?: number
  /** True if the request was or may have been sent and its result is unknown. */
  readonly mayBePaid?: true
  /** How often the request was sent and may have been paid for, if more than once. */
  readonly timesSent?: number
  /**
   * The answer of the model although this is a failure: a text that was cut off, refused or malformed, so that a caller
   * can keep what was paid for. Its text is empty if there is only a usage.
   */
  readonly answer?: LanguageModelAnswer
}

export interface LanguageModel {
  readonly provider: string
  readonly model: string
  readonly windowTokens: number
  /** How long one request may take, in milliseconds, if there is a limit. */
  readonly timeoutMs?: number
  /** Everything that is sent to the model in addition to the prompt. */
  parameters(request: LanguageModelRequest): Readonly<Record<string, unknown>>
  complete(
    request: LanguageModelRequest,
    signal?: AbortSignal,
  ): TE.TaskEither<LanguageModelFailure, LanguageModelAnswer>
}
