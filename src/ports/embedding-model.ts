/** Text to vectors, for the search that goes by meaning. Optional: without one, search is full text alone. */
import type { taskEither as TE } from 'fp-ts'

export type EmbeddingFailure = { readonly kind: 'EmbeddingFailed'; readonly detail: string }

export interface EmbeddingModel {
  /** Name of the model; vectors are kept under it and the hash of their text. */
  readonly model: string
  /** One vector a text, in the same order, all of the same length. Given up where `signal` aborts. */
  embed(texts: readonly string[], signal?: AbortSignal): TE.TaskEither<EmbeddingFailure, readonly (readonly number[])[]>
}
