/** The bound on an edition's spending, as every adapter reckons it. */
import { costMicros, tokensOf, type TokenUsage } from '../domain/reports/prices.js'
import type { NoRoom, SpendingBound } from '../ports/spending.js'

/** Why a call has no room beside what is spent; undefined where it has. */
export function noRoomFor(asked: TokenUsage, spent: TokenUsage, { tokens, cost }: SpendingBound): NoRoom | undefined {
  const both: TokenUsage = {
    promptTokens: spent.promptTokens + asked.promptTokens,
    completionTokens: spent.completionTokens + asked.completionTokens,
  }
  if (tokens !== undefined && tokensOf(both) > tokens)
    return { kind: 'no-room', of: 'tokens', bound: tokens, spent: tokensOf(spent), asked: tokensOf(asked) }
  if (cost !== undefined && costMicros(both, cost.price) > cost.micros)
    return {
      kind: 'no-room',
      of: 'cost',
      bound: cost.micros,
      spent: costMicros(spent, cost.price),
      asked: costMicros(asked, cost.price),
    }
  return undefined
}
