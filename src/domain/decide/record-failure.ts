/** A cycle that did not come about: its summary could not be had, or nothing may be compacted that would help. */
import { either as E } from 'fp-ts'
import { planCycle, retryAfterMessages, triggerOf, type NoPlan } from '../compaction/plan.js'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData, Trigger } from '../events/index.js'
import { hardLimit, softLimit } from '../values/policy.js'
import { configurationOf, type Decision } from './decision.js'

export type RecordFailure = { readonly type: 'RecordFailure' } & Omit<
  EventData<'CompactionFailed'>,
  'attempt' | 'retryAfterMessages'
>

export interface RecordCouldNotHelp {
  readonly type: 'RecordCouldNotHelp'
  readonly trigger: Trigger
}

export function recordFailure(state: Conversation, command: RecordFailure): Decision {
  const { type: _type, ...failure } = command
  const { chunkSize } = configurationOf(state).policy
  // What failed ahead of need backs off as long as a failure ever does, since nobody waits for it, and does not count
  // against what a limit asks for.
  const ahead = failure.trigger === 'ahead'
  const before = state.failures !== undefined && state.failures.ahead === ahead ? state.failures.attempts : 0
  // Messages do not lift a limit on spending: who reached it waits for the day to turn, and is held back by nothing
  // else then.
  const limited = failure.failure === 'limit-reached'
  const attempt = before + 1
  const backoffMessages = limited ? 0 : ahead ? chunkSize : retryAfterMessages(attempt, chunkSize)
  return E.right([{ type: 'CompactionFailed', data: { ...failure, attempt, retryAfterMessages: backoffMessages } }])
}

export function recordCouldNotHelp(state: Conversation, { trigger }: RecordCouldNotHelp): Decision {
  const { policy } = configurationOf(state)
  const plan: NoPlan | { kind: 'plan' } = triggerOf(state) === undefined ? { kind: 'plan' } : planCycle(state, trigger)
  // Said once: until a cycle, another configuration or another reason there is nothing new to say.
  if (plan.kind === 'plan' || state.couldNotHelp?.reason === plan.reason) return E.right([])
  const limit = trigger === 'hard' ? hardLimit(policy) : softLimit(policy)
  return E.right([
    {
      type: 'CompactionCouldNotHelp',
      data: { reason: plan.reason, tokens: state.tokens, limit, trigger, messageIds: [...plan.messageIds] },
    },
  ])
}
