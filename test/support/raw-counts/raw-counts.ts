/** Counts of a raw transcript. The counters are independent of the code in `src/application/importers/`, to check it. */

/** Counts of one conversation. */
export interface RawCounts {
  /** The program's own id of the conversation; undefined if its files contain none. */
  readonly sourceId: string | undefined
  /** Messages by role. Messages that the program generated with the role user count as the user's. */
  readonly messages: {
    readonly instruction: number
    readonly user: number
    readonly assistant: number
    readonly tool: number
  }
  /**
   * Tool calls and their results. A call that the provider runs (a search, an image) counts as a call. Its result is in
   * the same record and does not count as a tool result.
   */
  readonly calls: number
  readonly results: number
  readonly compactions: number
  /** Messages that were withdrawn. */
  readonly withdrawn: number
  /** Messages whose content was pruned, masked or shortened. */
  readonly edits: number
  /** The id of the conversation that called or forked this one, if the file names it. */
  readonly parent: string | undefined
}

/** Counts the conversations of one file or directory, in the order in which they begin. */
export type CountRaw = (path: string) => Promise<readonly RawCounts[]>
