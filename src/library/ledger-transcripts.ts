/** The public types of imported transcripts. `transcripts.ts` implements them. */
import type { NotHandedOver } from '../application/handoff/plan.js'
import type { RecallNote } from '../application/recall/note.js'
import type { PolicySettings } from '../domain/values/policy.js'
import type { RecordedConversation } from '../application/importers/recorded-transcript.js'
import type { DamageItem, TranscriptItem } from '../application/importers/transcript.js'

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
  /**
   * Id of the conversation that the transcript continues, for one that does not name its parent itself. Recorded as its
   * parent.
   */
  readonly continues?: string
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
   * Records these records after the earlier ones, which it holds in memory. Calls wait for each other. After a call that
   * rejects, the same records can be passed again. Records that are already recorded add nothing, so a reopened
   * transcript is passed from its beginning.
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

/** How a conversation is handed over to another program. */
export interface HandoffOptions {
  /** The program: `claude-code`, `codex`, `opencode`, `pi` or `gemini`. May be absent with `repair`. */
  readonly to?: string
  /**
   * If true, the session is written for the program that recorded the conversation, which cannot resume it: each call
   * with its result, each compaction with its summary, and without a limit of tokens unless `budget` is set. Default:
   * false.
   */
  readonly repair?: boolean
  /**
   * Id of a withdrawn message. The conversation is handed over as it was before that message was withdrawn. `withdrawn`
   * of the result names the first message of each withdrawn part.
   */
  readonly withdrawn?: string
  /** The most tokens that the new session may have, estimated. Default: 100,000. */
  readonly budget?: number
  /** Directory of the program. Default: the one that the program uses on this machine. */
  readonly home?: string
  /** Directory in which the work continues. Default: the directory of the conversation, or the current one. */
  readonly cwd?: string
  /** Actor of the events. Default: the actor of the ledger. */
  readonly actor?: string
}

/** A part of a conversation that was withdrawn, for example by a rewind. */
export interface WithdrawnPart {
  /** Its first message. */
  readonly messageId: string
  /** Number of its messages. */
  readonly messages: number
  /** The first words of the user in it; undefined if it has none. */
  readonly text: string | undefined
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
  /** Estimated tokens of the session. */
  readonly tokens: number
}
