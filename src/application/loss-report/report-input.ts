/**
 * The input of the report on a compaction: the messages around it and the summary, independent of program and store.
 * Callers convert imported transcripts and recorded streams to this form.
 */

/** A call of a tool. */
export interface ReportToolCall {
  readonly id: string
  readonly name: string
  /** JSON, or the program's own format. */
  readonly arguments: string
}

/** A message of the conversation. */
export interface ReportMessage {
  readonly messageId: string
  readonly revision: number
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  /** The text. Parts that are not text are named in it. */
  readonly text: string
  /** What the author of the role wrote of the text: without the texts of a program or of the ledger in it. */
  readonly ownText: string
  readonly toolCalls?: readonly ReportToolCall[] | undefined
  /** For a result: the id of the call that it answers. */
  readonly toolCallId?: string | undefined
  /** For a result: the call failed, was refused or was stopped. */
  readonly isError?: boolean | undefined
  /** A program or the ledger wrote the whole message, whatever its role: instructions, a reminder, a note. */
  readonly byProgram?: boolean | undefined
  /** The request of this answer had a note of `recall`, which is no message of the conversation. */
  readonly hadNote?: true | undefined
  /** ISO 8601 with a zone. */
  readonly at?: string | undefined
  readonly tokens: number
}

/** The summary that replaced the removed messages. */
export type RemainingSummary =
  | { readonly kind: 'text'; readonly text: string }
  /** Cannot be read: only the provider can decode it, or the transcript does not contain it. */
  | { readonly kind: 'opaque' }
  /** Nothing replaced the messages. */
  | { readonly kind: 'none' }

/** One compaction. */
export interface ReportInput {
  /** The removed messages, in order. */
  readonly removed: readonly ReportMessage[]
  /** The messages that are still in the context verbatim, and those that the program added with the summary. */
  readonly remaining: readonly ReportMessage[]
  /** All summaries in the context after the compaction, as one text. */
  readonly summary: RemainingSummary
  /** All known messages before the compaction, in order, including the removed ones. */
  readonly before: readonly ReportMessage[]
  /** The messages after the compaction, up to the next compaction or the end. */
  readonly after: readonly ReportMessage[]
}
