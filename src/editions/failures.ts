/** What is said where an edition cannot be made, compared, put into force or given up. */
import { runSentences } from '../compaction/failures.js'
import { didYouMean } from '../domain/text/known-names.js'
import { sentenceOf, type Sentences } from '../domain/values/failure-sentences.js'
import type { EditionFailure } from './adopt.js'
import type { SkippedConversation } from './compare.js'
import type { ReplayFailure } from './replay.js'

/** `nearest`: the edition that may have been meant. */
export type NoSuchEdition = {
  readonly kind: 'NoSuchEdition'
  readonly editionId: string
  readonly conversationId?: string | undefined
  readonly nearest?: string
}

type Unreadable = Extract<ReplayFailure, { readonly kind: 'UnreadableLog' }>

/** The sentences of editions. */
export const editionSentences: Sentences<EditionFailure | SkippedConversation | NoSuchEdition | Unreadable> = {
  NoSuchEdition: (failure) => [
    'input',
    `there is no edition ${failure.editionId} of ${failure.conversationId === undefined ? 'any conversation' : `"${failure.conversationId}"`}${didYouMean('nearest' in failure ? failure.nearest : undefined)}: \`replay\` makes one, and \`editions list\` shows those that are there`,
  ],
  EditionIsDropped: (failure) => [
    'state',
    `edition ${failure.editionId} of "${failure.conversationId}" was dropped: the same \`replay\` takes it up again`,
  ],
  EditionInForce: (failure) => [
    'state',
    `edition ${failure.editionId} is in force in "${failure.conversationId}": \`editions revert\` puts back what it replaced, and then it can be dropped`,
  ],
  EditionNotInForce: (failure) => [
    'state',
    `edition ${failure.editionId} is not in force in "${failure.conversationId}": ${failure.inForce === undefined ? 'the conversation goes by its own batches' : `edition ${failure.inForce} is`}`,
  ],
  EditionBusy: (failure) => [
    'world',
    `another process is making edition ${failure.editionId} of "${failure.conversationId}": try again when it has ended`,
  ],
  EditionOfAnother(failure) {
    const {
      editionId,
      made: { strategy, provider, model, prompt },
    } = failure
    const by = `${strategy} with ${provider === 'none' ? 'no model' : model}${prompt === undefined ? '' : ` and the prompt ${prompt.name} (${prompt.sha256.slice(0, 12)})`}`
    return [
      'input',
      `edition ${editionId} of "${failure.conversationId}" has messages to catch up with that want a summary, and was made by ${by}; what is configured now would make edition ${failure.wouldBe}. Give the same summarizer, prompt, persona and policy as to the \`replay\` that made it`,
    ]
  },
  EditionUnfinished: (failure) => [
    'world',
    `edition ${failure.editionId} of "${failure.conversationId}" is not finished, and nothing was put into force: ${failure.failure === undefined ? (failure.asked === true ? 'it was asked to stop' : 'there is no room in the bound on spending') : sentenceOf(runSentences, failure.failure)[1]}. The same \`replay\` goes on where it ended`,
  ],
  UnreadableLog: (failure) => ['data', failure.detail],
}
