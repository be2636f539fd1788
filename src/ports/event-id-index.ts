/**
 * Where in a stream ids stand, for an event store that has no index of ids (`recognizes: 'at-its-revision'`). It may
 * lag behind the log, and says how far it has come: the store looks at the rest itself. It need not know ids that
 * derive from the event's own place, which come back nowhere else.
 */
export interface EventIdIndex {
  /**
   * The revisions of those of `ids` that stand in `stream`, complete up to the position `upTo`; -1n where it knows
   * nothing of the stream.
   */
  find(
    stream: string,
    ids: readonly string[],
  ): Promise<{ readonly revisions: readonly bigint[]; readonly upTo: bigint }>
}
