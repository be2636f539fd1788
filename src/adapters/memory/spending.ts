/** Spending of editions in memory, for tests and for a single process. */
import type { TokenSums } from '../../domain/reports/prices.js'
import type { Spending } from '../../ports/spending.js'
import { refusalFor } from '../spending-bound.js'

/** Creates a store without spending. */
export function createMemorySpending(): Spending {
  const spent = new Map<string, TokenSums>()
  const spentOn = (editionId: string): TokenSums => spent.get(editionId) ?? { promptTokens: 0, completionTokens: 0 }
  const add = (editionId: string, promptTokens: number, completionTokens: number): void => {
    const before = spentOn(editionId)
    spent.set(editionId, {
      promptTokens: Math.max(0, before.promptTokens + promptTokens),
      completionTokens: Math.max(0, before.completionTokens + completionTokens),
    })
  }
  return {
    async reserve(editionId, requested, bound) {
      const refusal = refusalFor(requested, spentOn(editionId), bound)
      if (refusal !== undefined) return refusal
      add(editionId, requested.promptTokens, requested.completionTokens)
      return {
        kind: 'set-aside',
        settle: async (took) => {
          add(editionId, took.promptTokens - requested.promptTokens, took.completionTokens - requested.completionTokens)
        },
      }
    },
    spentOn: async (editionId) => spentOn(editionId),
  }
}
