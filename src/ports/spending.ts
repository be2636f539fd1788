/**
 * The tokens that an edition has spent, over all processes and runs, and the limit on them. Stored outside the log. Only
 * tokens are stored; the cost is computed with the caller's price, so a limit in money also covers runs that had another
 * price or none. Tokens are reserved before a call, so spending exceeds the limit at most by the estimation error of a
 * single call.
 */
import type { Price, TokenSums } from '../domain/reports/prices.js'

/** The limits on spending. An omitted one does not apply. */
export interface SpendingLimits {
  readonly tokens?: number | undefined
  /** Money, in millionths of the currency of a price. */
  readonly cost?: { readonly micros: number; readonly price: Price } | undefined
}

export interface Reservation {
  readonly kind: 'set-aside'
  /**
   * Replaces the reserved amount by the actual usage. If the process dies before this call, the reserved amount counts
   * as spent.
   */
  settle(took: TokenSums): Promise<void>
}

/**
 * The limit does not allow the call: which limit, how much is spent, and how much the call may need, in tokens or in
 * millionths of the currency. Nothing was reserved.
 */
export interface LimitReached {
  readonly kind: 'no-room'
  readonly of: 'tokens' | 'cost'
  readonly bound: number
  readonly spent: number
  readonly asked: number
}

export interface Spending {
  /**
   * Reserves `usage` for one call if both limits allow it. If both refuse it, returns the limit in tokens.
   */
  reserve(editionId: string, usage: TokenSums, bound: SpendingLimits): Promise<Reservation | LimitReached>
  /** The usage of an edition, including reserved amounts. */
  spentOn(editionId: string): Promise<TokenSums>
}
