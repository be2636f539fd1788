/** The view of a state, and the tokens of its context while nothing of it has to be shortened. */
import type { Conversation } from './conversation.js'
import type { LiveMessage } from './live-message.js'
import { observedTokens } from './observed.js'
import { addedTokens, renderedTokens } from './placeholders.js'
import { renderView } from './view.js'

/** Renders the view anew and sums the tokens. */
export function withView<State extends Conversation>(state: State): State {
  if (state.observed !== undefined) return { ...state, view: undefined, tokens: observedTokens(state) }
  const view = renderView(state)
  return { ...state, view, tokens: totalTokens({ ...state, view }) }
}

const sumTokens = (messages: readonly LiveMessage[]): number =>
  messages.reduce((sum, message) => sum + message.tokens, 0)

function totalTokens(
  state: Pick<
    Conversation,
    'configuration' | 'findEstimator' | 'leading' | 'retained' | 'window' | 'view' | 'compactedCalls'
  >,
): number {
  const { configuration, leading, retained, window, view } = state
  const live = [...retained, ...window]
  return (
    sumTokens(leading) +
    (configuration === undefined ? sumTokens(live) : renderedTokens(live, { ...state, configuration })) +
    (view?.tokens ?? 0)
  )
}

/** The tokens that a message adds to the context. */
export function tokensAddedBy(state: Conversation, message: LiveMessage): number {
  if (state.observed !== undefined) return message.tokens
  const { configuration, retained, window } = state
  return configuration === undefined
    ? message.tokens
    : addedTokens([retained, window], message, { ...state, configuration })
}
