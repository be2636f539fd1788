/**
 * The conversations that wait for a compaction worker, shared by all workers. It is a hint and no fact: a queue that is
 * lost is filled again by reading the log from the start, and costs a look at each conversation. Leases expire by one
 * clock (the database's), because those of two machines may differ by more than a lease lasts.
 */

/** How far the log was read into the queue. The event's id beside its position tells when the log is another one. */
export interface LogCheckpoint {
  readonly position: bigint
  readonly eventId: string
}

/** A conversation that a worker has under a lease. */
export interface Work {
  readonly conversationId: string
  /** Names this taking: a lease that ran out and was taken by another changes nothing any more. */
  readonly lease: string
  /** Failures in a row, as the worker before said. */
  readonly failures: number
  /** It rests, and was taken because something came: only what cannot wait is to be done. */
  readonly resting: boolean
}

export interface TakeOptions {
  readonly leaseMs: number
  /** Conversations that the worker has in hand; they are not given again, though their lease ran out. */
  readonly except: readonly string[]
  /**
   * Tokens a day that the worker may spend: who rests because of a lower limit is ready for it. Undefined: no limit.
   */
  readonly tokensPerDay: number | undefined
}

interface WorkBackoff {
  readonly ms: number
  readonly failures: number
  /** The limit a day that it waits for; a worker with a higher one need not wait. */
  readonly tokensPerDay?: number | undefined
}

export interface QueueStatus {
  /** Ready, and nobody has it. */
  readonly waiting: number
  readonly running: number
  readonly resting: number
}

export interface WorkQueue {
  checkpoint(): Promise<LogCheckpoint | undefined>
  /**
   * Notes that something came in these conversations; one that waits already is noted again, and one that rests goes on
   * resting. With `move` the checkpoint moves in the same transaction, if it still stands at `from`; where it does not,
   * nothing is noted.
   * @returns whether it was noted
   */
  note(
    conversationIds: readonly string[],
    move?: { readonly from: LogCheckpoint | undefined; readonly to: LogCheckpoint },
  ): Promise<boolean>
  /**
   * Gives a conversation that is ready, the one that has waited longest first; then one that rests and in which
   * something came since it was looked at.
   */
  take(options: TakeOptions): Promise<Work | undefined>
  /** Holds it for another `leaseMs`; false where it went to another. */
  extend(work: Work, leaseMs: number): Promise<boolean>
  /** There is nothing left to do: it leaves the queue, unless something came while it was in hand. */
  finish(work: Work): Promise<void>
  /** Gives it back, to be taken again after so long. */
  backOff(work: Work, backoff: WorkBackoff): Promise<void>
  /** Gives back one that rests as it was. */
  release(work: Work): Promise<void>
  status(): Promise<QueueStatus>
}
