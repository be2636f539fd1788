/** Messages for failures of stores and models. */
import type { Sentences } from '../domain/values/failure-sentences.js'
import type { EmbeddingFailure } from './embedding-model.js'
import type { AppendFailure } from './event-store.js'
import type { SummarizerFailure } from './summarizer.js'

/** A fault and a sentence for each kind of failure. */
export const portSentences: Sentences<AppendFailure | SummarizerFailure | EmbeddingFailure> = {
  RevisionConflict: (failure) => `other writers changed ${failure.stream} at every attempt`,
  IdsRecorded: (failure) =>
    `${failure.stream} already has events with these ids, but with other content: ${failure.ids.join(', ')}`,
  StoreUnavailable: (failure) => `the store does not answer: ${failure.detail}`,
  AppendRefused: (failure) => `the store refuses the events: ${failure.detail}`,
  StoreRefused: (failure) => `the store refuses the append: ${failure.detail}`,
  EmbeddingFailed: (failure) => `the embedding model failed: ${failure.detail}`,
  SummarizerFailed: (failure) => `the summarizer failed (${failure.failure}): ${failure.detail}`,
}
