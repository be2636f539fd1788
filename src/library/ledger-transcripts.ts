/** The public types of imported transcripts. `transcripts.ts` implements them. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/transcripts.js'
import type { Repairs } from '../application/handoff/handed-messages.js'
import type { NotHandedOver } from '../application/handoff/plan.js'
import type { RecallNote } from '../application/recall/note.js'
import type { RecordedConversation } from '../application/importers/recorded-transcript.js'
import type { DamageItem, TranscriptItem } from '../application/importers/transcript.js'

/** How a transcript is imported. */
export type ImportTranscriptOptions = OptionsOf<typeof calls.importTranscript>

/** The result of an import for one conversation. */
export interface ImportedConversation extends RecordedConversation {
  /** Losses of all its compactions that matter, as `forgotten` counts them. Present if this import recorded compactions. */
  readonly lost?: number
}

/** The result of an import. */
export interface ImportedTranscript {
  /** The path of the file, as passed to the import. */
  readonly file: string
  /** The program that wrote it, as `from` takes it. */
  readonly program: string
  /** True if the file has not changed since an earlier import, and was not read. */
  readonly unchanged: boolean
  /** The result for each conversation of the file. */
  readonly conversations: readonly ImportedConversation[]
  /** Number of records without content of a conversation, by kind. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Records that could not be read, including an incomplete one at the end of the file. */
  readonly damage: readonly DamageItem[]
}

/** How a transcript is recorded while its program writes it. */
export type OpenTranscriptOptions = OptionsOf<typeof calls.openTranscript>

/** A transcript that is recorded while its program writes it. */
export interface OpenTranscript {
  /**
   * Records these records after the earlier ones, which it holds in memory. Calls wait for each other. After a call that
   * rejects, the same records can be passed again. Records that are already recorded add nothing, so a reopened
   * transcript is passed from its beginning.
   */
  record(records: readonly unknown[]): Promise<readonly RecordedConversation[]>
}

/** How items of a transcript are recorded that another machine reads. */
export type ReceiveTranscriptOptions = OptionsOf<typeof calls.receiveTranscript>

/** A transcript that another machine reads. */
export interface ReceivedTranscript {
  /**
   * Records these items after the earlier ones. The object must not be used after an error or by two calls at once: a
   * new one takes the items from the beginning, and recognizes those that are recorded.
   */
  record(
    items: readonly TranscriptItem[],
    options?: { readonly writtenAt?: string | undefined },
  ): Promise<readonly ImportedConversation[]>
}

/** How a conversation is handed over to another program. */
export type HandoffOptions = OptionsOf<typeof calls.handoff>

/** A part of a conversation that was withdrawn, for example by a rewind. */
export interface WithdrawnPart {
  /** Its first message. */
  readonly messageId: string
  /** Number of its messages. */
  readonly messages: number
  /** The first words of the user in it; undefined if it has none. */
  readonly text: string | undefined
}

/** The changes by which the program can resume the session, and the losses that remain: numbers by kind. */
export interface Repaired extends Repairs {
  /** Compactions without a readable summary: a note of the older messages replaces it. */
  readonly missingSummaries: number
  /** Records of the damaged file that cannot be read. They are left out. */
  readonly unreadableRecords: number
}

/** A session that was handed over. */
export interface Handoff {
  /** The program that can resume it. */
  readonly program: string
  /** The written file. */
  readonly file: string
  /** Shell commands that continue the session in the program. */
  readonly resume: readonly string[]
  /** The conversation of the new session in the ledger. Its parent is the conversation that was handed over. */
  readonly conversationId: string
  /** Ids of the messages of the old conversation that the session has verbatim, in order. */
  readonly messageIds: readonly string[]
  /** Number of older messages, which the session has only as summary and note. */
  readonly older: number
  /** The summary of older messages: as text, encrypted for its provider (`opaque`) and therefore missing, or none. */
  readonly summary: 'text' | 'opaque' | 'none'
  /** The note of `recall` in the session: its entries, and the number of those that were left out, by section. */
  readonly note: Pick<RecallNote, 'tokens' | 'entries' | 'omitted'>
  /** What the session does not have as it was: tools as text, reasoning, texts of the program. */
  readonly notHandedOver: readonly NotHandedOver[]
  /** Withdrawn parts of the conversation, which the session does not have. The option `withdrawn` takes one. */
  readonly withdrawn: readonly WithdrawnPart[]
  /** The changes of a repair; undefined without `repair`. */
  readonly repaired?: Repaired
  /** Estimated tokens of the session. */
  readonly tokens: number
}
