/**
 * Limits on the summarizer's input and output, in tokens per minute and per day, shared by all processes that use one
 * database. Minutes and days follow the database's clock in UTC, and each starts at zero: a limit of 10,000 per minute
 * allows 10,000 in the last second of one minute and 10,000 in the first second of the next.
 */
export interface TokenLimits {
  readonly tokensPerMinute?: number | undefined
  readonly tokensPerDay?: number | undefined
}

/** Tokens that were reserved for one call. */
export interface Reserved {
  readonly kind: 'reserved'
  /**
   * Replaces the reserved amount by the actual usage. If the process dies before this call, the reserved amount counts
   * as spent.
   */
  settle(tokens: number): Promise<void>
}

/** The limit does not allow the call: which limit, how much is used, and when the next period begins. */
export interface Refused {
  readonly kind: 'refused'
  readonly period: 'minute' | 'day'
  readonly limit: number
  readonly used: number
  readonly opensInMs: number
}

export interface TokenBudget {
  readonly limits: TokenLimits
  /**
   * Reserves `tokens` in the current minute and day, or in neither. If both limits refuse it, returns the daily one.
   */
  reserve(tokens: number): Promise<Reserved | Refused>
}
