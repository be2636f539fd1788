/**
 * What we need from a language model: a prompt to text, or a named failure. It promises:
 * - an answer is whole (the model ended it by itself) and not blank; anything else is a failure;
 * - `complete` never throws and never waits longer than its time-out, retries included in the number that was
 * configured;
 * - `parameters` is pure and tells exactly what goes to the model beside the prompt, so that it can be recorded and
 * hashed.
 */
import type { taskEither as TE } from 'fp-ts'
import type { ChatMessage } from '../domain/values/chat-message.js'
import type { SummarizerFailureKind } from './summarizer.js'

export interface LanguageModelRequest {
  /** What stands in front of the prompt, as it stood in a request before: a provider's cache may have it. */
  readonly messages?: readonly ChatMessage[]
  /** The tools of that request, which stand in front of its messages. The model is told to call none. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[]
  readonly prompt: string
  /** Instructions about the form of the answer, apart from the prompt. */
  readonly system?: string
  readonly temperature: number
  /** Tokens that the answer may have, by the model's own count. */
  readonly maxOutputTokens: number
  /** A JSON schema that the answer has to follow, where the model can be held to one. */
  readonly responseSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
}

export interface LanguageModelAnswer {
  readonly text: string
  readonly responseId?: string
  /** `cachedTokens` are those of the prompt that the provider had in its cache, where it tells. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number; readonly cachedTokens?: number }
}

/** The ways to fail are the summarizer's, but for those that only it can see. */
export interface LanguageModelFailure {
  readonly kind: 'LanguageModelFailed'
  readonly failure: Exclude<SummarizerFailureKind, 'over-long' | 'threw' | 'limit-reached'>
  readonly detail: string
  readonly retryAfterMs?: number
  /** The request went out, or may have, and what came of it is not known. */
  readonly mayBePaid?: true
}

export interface LanguageModel {
  readonly provider: string
  readonly model: string
  readonly windowTokens: number
  /** What goes to the model beside the prompt. */
  parameters(request: LanguageModelRequest): Readonly<Record<string, unknown>>
  complete(
    request: LanguageModelRequest,
    signal?: AbortSignal,
  ): TE.TaskEither<LanguageModelFailure, LanguageModelAnswer>
}
