/**
 * What we need to prove that projected rows are what the facts make them, in memory that does not grow with a
 * conversation: it is given the facts one by one, keeps what it cannot compare yet, and says when it wants to.
 */
import type { RecordedEvent } from '../domain/events/index.js'

export interface RowDifference {
  readonly conversationId: string
  /** Revision of the fact that made the row, where that is known; else -1n. */
  readonly revision: bigint
  /** One sentence: read model, table, row, and which cells. */
  readonly detail: string
}

/**
 * Rows that do not come to the end of the log: those of a read model, by its name, or of one conversation in it; and
 * one sentence that says why. Where one fact is the reason, its place.
 */
export interface StoppedRows {
  readonly readModel: string
  /** Where only its rows do not. */
  readonly conversationId?: string
  readonly at?: { readonly stream: string; readonly revision: bigint } | undefined
  readonly detail: string
}

/**
 * Compares the rows of one conversation, or of every one, with what the facts make them, and says what differs. Of a
 * conversation whose facts have problems of their own it may say anything: what stands upon them proves nothing.
 * @param signal nobody wants to know any more; then it rejects
 */
export type CheckRows = (conversationId: string | undefined, signal: AbortSignal) => Promise<readonly RowDifference[]>

export interface RowCheck {
  /**
   * Begins with a conversation; the one before it has ended. They come in the order of their ids' bytes where all are
   * compared.
   */
  begin(conversationId: string): void
  /**
   * Takes its next fact, or one of an edition of it: those of an edition before the fact that adopts it, so that its
   * batches are known. True where it has taken so much that `compare` should be called.
   */
  take(event: RecordedEvent): boolean
  /**
   * Ends the conversation; true as above. `trusted` is false where its facts have problems of their own: then nothing
   * can be said of its rows.
   */
  end(trusted: boolean): boolean
  /** Begins to compare what can be compared by now, and waits for what was begun before; says what that found. */
  compare(): Promise<readonly RowDifference[]>
  /**
   * Compares the rest, and where all conversations were given, looks for rows of conversations that the log does not
   * have.
   */
  finish(): Promise<readonly RowDifference[]>
}
