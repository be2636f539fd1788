/** Converts text to vectors, for the search by meaning. Optional: without one, search uses full text only. */
import type { taskEither as TE } from 'fp-ts'

export type EmbeddingFailure = { readonly kind: 'EmbeddingFailed'; readonly detail: string }

export interface EmbeddingModel {
  /** Name of the model. Vectors are stored under this name and the hash of their text. */
  readonly model: string
  /** One vector for each text, in the same order, all of the same length. Cancelled when `signal` aborts. */
  embed(texts: readonly string[], signal?: AbortSignal): TE.TaskEither<EmbeddingFailure, readonly (readonly number[])[]>
}
