/**
 * Asks an endpoint if it has a model, before anything is bought from it. The adapter reads the endpoint's list of models.
 * If the endpoint has no list, the adapter sends one request of a few tokens. It never throws.
 */
import type { LanguageModelFailure } from './language-model.js'

/** A model, and the endpoint that runs it. */
export interface ModelEndpoint {
  readonly model: string
  /** Default: OpenAI's own. */
  readonly baseUrl?: string | undefined
  readonly apiKey?: string | undefined
  /** Milliseconds that one request may take. */
  readonly timeoutMs?: number | undefined
}

export type ModelCheck =
  /** `list`: the endpoint's list names the model. `request`: the endpoint has no list, and the model answered. */
  | { readonly kind: 'usable'; readonly by: 'list' | 'request' }
  | {
      readonly kind: 'unusable'
      readonly failure: LanguageModelFailure['failure']
      /** One sentence for people. */
      readonly detail: string
    }

export type CheckModel = (endpoint: ModelEndpoint, signal?: AbortSignal) => Promise<ModelCheck>
