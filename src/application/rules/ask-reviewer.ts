/** Requests of a review, and what is recorded of each. */
import { either as E } from 'fp-ts'
import type { EventData } from '../../domain/events/index.js'
import type { LanguageModel, LanguageModelFailure, LanguageModelRequest } from '../../ports/language-model.js'

type Review = EventData<'RulesReviewed'>

/** The model did not give a review. */
export interface ReviewFailed {
  readonly kind: 'ReviewFailed'
  readonly failure: LanguageModelFailure['failure']
  readonly detail: string
}

/** The result of one request. */
export interface ReviewStep {
  readonly review: Review
  /** Requests that are left. */
  readonly left: number
}

/** An answer, and what is recorded of it. */
interface Answered {
  readonly text: string
  readonly reviewer: Omit<Review['reviewer'], 'rejected'>
}

export const failed = (failure: ReviewFailed['failure'], detail: string): E.Either<ReviewFailed, never> =>
  E.left({ kind: 'ReviewFailed', failure, detail })

/** Asks the model. */
export async function askReviewer(
  model: LanguageModel,
  request: LanguageModelRequest,
  prompt: Review['reviewer']['prompt'],
  signal: AbortSignal | undefined,
): Promise<E.Either<ReviewFailed, Answered>> {
  const startedAt = performance.now()
  const answer = await model.complete(request, signal)()
  if (E.isLeft(answer)) return failed(answer.left.failure, answer.left.detail)
  const { text, usage } = answer.right
  return E.right({
    text,
    reviewer: {
      provider: model.provider,
      model: model.model,
      parameters: model.parameters(request),
      prompt: { name: prompt.name, sha256: prompt.sha256 },
      ...(usage === undefined
        ? {}
        : { usage: { promptTokens: usage.promptTokens, completionTokens: usage.completionTokens } }),
      durationMs: Math.round(performance.now() - startedAt),
    },
  })
}
