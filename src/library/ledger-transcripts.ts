/** The public types of imported transcripts. `transcripts.ts` implements them. */
import type { PolicySettings } from '../domain/values/policy.js'
import type { RecordedConversation } from '../importers/record-transcript.js'
import type { DamageItem, TranscriptItem } from '../importers/transcript.js'

/** How a transcript is imported. */
export interface ImportTranscriptOptions {
  /** The program that wrote it. Default: recognized by the content. */
  readonly from?: string
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Settings of its conversations, used after an edition is adopted. */
  readonly policy?: PolicySettings
  /** Actor of the events. Default: the actor of the ledger. */
  readonly actor?: string
  /** Id of the request. Default: a new one. */
  readonly correlationId?: string
  /** Ends the import after the current record. Recorded events stay. */
  readonly signal?: AbortSignal
  /** Called with each item as it is read. */
  readonly onItem?: (item: TranscriptItem) => void
  /**
   * If true, the end of the file and the state of the reader stay in memory, and the next import with this option
   * reads only the appended lines. A file that does not grow by lines, or that was replaced, is read from the
   * beginning. Default: false.
   */
  readonly resumable?: boolean
}

/** The result of an import for one conversation. */
export interface ImportedConversation extends RecordedConversation {
  /** Items that all its compactions lost, as `forgotten` counts them. Present if this import recorded compactions. */
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
export interface OpenTranscriptOptions {
  /** The program that writes it, as `import` names it. */
  readonly from: string
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Actor of the events. Default: the actor of the ledger. */
  readonly actor?: string
}

/** A transcript that is recorded while its program writes it. */
export interface OpenTranscript {
  /**
   * Records these records after the earlier ones. Calls wait for each other. Records that are already recorded add
   * nothing, so a reopened transcript is passed from its beginning.
   */
  record(records: readonly unknown[]): Promise<readonly RecordedConversation[]>
}

/** How items of a transcript are recorded that another machine reads. */
export interface ReceiveTranscriptOptions {
  /** The program that wrote the transcript, as `import` names it. */
  readonly from: string
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Actor of the events. Default: the actor of the ledger. */
  readonly actor?: string
  /** Called with each conversation before anything of it is recorded. Throws if it must not be recorded. */
  readonly allows?: (conversationId: string) => Promise<void>
}

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
