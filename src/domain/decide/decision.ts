/** The result of a command, and the state for commands that produce several events. */
import type { either as E } from 'fp-ts'
import { Fold } from '../conversation/evolve.js'
import type { Conversation } from '../conversation/conversation.js'
import type { Configuration, Event, PlacedEvent } from '../events/index.js'
import type { Estimator } from '../values/tokens.js'

/** The events of a command, or the reason for its rejection. */
export type Decision<Rejection = never> = E.Either<Rejection, Event[]>

/** The configuration. All commands except the first ones can rely on it (`NotConfigured`). */
export function configurationOf(state: Conversation): Configuration {
  if (state.configuration === undefined)
    throw new Error(`conversation ${state.conversationId} has no configuration yet`)
  return state.configuration
}

/** The estimator that the conversation uses. */
export const estimatorOf = (state: Conversation): Estimator => state.findEstimator(configurationOf(state).estimator)

/** The state as if events were recorded, to decide on the next one and to know the revisions. */
export class PendingState {
  private readonly fold: Fold

  constructor(state: Conversation) {
    this.fold = new Fold(state)
  }

  /** Its window grows with the next message. */
  get state(): Conversation {
    return this.fold.state
  }

  take(event: Event): void {
    const { revision, hash, recordedAt = '' } = this.fold.state
    const placed: PlacedEvent = { ...event, revision: revision + 1, metadata: { hash, recordedAt } }
    this.fold.take(placed)
  }
}

/** The state as if these events were recorded. */
export function applyPending(state: Conversation, events: readonly Event[]): Conversation {
  const pending = new PendingState(state)
  for (const event of events) pending.take(event)
  return pending.state
}
