/** The view of a state, and the tokens of its context if nothing in it has to be shortened. */
import type { Configuration } from '../events/index.js'
import type { Conversation } from './conversation.js'
import type { LiveMessage } from './live-message.js'
import { observedTokens } from './observed.js'
import { beginsWithUser, openingsOf } from './shape.js'
import { addedTokens, leadingShown, unitsOf, unitTokens } from './units.js'
import { renderView } from './view.js'

/** Renders the view and sums the tokens of the context. */
export function withView<State extends Conversation>(state: State): State {
  if (state.observed !== undefined) return { ...state, view: undefined, tokens: observedTokens(state) }
  const view = renderView(state)
  return { ...state, view, tokens: totalTokens({ ...state, view }) }
}

const sumTokens = (messages: readonly LiveMessage[]): number =>
  messages.reduce((sum, message) => sum + message.tokens, 0)

type Counted = Pick<
  Conversation,
  'configuration' | 'findEstimator' | 'leading' | 'retained' | 'window' | 'view' | 'compactedCalls' | 'originalTask'
>

function totalTokens(state: Counted): number {
  const { configuration, leading, retained, window, view } = state
  const live = [...retained, ...window]
  if (configuration === undefined) return sumTokens([...leading, ...live]) + (view?.tokens ?? 0)
  const counted = { ...state, configuration }
  return (
    unitTokens([leading.map((message) => leadingShown(message, counted))]) +
    unitTokens(unitsOf(live, counted).units) +
    openingTokens(counted) +
    (view?.tokens ?? 0)
  )
}

/** Tokens of the user message that the context begins with, if it inserts one. */
function openingTokens(state: Counted & { readonly configuration: Configuration }): number {
  const [first] = state.retained.length > 0 ? state.retained : state.window
  if (first !== undefined && beginsWithUser(first, state.configuration)) return 0
  return openingsOf(state, state.findEstimator(state.configuration.estimator))[0]?.tokens ?? 0
}

/** The tokens that a leading message adds to the context. */
export function leadingTokensAddedBy({ configuration, findEstimator }: Counted, message: LiveMessage): number {
  return configuration === undefined ? message.tokens : leadingShown(message, { configuration, findEstimator }).tokens
}

/** The tokens that a message adds to the context. */
export function tokensAddedBy(state: Conversation, message: LiveMessage): number {
  if (state.observed !== undefined) return message.tokens
  const { configuration, retained, window } = state
  if (configuration === undefined) return message.tokens
  const added = addedTokens([retained, window], message, { ...state, configuration })
  if (retained.length + window.length > 0) return added
  // Only the first message decides whether a user message is inserted before it.
  const before = openingTokens({ ...state, configuration })
  return added + openingTokens({ ...state, configuration, window: [message] }) - before
}
