/** Records that a cycle did not happen: there is no summary, or nothing that would help may be compacted. */
import { either as E } from 'fp-ts'
import { planCycle, retryAfterMessages, triggerOf, type NoPlan } from '../compaction/plan.js'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData, Trigger } from '../events/index.js'
import { hardLimit, softLimit } from '../values/policy.js'
import { configurationOf, type Decision } from './decision.js'

export type RecordFailure = { readonly type: 'RecordFailure' } & Omit<
  EventData<'CompactionFailed'>,
  'attempt' | 'retryAfterMessages' | 'timesSent'
> & {
    /** How often the request was sent this time and may have been charged. */
    readonly sent: number
  }

export interface RecordCouldNotHelp {
  readonly type: 'RecordCouldNotHelp'
  readonly trigger: Trigger
}

/**
 * How often the request of the last failure was sent in a row, if this is the same request with the same time limit.
 */
export function timesSentBefore(
  { failures }: Pick<Conversation, 'failures'>,
  { requestHash, timeoutMs }: { readonly requestHash?: string | undefined; readonly timeoutMs?: number | undefined },
): number {
  const request = failures?.request
  return request !== undefined && request.requestHash === requestHash && request.timeoutMs === timeoutMs
    ? request.timesSent
    : 0
}

export function recordFailure(state: Conversation, command: RecordFailure): Decision {
  const { type: _type, sent, ...failure } = command
  const { chunkSize } = configurationOf(state).policy
  // A failed summary that was made ahead of time backs off as long as possible, since no one is waiting for it. It does
  // not count as a failure at a limit.
  const ahead = failure.trigger === 'ahead'
  const before = state.failures !== undefined && state.failures.ahead === ahead ? state.failures.attempts : 0
  // A spending limit ends with the day, not after more messages. So this failure delays nothing else afterwards.
  const limited = failure.failure === 'limit-reached'
  const attempt = before + 1
  const backoffMessages = limited ? 0 : ahead ? chunkSize : retryAfterMessages(attempt, chunkSize)
  const timesSent = sent + timesSentBefore(state, failure)
  return E.right([
    {
      type: 'CompactionFailed',
      data: { ...failure, attempt, retryAfterMessages: backoffMessages, ...(timesSent === 0 ? {} : { timesSent }) },
    },
  ])
}

export function recordCouldNotHelp(state: Conversation, { trigger }: RecordCouldNotHelp): Decision {
  const { policy } = configurationOf(state)
  const plan: NoPlan | { kind: 'plan' } = triggerOf(state) === undefined ? { kind: 'plan' } : planCycle(state, trigger)
  // Record it once: until a cycle, another configuration or another reason it would add nothing.
  if (plan.kind === 'plan' || state.couldNotHelp?.reason === plan.reason) return E.right([])
  const limit = trigger === 'hard' ? hardLimit(policy) : softLimit(policy)
  return E.right([
    {
      type: 'CompactionCouldNotHelp',
      data: { reason: plan.reason, tokens: state.tokens, limit, trigger, messageIds: [...plan.messageIds] },
    },
  ])
}
