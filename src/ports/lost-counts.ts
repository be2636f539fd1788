/**
 * How many items the compactions of each conversation lost, cached outside the log. If the cache is lost, the items are
 * counted again.
 */

/** The items that the compactions up to a revision lost. */
export interface LostCount {
  /** The revision of the last counted compaction. */
  readonly revision: number
  readonly lost: number
}

export interface LostCounts {
  /** The cached count of a conversation; undefined if it has none by the rules of this version. */
  find(conversationId: string): Promise<LostCount | undefined>
  /** Caches a count, unless the cache has one of a later revision. A database that this process only reads stays unchanged. */
  remember(conversationId: string, count: LostCount): Promise<void>
}
