/** The rules of the stream with retention rules, holds and runs: what follows from the events before. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { isOpen } from '../../domain/retention/decide-retention.js'
import {
  evolveRetention,
  isRetentionEvent,
  NO_RETENTION,
  type RetentionState,
} from '../../domain/retention/retention-state.js'

/** Checks the events of the stream one by one. */
export class RetentionCheck {
  private state: RetentionState = NO_RETENTION

  /** The problem with the next event; undefined if it follows from the events before it. */
  take(event: RecordedEvent): string | undefined {
    const problem = this.problemOf(event)
    this.state = evolveRetention(this.state, event)
    return problem
  }

  private problemOf(event: RecordedEvent): string | undefined {
    const { holds, lastRun } = this.state
    if (!isRetentionEvent(event)) return 'does not belong in the stream of retention'
    switch (event.type) {
      case 'RetentionRulesSet':
        return undefined
      case 'RetentionHoldPlaced':
        return (event.data.conversationId === undefined) === (event.data.scope === undefined)
          ? 'places a hold on neither or both of a conversation and a scope'
          : undefined
      case 'RetentionHoldReleased':
        return holds.some(({ holdId }) => holdId === event.data.holdId)
          ? undefined
          : 'releases a hold that is not placed before it'
      case 'RetentionRunStarted':
        return isOpen(lastRun) ? 'starts a run before the last one is completed' : undefined
      case 'RetentionRunCompleted':
        return isOpen(lastRun) && lastRun.runId === event.data.runId
          ? undefined
          : 'completes a run that is not started before it'
    }
  }
}
