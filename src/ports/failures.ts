/** What is said where a store or a model says no. */
import type { Sentences } from '../domain/values/failure-sentences.js'
import type { EmbeddingFailure } from './embedding-model.js'
import type { AppendFailure } from './event-store.js'
import type { SummarizerFailure } from './summarizer.js'

/** The sentences of stores and models. */
export const portSentences: Sentences<AppendFailure | SummarizerFailure | EmbeddingFailure> = {
  RevisionConflict: (failure) => ['world', `${failure.stream} was changed by others at every attempt`],
  IdsRecorded: (failure) => [
    'input',
    `${failure.stream} has these events already, with other content: ${failure.ids.join(', ')}`,
  ],
  StoreUnavailable: (failure) => ['world', `the store does not answer: ${failure.detail}`],
  AppendRefused: (failure) => ['input', `the store refuses this: ${failure.detail}`],
  EmbeddingFailed: (failure) => ['world', `the embedding model failed: ${failure.detail}`],
  SummarizerFailed: (failure) => ['world', `the summarizer failed (${failure.failure}): ${failure.detail}`],
}
