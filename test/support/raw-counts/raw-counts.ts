/**
 * What a raw transcript holds, counted apart from the importers: a second pair of eyes that knows nothing of
 * `src/importers/` but these words.
 */

/** Counts of one conversation. */
export interface RawCounts {
  /** The program's own id of the conversation; undefined where its files name none. */
  readonly sourceId: string | undefined
  /** Messages by role; those that the program said in the place of the user are counted as users' too. */
  readonly messages: {
    readonly instruction: number
    readonly user: number
    readonly assistant: number
    readonly tool: number
  }
  /**
   * Calls of tools, and results of them. What the provider called for itself (a search, a picture) is a call; what came
   * of it stands in the same record, and is no result of a tool.
   */
  readonly calls: number
  readonly results: number
  readonly compactions: number
  /** Messages that were said and are said no more. */
  readonly withdrawn: number
  /** Messages whose contribution was pruned, masked or shortened. */
  readonly edits: number
  /** Whether the conversation names a parent that a sub-agent was called from, or that it was forked from. */
  readonly parent: string | undefined
}

/** Counts the conversations of one file or folder, in the order in which they begin. */
export type CountRaw = (path: string) => Promise<readonly RawCounts[]>
