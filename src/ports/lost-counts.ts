/**
 * How many losses of the compactions of each conversation matter, cached outside the log. If the cache is lost, they are
 * counted again.
 */

/** The losses of the compactions up to a revision. */
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
