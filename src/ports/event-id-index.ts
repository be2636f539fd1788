/**
 * The revisions of event ids, for an event store without an index of ids (`recognizes: 'at-its-revision'`). It may lag
 * the log and returns the position that it covers; the store searches the rest. It can omit ids that derive from the
 * event's own revision, since such an id never occurs at another one.
 */
export interface EventIdIndex {
  /**
   * The revisions of those `ids` that `stream` contains, complete up to the position `upTo`; -1 if it does not cover the
   * stream.
   */
  find(
    stream: string,
    ids: readonly string[],
  ): Promise<{ readonly revisions: readonly number[]; readonly upTo: number }>
}
