/** What editions have taken, in memory: for tests, and for one process. */
import type { TokenUsage } from '../../domain/reports/prices.js'
import type { Spending } from '../../ports/spending.js'
import { noRoomFor } from '../spending-bound.js'

/** Nothing is spent yet. */
export function createMemorySpending(): Spending {
  const spent = new Map<string, TokenUsage>()
  const on = (editionId: string): TokenUsage => spent.get(editionId) ?? { promptTokens: 0, completionTokens: 0 }
  const add = (editionId: string, promptTokens: number, completionTokens: number): void => {
    const before = on(editionId)
    spent.set(editionId, {
      promptTokens: Math.max(0, before.promptTokens + promptTokens),
      completionTokens: Math.max(0, before.completionTokens + completionTokens),
    })
  }
  return {
    async setAside(editionId, asked, bound) {
      const noRoom = noRoomFor(asked, on(editionId), bound)
      if (noRoom !== undefined) return noRoom
      add(editionId, asked.promptTokens, asked.completionTokens)
      return {
        kind: 'set-aside',
        settle: async (took) => {
          add(editionId, took.promptTokens - asked.promptTokens, took.completionTokens - asked.completionTokens)
        },
      }
    },
    spentOn: async (editionId) => on(editionId),
  }
}
