/**
 * A review: a model reads the words of the user and the calls of a conversation, and code checks what it says. Messages
 * that an earlier review with the same prompt has read are not sent again.
 */
import { either as E } from 'fp-ts'
import type { EventData } from '../../domain/events/index.js'
import type { ReviewProgress, Rule } from '../../domain/rules/rule.js'
import type { LanguageModel, LanguageModelFailure } from '../../ports/language-model.js'
import type { Log } from '../recording/load-conversation.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { reviewPrompt } from './review-prompt.js'
import { partsOf, reviewRequest, type ReviewPart } from './review-request.js'
import { readReview, type ReadReview } from './review-answer.js'
import { ruleOf, statedAt } from './find-rules.js'
import { readRules } from './rule-fold.js'
import { textWithRules } from './reviews.js'

type Review = EventData<'RulesReviewed'>
type Usage = NonNullable<Review['reviewer']['usage']>

/** The model did not give a review. */
export interface ReviewFailed {
  readonly kind: 'ReviewFailed'
  readonly failure: LanguageModelFailure['failure']
  readonly detail: string
}

/** The requests of one review. */
class Reviewing {
  #usage: Usage | undefined
  #requests = 0
  #rejected = 0
  readonly #startedAt = performance.now()

  constructor(
    private readonly model: LanguageModel,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async read(part: ReviewPart, rules: readonly Rule[]): Promise<E.Either<ReviewFailed, ReadReview>> {
    const request = reviewRequest(part, rules)
    const answer = await this.model.complete(request, this.signal)()
    this.#requests += 1
    const { usage } = E.isRight(answer) ? answer.right : (answer.left.answer ?? {})
    if (usage !== undefined) this.#usage = sumOf(this.#usage, usage)
    if (E.isLeft(answer)) return failed(answer.left.failure, answer.left.detail)
    const review = readReview(answer.right.text, part.messages, rules)
    if (review === undefined) return failed('malformed', 'the answer is not in the form of a review')
    this.#rejected += review.rejected
    return E.right(review)
  }

  get reviewer(): Review['reviewer'] {
    const { provider, model } = this.model
    return {
      provider,
      model,
      parameters: this.model.parameters(reviewRequest({ messages: [], text: '' }, [])),
      prompt: { name: reviewPrompt.name, sha256: reviewPrompt.sha256 },
      requests: this.#requests,
      rejected: this.#rejected,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      durationMs: Math.round(performance.now() - this.#startedAt),
    }
  }
}

const failed = (failure: ReviewFailed['failure'], detail: string): E.Either<ReviewFailed, never> =>
  E.left({ kind: 'ReviewFailed', failure, detail })

const sumOf = (a: Usage | undefined, b: Usage): Usage => ({
  promptTokens: (a?.promptTokens ?? 0) + b.promptTokens,
  completionTokens: (a?.completionTokens ?? 0) + b.completionTokens,
})

/** The rules that a model knows in the next request. */
function withFound(
  rules: readonly Rule[],
  { rules: found, ended }: ReadReview,
  messages: readonly ReportMessage[],
): Rule[] {
  const byRevision = new Map(messages.map((message) => [message.revision, message]))
  const added = found.flatMap(({ id, revision, start, end }): Rule[] => {
    const message = byRevision.get(revision)
    if (message === undefined) return []
    const text = textWithRules(message).slice(start, end)
    const given = { id, text, source: 'statement', standing: 'found', scope: 'conversation' } as const
    return [ruleOf({ ...given, since: statedAt(message) }).rule]
  })
  return [...rules, ...added].map((rule) => {
    const end = ended.find((each) => each.rule === rule.id)
    const message = end === undefined ? undefined : byRevision.get(end.revision)
    return message === undefined ? rule : { ...rule, takenBack: { ...statedAt(message), text: message.ownText } }
  })
}

/** A rule whose words a request has to list: of an earlier review, or by the word of a person. */
const isKnown = ({ source, standing, since }: Rule, from: number): boolean =>
  source === 'added' || standing === 'confirmed' || (since.revision ?? 0) < from

/** Options of a review. */
export interface ReviewOptions {
  readonly model: LanguageModel
  readonly signal?: AbortSignal | undefined
  /** Called after each request. */
  readonly onProgress?: ((progress: ReviewProgress) => void) | undefined
}

/** What a review found, as far as it came. */
export interface ReviewOutcome {
  /** Undefined if no message was read. */
  readonly review?: Review
  /** Why it ended before the last message. */
  readonly failure?: ReviewFailed
}

/** Reviews the messages that no review has read. What was paid for before a failure is part of the outcome. */
export async function reviewRules(
  log: Log,
  conversationId: string,
  { model, signal, onProgress }: ReviewOptions,
): Promise<ReviewOutcome> {
  const { rules: all, messages, revision, reviews, confirmed } = await readRules(log, conversationId, [])
  const from = reviews.last?.reviewer.prompt.sha256 === reviewPrompt.sha256 ? reviews.upTo + 1 : 0
  const parts = partsOf(messages, from, model.windowTokens)
  const reviewing = new Reviewing(model, signal)
  let known = all.map(({ rule }) => rule).filter((rule) => rule.standing !== 'dropped' && isKnown(rule, from))
  const asked = known.map(({ id }) => id)
  // The answer does not repeat them, and the review replaces the one that has their places.
  const kept = reviews.placesOf(confirmed).filter((place) => place.revision >= from)
  const found: ReadReview[] = []
  let upTo = from - 1
  const outcome = (): Pick<ReviewOutcome, 'review'> =>
    found.length === 0
      ? {}
      : {
          review: {
            from,
            upTo,
            known: asked,
            rules: [...kept, ...found.flatMap(({ rules }) => rules)],
            repeated: found.flatMap(({ repeated }) => repeated),
            ended: found.flatMap(({ ended }) => ended),
            breaks: found.flatMap(({ breaks }) => breaks),
            reviewer: reviewing.reviewer,
          },
        }
  for (const [at, part] of parts.entries()) {
    const read = await reviewing.read(part, known)
    if (E.isLeft(read)) return { ...outcome(), failure: read.left }
    found.push(read.right)
    known = withFound(known, read.right, part.messages)
    upTo = at === parts.length - 1 ? revision : (part.messages.at(-1)?.revision ?? upTo)
    onProgress?.({ done: at + 1, of: parts.length })
  }
  return outcome()
}
