/**
 * A review: a model reads the words of the user and the calls of a conversation, and code checks what it says. Messages
 * that an earlier review with the same prompt has read are not sent again.
 */
import { either as E } from 'fp-ts'
import type { EventData } from '../../domain/events/index.js'
import type { Rule } from '../../domain/rules/rule.js'
import type { LanguageModel } from '../../ports/language-model.js'
import type { Log } from '../recording/load-conversation.js'
import { askReviewer, failed, type ReviewFailed, type ReviewStep } from './ask-reviewer.js'
import { reviewPrompt } from './review-prompt.js'
import { partsOf, reviewRequest, tokensOfPart, type ReviewPart } from './review-request.js'
import { readReview, type ReadReview } from './review-answer.js'
import { readRules } from './rule-fold.js'

type Review = EventData<'RulesReviewed'>

/** A rule whose words a request has to list: of an earlier review, or by the word of a person. */
const isKnown = ({ source, standing, since }: Rule, from: number): boolean =>
  standing !== 'dropped' && (source === 'added' || standing === 'confirmed' || (since.revision ?? 0) < from)

/** A rule as it was before the messages of the review: the model says whether they take it back. */
const endedBefore = ({ takenBack, ...rule }: Rule, from: number): Rule =>
  takenBack === undefined || (takenBack.revision ?? 0) >= from ? rule : { ...rule, takenBack }

/** An answer, and what is recorded of its request. */
interface Answered {
  readonly read: ReadReview
  readonly reviewer: Review['reviewer']
}

/** Asks for a part; undefined if the answer was cut off because the part has too much for one. */
async function ask(
  model: LanguageModel,
  { messages, text }: ReviewPart,
  known: readonly Rule[],
  signal: AbortSignal | undefined,
): Promise<E.Either<ReviewFailed, Answered> | undefined> {
  const answered = await askReviewer(model, reviewRequest(text, known), reviewPrompt, signal)
  if (E.isLeft(answered)) return answered.left.failure === 'cut-off' && messages.length > 1 ? undefined : answered
  const read = readReview(answered.right.text, messages, known)
  if (read === undefined) return failed('malformed', 'the answer is not in the form of a review')
  return E.right({ read, reviewer: { ...answered.right.reviewer, rejected: read.rejected } })
}

/**
 * Reviews the next part of a conversation that no review with this prompt has read. The caller records the review before
 * the next part, so that nothing that was answered is lost.
 * @returns undefined if all messages were read
 */
export async function reviewNextPart(
  log: Log,
  conversationId: string,
  model: LanguageModel,
  signal: AbortSignal | undefined,
): Promise<E.Either<ReviewFailed, ReviewStep | undefined>> {
  const { rules, messages, revision, reviews, confirmed } = await readRules(log, conversationId, [])
  const from = reviews.nextWith(reviewPrompt.sha256)
  const known = rules.map(({ rule }) => endedBefore(rule, from)).filter((rule) => isKnown(rule, from))
  // A part with too much for one answer is halved.
  for (let limit = tokensOfPart(model.windowTokens, known); ; limit = Math.floor(limit / 2)) {
    const [part, ...rest] = partsOf(messages, from, limit)
    if (part === undefined) return E.right(undefined)
    const answered = await ask(model, part, known, signal)
    if (answered === undefined) continue
    if (E.isLeft(answered)) return answered
    const { read, reviewer } = answered.right
    const upTo = rest.length === 0 ? revision : (part.messages.at(-1)?.revision ?? revision)
    // The answer does not repeat confirmed rules, and the review replaces the one that has their places.
    const places = reviews.placesOf(confirmed).filter((rule) => rule.revision >= from && rule.revision <= upTo)
    const { repeated, ended, breaks } = read
    const review = {
      ...(reviews.revision < 0 ? {} : { previous: reviews.revision }),
      from,
      upTo,
      known: known.map(({ id }) => id),
      rules: [...places, ...read.rules],
      repeated,
      ended,
      breaks,
      reviewer,
    }
    return E.right({ review, left: rest.length })
  }
}
