/** A first look at a call, without the messages around it. */
import type { CallStep } from './call-step.js'
import { breaks, type Before } from './judge-step.js'
import type { Condition } from './read-rule.js'

/** What ran before is not known, so a rule about it may be broken. */
const NOTHING_RAN: Before = { ranSince: () => false }

/** Whether a call may break a condition. If not, no message can make it a break. */
export const mayBreak = (steps: readonly CallStep[], conditions: readonly Condition[]): boolean =>
  steps.some((step) => conditions.some((condition) => breaks(step, condition, NOTHING_RAN)))
