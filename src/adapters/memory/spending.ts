/** What editions have cost, in memory: for tests, and for one process. */
import type { Amount, Spending } from '../../ports/spending.js'

/** Nothing is spent yet. */
export function createMemorySpending(): Spending {
  const spent = new Map<string, Amount>()
  const on = (editionId: string): Amount => spent.get(editionId) ?? { tokens: 0, costMicros: 0 }
  const add = (editionId: string, tokens: number, costMicros: number): void => {
    const before = on(editionId)
    spent.set(editionId, { tokens: Math.max(0, before.tokens + tokens), costMicros: Math.max(0, before.costMicros + costMicros) })
  }
  return {
    async setAside(editionId, amount, bound) {
      const now = on(editionId)
      if (bound.tokens !== undefined && now.tokens + amount.tokens > bound.tokens) return { kind: 'no-room', of: 'tokens', bound: bound.tokens, spent: now.tokens }
      if (bound.costMicros !== undefined && now.costMicros + amount.costMicros > bound.costMicros) return { kind: 'no-room', of: 'cost', bound: bound.costMicros, spent: now.costMicros }
      add(editionId, amount.tokens, amount.costMicros)
      return { kind: 'set-aside', settle: async (took) => { add(editionId, took.tokens - amount.tokens, took.costMicros - amount.costMicros) } }
    },
    spentOn: async (editionId) => on(editionId),
  }
}
