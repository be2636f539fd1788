/** What a rule answers, and the state that a rule of several events goes on from. */
import type { either as E } from 'fp-ts'
import { Fold } from '../conversation/evolve.js'
import type { Conversation } from '../conversation/conversation.js'
import type { Configuration, Event, PlacedEvent } from '../events/index.js'
import type { Estimator } from '../values/tokens.js'

/** The events that a command leads to, or why it is refused. */
export type Decision<Rejection = never> = E.Either<Rejection, Event[]>

/** The configuration, which every command but the first ones can count on (`NotConfigured`). */
export function configurationOf(state: Conversation): Configuration {
  if (state.configuration === undefined)
    throw new Error(`conversation ${state.conversationId} has no configuration yet`)
  return state.configuration
}

/** What the conversation counts its texts by. */
export const estimatorOf = (state: Conversation): Estimator => state.findEstimator(configurationOf(state).estimator)

/** The state as if these events were recorded: to decide on the next one, and to know their revisions. */
export function applyPending(state: Conversation, events: readonly Event[]): Conversation {
  const placed = (event: Event, after: Conversation): PlacedEvent => ({
    ...event,
    revision: after.revision + 1n,
    metadata: { hash: after.hash, recordedAt: after.recordedAt ?? '' },
  })
  const fold = new Fold(state)
  for (const event of events) fold.take(placed(event, fold.state))
  return fold.state
}
