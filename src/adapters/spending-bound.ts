/** The check of an edition's spending bound, shared by the adapters. */
import { costMicros, tokensOf, type TokenSums } from '../domain/reports/prices.js'
import type { LimitReached, SpendingLimits } from '../ports/spending.js'

/** The refusal of a call that would exceed the bound; undefined if the call is within it. */
export function refusalFor(
  requested: TokenSums,
  spent: TokenSums,
  { tokens, cost }: SpendingLimits,
): LimitReached | undefined {
  const total: TokenSums = {
    promptTokens: spent.promptTokens + requested.promptTokens,
    completionTokens: spent.completionTokens + requested.completionTokens,
  }
  if (tokens !== undefined && tokensOf(total) > tokens)
    return { kind: 'no-room', of: 'tokens', bound: tokens, spent: tokensOf(spent), asked: tokensOf(requested) }
  if (cost !== undefined && costMicros(total, cost.price) > cost.micros)
    return {
      kind: 'no-room',
      of: 'cost',
      bound: cost.micros,
      spent: costMicros(spent, cost.price),
      asked: costMicros(requested, cost.price),
    }
  return undefined
}
