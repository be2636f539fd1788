/**
 * The conversations that wait for a compaction worker, shared by all workers. The queue is only a hint: if it is lost,
 * the workers fill it from the start of the log and check each conversation once. Leases expire by the database's clock,
 * because the clocks of two machines may differ by more than the duration of a lease.
 */

/** The position up to which the log was read into the queue. The event's id detects another log. */
export interface LogCheckpoint {
  readonly position: number
  readonly eventId: string
}

/** A conversation that a worker has under a lease. */
export interface Work {
  readonly conversationId: string
  /** Identifies this lease, so that a call with an expired lease has no effect. */
  readonly lease: string
  /** Consecutive failures, as recorded by the previous worker. */
  readonly failures: number
  /** True if it is backing off and was taken because of new events: the worker does only urgent work. */
  readonly resting: boolean
}

export interface TakeOptions {
  readonly leaseMs: number
  /** Conversations that the worker is processing. They are not returned even if their lease has expired. */
  readonly except: readonly string[]
  /**
   * The worker's daily token limit. A conversation that backs off because of a lower limit is ready for this worker.
   * Undefined: no limit.
   */
  readonly tokensPerDay: number | undefined
}

interface WorkBackoff {
  readonly ms: number
  readonly failures: number
  /** The daily token limit that it waits for. A worker with a higher limit can take it earlier. */
  readonly tokensPerDay?: number | undefined
}

export interface QueueStatus {
  /** Ready and not leased. */
  readonly waiting: number
  readonly running: number
  readonly resting: number
}

export interface WorkQueue {
  checkpoint(): Promise<LogCheckpoint | undefined>
  /**
   * Records new events in these conversations. A conversation that already waits is recorded again; one that backs off
   * continues to. With `move` the checkpoint moves in the same transaction if it is still at `from`; otherwise nothing is
   * recorded.
   * @returns whether it was recorded
   */
  note(
    conversationIds: readonly string[],
    move?: { readonly from: LogCheckpoint | undefined; readonly to: LogCheckpoint },
  ): Promise<boolean>
  /** Records conversations with old events only: they are taken after all others, those noted last first. */
  noteBacklog(conversationIds: readonly string[]): Promise<void>
  /**
   * Leases a ready conversation, the one that has waited longest first; otherwise one of the backlog; otherwise one that
   * backs off and has new events since it was last processed.
   */
  take(options: TakeOptions): Promise<Work | undefined>
  /** Extends the lease by `leaseMs`. Returns false if another worker has taken it. */
  extend(work: Work, leaseMs: number): Promise<boolean>
  /** Removes it from the queue, unless new events arrived while it was leased. */
  finish(work: Work): Promise<void>
  /** Returns it to the queue, to be taken again after the backoff. */
  backOff(work: Work, backoff: WorkBackoff): Promise<void>
  /** Returns a conversation that backs off without changing its backoff. */
  release(work: Work): Promise<void>
  status(): Promise<QueueStatus>
}
