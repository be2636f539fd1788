/**
 * Verifies that projected rows are what the events produce, in memory that does not grow with a conversation. The caller
 * passes the events one by one, and the check reports when it has enough rows to compare.
 */
import type { RecordedEvent } from '../domain/events/index.js'

export interface RowDifference {
  readonly conversationId: string
  /** Revision of the event that produced the row; -1 if unknown. */
  readonly revision: number
  /** One sentence: read model, table, row, and which cells. */
  readonly detail: string
}

/**
 * Rows that do not reach the end of the log: those of a read model, or of one conversation in it. `detail` is one
 * sentence with the reason, and `at` the event if one event is the reason.
 */
export interface StoppedRows {
  readonly readModel: string
  /** Present if only the rows of this conversation stopped. */
  readonly conversationId?: string
  readonly at?: { readonly stream: string; readonly revision: number } | undefined
  readonly detail: string
}

/**
 * Compares the rows of one conversation, or of all, with the rows that the events produce, and returns the differences.
 * For a conversation whose events are faulty the result has no meaning.
 * @param signal aborts the comparison, which then rejects
 */
export type CheckRows = (conversationId: string | undefined, signal: AbortSignal) => Promise<readonly RowDifference[]>

export interface RowCheck {
  /**
   * Begins a conversation, after the previous one has ended. If all are compared, they must come in the byte order of
   * their ids.
   */
  begin(conversationId: string): void
  /**
   * Adds the next event of the conversation or of one of its editions. The events of an edition must come before the
   * event that adopts it, so that its batches are known. Returns true if the caller should call `compare`.
   */
  take(event: RecordedEvent): boolean
  /**
   * Ends the conversation. Returns true if the caller should call `compare`. `trusted` is false if its events are
   * faulty; then its rows are not compared.
   */
  end(trusted: boolean): boolean
  /** Starts comparing the rows added so far, and returns the differences that the previous comparison found. */
  compare(): Promise<readonly RowDifference[]>
  /**
   * Compares the remaining rows. If all conversations are compared, also finds rows of conversations that are not in the
   * log.
   */
  finish(): Promise<readonly RowDifference[]>
}
