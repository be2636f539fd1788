/** A first look at a call, without the messages around it. */
import type { CallStep } from './call-step.js'
import { breaks, type Before } from './judge-step.js'
import type { Condition } from './read-rule.js'

/** The commands before the call are not known, so a rule about them may be broken. */
const NOTHING_RAN: Before = { ranSince: () => false }

/** Whether a call may break a condition. The messages around it can only excuse it. */
export const mayBreak = (steps: readonly CallStep[], conditions: readonly Condition[]): boolean =>
  steps.some((step) => conditions.some((condition) => breaks(step, condition, NOTHING_RAN)))
