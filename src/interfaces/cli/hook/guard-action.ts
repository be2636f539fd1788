/** What the guard does with a call that would break a rule: the user decides, or it does not run. */
export const GUARD_ACTIONS = ['ask', 'deny'] as const
export type GuardAction = (typeof GUARD_ACTIONS)[number]
