/**
 * What the report on a compaction is made from: the messages around it and the summary, in a form that no program and no
 * store has a hand in. Who has another form (an imported transcript, a stream of our own) turns it into this one.
 */

/** A call of a tool. */
export interface SaidCall {
  readonly id: string
  readonly name: string
  /** As JSON, or as the program wrote them. */
  readonly arguments: string
}

/** A message of the conversation. */
export interface Said {
  readonly messageId: string
  readonly revision: bigint
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  /** Its text; parts that are no text are named in it. */
  readonly text: string
  readonly toolCalls?: readonly SaidCall[] | undefined
  /** Of a result: the call that it answers. */
  readonly toolCallId?: string | undefined
  /** Of a result: the call failed, or was refused or stopped. */
  readonly isError?: boolean | undefined
  /** A program put it in the place of its role: a reminder, the output of a command. Nobody's words. */
  readonly byProgram?: boolean | undefined
  /** ISO 8601 with a zone. */
  readonly at?: string | undefined
  readonly tokens: number
}

/** What stands for the messages that left. */
export type SummaryLeft =
  | { readonly kind: 'text'; readonly text: string }
  /** Recorded in a form that only its provider reads. */
  | { readonly kind: 'opaque' }
  /** Nothing stands for them. */
  | { readonly kind: 'none' }

/** One compaction. */
export interface Forgetting {
  /** The messages that left the context, in their order. */
  readonly left: readonly Said[]
  /** What is still in the context word for word, and what the program put beside the summary. */
  readonly stayed: readonly Said[]
  /** All summaries that stand in the context behind the compaction, as one text. */
  readonly summary: SummaryLeft
  /** All messages before the compaction that are known, in their order; those that left are among them. */
  readonly before: readonly Said[]
  /** The messages behind it, up to the next compaction or the end. */
  readonly after: readonly Said[]
}
