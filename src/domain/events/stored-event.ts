/**
 * An event as a store keeps it: two texts, and its places. What the codec makes facts of, whichever store it came from.
 */
export interface EventToAppend {
  /** A UUID in lower case; unique within its stream for ever. */
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

export interface StoredEvent extends EventToAppend {
  readonly stream: string
  /** Place in its stream, from 0n, without gaps. */
  readonly revision: bigint
  /**
   * Place in the whole log. Grows with every event, in some stores with gaps; a reader that goes by it sees every
   * committed event.
   */
  readonly position: bigint
}
