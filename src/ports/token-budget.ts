/**
 * Limits on what the summarizer may be sent and may answer, in tokens a minute and tokens a day, shared by all who
 * summarize over one database. Minutes and days are those of the database's clock, in UTC, each counted from nothing: a
 * limit of 10,000 a minute lets 10,000 go in the last second of one minute and 10,000 in the first of the next.
 */
export interface TokenLimits {
  readonly tokensPerMinute?: number | undefined
  readonly tokensPerDay?: number | undefined
}

/** Tokens that were set aside for one call. */
export interface Reserved {
  readonly kind: 'reserved'
  /**
   * Puts what the call really took in place of what was set aside. A process that dies before it leaves what it set
   * aside as spent.
   */
  settle(tokens: number): Promise<void>
}

/** No room: which limit it is, what was spent of it, and when it begins anew. */
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
   * Sets `tokens` aside in the minute and the day of now, or in neither. Of two limits that refuse it the day is told.
   */
  reserve(tokens: number): Promise<Reserved | Refused>
}
