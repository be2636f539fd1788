/**
 * The view of what was compacted, as the policy wants it: parts that can be shortened one by one, the text, its tokens.
 */
import type { Batch } from './batch.js'
import { clipArchiveParts, joinParts, type ViewPart } from './clip-archive.js'
import type { Configuration } from '../events/index.js'
import { contentText, type MessageBody } from '../values/message.js'
import { sessionSummaryParts } from './session-summary.js'
import { ROLE_TOKENS, type FindEstimator } from '../values/tokens.js'

export interface View {
  readonly parts: readonly ViewPart[]
  readonly text: string
  /** Tokens of the system message that it is. */
  readonly tokens: number
}

/** What a view is made of. */
export interface ViewState {
  readonly configuration: Configuration | undefined
  readonly findEstimator: FindEstimator
  readonly visibleBatches: readonly Batch[]
  readonly messagesCompressed: number
  readonly cycles: number
  readonly originalTask: MessageBody | undefined
}

/**
 * The view of a conversation; undefined where nothing was compacted.
 * @param name which view; by default the one of the policy
 */
export function renderView(state: ViewState, name = state.configuration?.policy.view): View | undefined {
  const { configuration, visibleBatches } = state
  if (configuration === undefined || visibleBatches.length === 0) return undefined
  const { policy } = configuration
  const estimator = state.findEstimator(configuration.estimator)
  const parts =
    name === 'session-summary'
      ? sessionSummaryParts(
          {
            batches: visibleBatches,
            originalTask: state.originalTask === undefined ? undefined : contentText(state.originalTask.content),
            cycles: state.cycles,
          },
          (policy.clipFirst + policy.clipMiddle + policy.clipLast) * policy.maxSummaryTokens,
          estimator,
        )
      : clipArchiveParts(
          { batches: visibleBatches, messagesCompressed: state.messagesCompressed, cycles: state.cycles },
          policy,
        )
  const text = joinParts(parts)
  return { parts, text, tokens: ROLE_TOKENS + estimator.text(text) }
}
