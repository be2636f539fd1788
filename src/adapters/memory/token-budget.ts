/** Token limits in memory, for tests and for a single process. */
import type { Clock } from '../../ports/clock.js'
import type { TokenBudget, TokenLimits } from '../../ports/token-budget.js'

const PERIODS = [
  ['day', 86_400_000],
  ['minute', 60_000],
] as const

/** Creates an unspent budget; `clock` gives the current minute and day. */
export function createMemoryTokenBudget(limits: TokenLimits, clock: Clock): TokenBudget {
  const used = new Map<string, number>()
  const limitOf = { day: limits.tokensPerDay, minute: limits.tokensPerMinute }
  return {
    limits,
    async reserve(tokens) {
      const now = clock.now().getTime()
      const windows = PERIODS.map(([period, ms]) => ({ period, ms, key: `${period} ${String(Math.floor(now / ms))}` }))
      for (const { period, ms, key } of windows) {
        const limit = limitOf[period]
        const spent = used.get(key) ?? 0
        if (limit !== undefined && spent + tokens > limit)
          return { kind: 'refused', period, limit, used: spent, opensInMs: ms - (now % ms) }
      }
      const add = (count: number): void => {
        for (const { key } of windows) used.set(key, (used.get(key) ?? 0) + count)
      }
      add(tokens)
      return {
        kind: 'reserved',
        settle: async (spent) => {
          add(spent - tokens)
        },
      }
    },
  }
}
