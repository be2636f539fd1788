/**
 * The strategies with a model by name, the default first, as plain data: `--help` shows them, and loads no strategy for
 * it.
 */
export const STRATEGIES = ['fold-in', 'structured', 'ride-prefix'] as const
export type StrategyName = (typeof STRATEGIES)[number]
export const [DEFAULT_STRATEGY] = STRATEGIES
