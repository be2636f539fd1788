/**
 * What an edition may cost, and has cost: in tokens and in money, over all processes and runs that make it, beside the log. A call is set
 * aside before it is made, so what is spent never passes the bound by more than the reckoning of a single call errs.
 */
export interface Amount {
  readonly tokens: number
  /** Millionths of whatever the prices are in; whole. */
  readonly costMicros: number
}

/** What may be spent in all; a side that is left out has no bound. */
export interface SpendingBound {
  readonly tokens?: number | undefined
  readonly costMicros?: number | undefined
}

export interface SetAside {
  readonly kind: 'set-aside'
  /** Puts what the call really took in place of what was set aside. A process that dies before it leaves what it set aside as spent. */
  settle(took: Amount): Promise<void>
}

/** No room: which side of the bound it is, and what is spent of it. Nothing was set aside. */
export interface NoRoom {
  readonly kind: 'no-room'
  readonly of: 'tokens' | 'cost'
  readonly bound: number
  readonly spent: number
}

export interface Spending {
  /** Sets `amount` aside for one call, in both sides or in neither. Of two bounds that refuse it the one of tokens is told. */
  setAside(editionId: string, amount: Amount, bound: SpendingBound): Promise<SetAside | NoRoom>
  /** What is spent on an edition, with what is set aside. */
  spentOn(editionId: string): Promise<Amount>
}
