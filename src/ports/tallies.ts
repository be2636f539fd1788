/** The tally of each conversation, cached outside the log. If the cache is lost, the conversations are counted again. */
import type { Tally } from '../domain/reports/tally.js'

/** The tally of a conversation and its editions. */
export interface CountedTally {
  readonly conversationId: string
  /** The number of counted events. Streams only grow, so the same number means the same events. */
  readonly events: number
  readonly tally: Tally
}

export interface Tallies {
  /** The number of counted events of each conversation that has a tally by the rules of this version. */
  counted(): Promise<ReadonlyMap<string, number>>
  /** The tallies of these conversations that have one. */
  find(conversationIds: readonly string[]): Promise<readonly CountedTally[]>
  /** Caches tallies, unless the cache has later ones. A database that this process only reads stays unchanged. */
  remember(tallies: readonly CountedTally[]): Promise<void>
}
