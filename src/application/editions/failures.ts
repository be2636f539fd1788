/** Error messages for editions that cannot be made, compared, adopted or dropped. */
import { runSentences } from '../compaction/failures.js'
import { didYouMean } from '../../domain/text/known-names.js'
import { sentenceOf, type Sentences } from '../../domain/values/failure-sentences.js'
import type { EditionFailure } from './adopt.js'
import type { SkippedConversation } from './compare.js'
import type { CandidateUnfinished } from './evaluate.js'
import type { LanguageModelFailure } from '../../ports/language-model.js'
import type { ReplayFailure } from './replay.js'

/** `nearest`: the edition that may have been meant. */
export type NoSuchEdition = {
  readonly kind: 'NoSuchEdition'
  readonly editionId: string
  readonly conversationId?: string | undefined
  readonly nearest?: string
}

/** A model that an evaluation cannot use. Nothing was bought. */
export type ModelUnusable = {
  /** Unavailable: the endpoint is the cause, and not the request. */
  readonly kind: 'ModelUnusable' | 'ModelUnavailable'
  readonly model: string
  /** Address of the endpoint; undefined for OpenAI's own. */
  readonly baseUrl?: string | undefined
  readonly failure: LanguageModelFailure['failure']
  /** One sentence for people. */
  readonly detail: string
}

/** Failures that the endpoint causes, and not the request. */
const OF_THE_ENDPOINT: ReadonlySet<LanguageModelFailure['failure']> = new Set([
  'unreachable',
  'timeout',
  'rate-limited',
  'malformed',
])

/** The failure of a check of a model. */
export const modelUnusable = (about: Omit<ModelUnusable, 'kind'>): ModelUnusable => ({
  kind: OF_THE_ENDPOINT.has(about.failure) ? 'ModelUnavailable' : 'ModelUnusable',
  ...about,
})

const unusableSentence = (failure: ModelUnusable): string =>
  `the model "${failure.model}"${failure.baseUrl === undefined ? '' : ` at ${failure.baseUrl}`} cannot be used (${failure.failure}): ${failure.detail}. Nothing was bought`

type Unreadable = Extract<ReplayFailure, { readonly kind: 'UnreadableLog' }>

/** Error messages of editions. */
export const editionSentences: Sentences<
  EditionFailure | SkippedConversation | NoSuchEdition | Unreadable | ModelUnusable | CandidateUnfinished
> = {
  ModelUnusable: unusableSentence,
  ModelUnavailable: unusableSentence,
  CandidateHasNoRoom: () => 'the bound on spending has no room for its next call',
  CandidateBusy: () => 'another process is making the same edition',
  CandidateNotTried: () => 'it was not tried',
  NoSuchEdition: (failure) =>
    `there is no edition ${failure.editionId} of ${failure.conversationId === undefined ? 'any conversation' : `"${failure.conversationId}"`}${didYouMean('nearest' in failure ? failure.nearest : undefined)}: \`editions list\` shows the existing ones, \`replay\` makes one`,
  EditionIsDropped: (failure) =>
    `edition ${failure.editionId} of "${failure.conversationId}" was dropped: run the same \`replay\` to continue it`,
  EditionInForce: (failure) =>
    `edition ${failure.editionId} is active in "${failure.conversationId}": revert it with \`editions revert\` before you drop it`,
  EditionNotInForce: (failure) =>
    `edition ${failure.editionId} is not active in "${failure.conversationId}": ${failure.inForce === undefined ? 'the conversation uses its own batches' : `edition ${failure.inForce} is`}`,
  EditionBusy: (failure) =>
    `another process is making edition ${failure.editionId} of "${failure.conversationId}": try again when it has ended`,
  EditionOfAnother(failure) {
    const {
      editionId,
      made: { strategy, provider, model, prompt },
    } = failure
    const by = `${strategy} with ${provider === 'none' ? 'no model' : model}${prompt === undefined ? '' : ` and the prompt ${prompt.name} (${prompt.sha256.slice(0, 12)})`}`
    return `edition ${editionId} of "${failure.conversationId}" needs new summaries to catch up, and was made by ${by}; the current configuration would make edition ${failure.wouldBe}. Use the summarizer, prompt, persona and policy of the \`replay\` that made it`
  },
  EditionUnfinished: (failure) =>
    `edition ${failure.editionId} of "${failure.conversationId}" is not finished, and nothing was activated: ${failure.failure === undefined ? (failure.asked === true ? 'it was stopped' : 'the bound on spending has no room for the next call') : sentenceOf(runSentences, failure.failure)}. Run the same \`replay\` to continue`,
  UnreadableLog: (failure) => failure.detail,
}
