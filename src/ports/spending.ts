/**
 * What an edition has taken, over all processes and runs that make it, beside the log, and the bound on it. Tokens
 * alone are kept: what they cost is reckoned by the price of whoever asks, so a bound in money holds for runs that had
 * no price, or another one. A call is set aside before it is made, so what is spent never passes the bound by more than
 * the reckoning of a single call errs.
 */
import type { Price, TokenUsage } from '../domain/reports/prices.js'

/** What may be spent in all; a side that is left out has no bound. */
export interface SpendingBound {
  readonly tokens?: number | undefined
  /** Money, in millionths of the currency of a price. */
  readonly cost?: { readonly micros: number; readonly price: Price } | undefined
}

export interface SetAside {
  readonly kind: 'set-aside'
  /**
   * Puts what the call really took in place of what was set aside. A process that dies before it leaves what it set
   * aside as spent.
   */
  settle(took: TokenUsage): Promise<void>
}

/**
 * No room: which side of the bound it is, what is spent of it, and what the call may take; in tokens, or in millionths.
 * Nothing was set aside.
 */
export interface NoRoom {
  readonly kind: 'no-room'
  readonly of: 'tokens' | 'cost'
  readonly bound: number
  readonly spent: number
  readonly asked: number
}

export interface Spending {
  /**
   * Sets `usage` aside for one call, within both sides of the bound or not at all. Of two sides that refuse it the one
   * of tokens is told.
   */
  setAside(editionId: string, usage: TokenUsage, bound: SpendingBound): Promise<SetAside | NoRoom>
  /** What is spent on an edition, with what is set aside. */
  spentOn(editionId: string): Promise<TokenUsage>
}
