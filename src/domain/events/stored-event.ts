/** An event in the form that every store keeps: two texts and its positions. The codec converts it. */
export interface EventToAppend {
  /** A UUID in lower case; unique within its stream for ever. */
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

export interface StoredEvent extends EventToAppend {
  readonly stream: string
  /** Position in its stream, from 0, without gaps. */
  readonly revision: number
  /**
   * Position in the whole log. It increases with every event, in some stores with gaps. A reader that follows it sees
   * every committed event.
   */
  readonly position: number
}
