/**
 * The view of the compacted messages, as configured in the policy: parts that can be shortened one by one, the text,
 * and its tokens.
 */
import type { Batch } from './batch.js'
import { clipArchiveParts3 } from './clip-archive-3.js'
import { clipArchiveParts, joinParts, type ViewPart } from './clip-archive.js'
import type { Configuration } from '../events/index.js'
import { contentText, type MessageBody } from '../values/message.js'
import { sessionSummaryParts3 } from './session-summary-3.js'
import { sessionSummaryParts } from './session-summary.js'
import { workingStateParts } from './working-state-view.js'
import { viewTokens } from '../values/policy.js'
import { ROLE_TOKENS, type FindEstimator } from '../values/tokens.js'

export interface View {
  readonly parts: readonly ViewPart[]
  readonly text: string
  /** Tokens of the view as a system message. */
  readonly tokens: number
}

/** The parts of the state that a view depends on. */
export interface ViewState {
  readonly configuration: Configuration | undefined
  readonly findEstimator: FindEstimator
  readonly visibleBatches: readonly Batch[]
  readonly messagesCompressed: number
  readonly cycles: number
  readonly originalTask: MessageBody | undefined
}

/**
 * Renders the view of a conversation; undefined if nothing was compacted.
 * @param name which view; default: the configured one
 */
export function renderView(state: ViewState, name = state.configuration?.policy.view): View | undefined {
  const { configuration, visibleBatches } = state
  if (configuration === undefined || visibleBatches.length === 0) return undefined
  const { policy } = configuration
  const estimator = state.findEstimator(configuration.estimator)
  const isOlder = configuration.rendererVersion < 4
  const maxTokens = viewTokens(policy)
  const parts =
    name === 'working-state'
      ? workingStateParts(visibleBatches, state, maxTokens, estimator)
      : name === 'session-summary'
        ? (isOlder ? sessionSummaryParts3 : sessionSummaryParts)(
            {
              batches: visibleBatches,
              originalTask: state.originalTask === undefined ? undefined : contentText(state.originalTask.content),
              cycles: state.cycles,
            },
            maxTokens,
            estimator,
          )
        : (isOlder ? clipArchiveParts3 : clipArchiveParts)(
            { batches: visibleBatches, messagesCompressed: state.messagesCompressed, cycles: state.cycles },
            policy,
          )
  const text = joinParts(parts)
  return { parts, text, tokens: ROLE_TOKENS + estimator.text(text) }
}
