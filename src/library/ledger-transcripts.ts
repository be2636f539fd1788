/** The public types of imported transcripts. `transcripts.ts` implements them. */
import type { PolicySettings } from '../domain/values/policy.js'
import type { RecordedConversation } from '../importers/record-transcript.js'
import type { DamageItem, TranscriptItem } from '../importers/transcript.js'

/** How a transcript is imported. */
export interface ImportTranscriptOptions {
  /** The program that wrote it; left out, it is recognized by what it holds. */
  readonly from?: string
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Settings that its conversations go by once an edition of ours is adopted. */
  readonly policy?: PolicySettings
  /** Actor of the events. Default: the actor of the ledger. */
  readonly actor?: string
  /** The request that it belongs to; default: one of its own. */
  readonly correlationId?: string
  /** Ends the import after the current record. Recorded events stay. */
  readonly signal?: AbortSignal
  /** Hears of every item as it is read. */
  readonly onItem?: (item: TranscriptItem) => void
  /**
   * True keeps in memory where the file ended and what it takes to go on there, so that the next import that says so
   * reads only what was appended. That is for files of lines, which grow; others are read whole, and so is a file that
   * is not the one any more that was read. Default: false.
   */
  readonly resumable?: boolean
}

/** What became of a transcript. */
export interface ImportedTranscript {
  /** Its path, as it was given. */
  readonly file: string
  /** The program that wrote it, as `from` takes it. */
  readonly program: string
  /** True where it was imported before and has not changed since: it was not read. */
  readonly unchanged: boolean
  /** What became of each conversation in it. */
  readonly conversations: readonly RecordedConversation[]
  /** Records that say nothing of a conversation, by their kind. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Records that could not be read; one that is cut off at the end of the file among them. */
  readonly damage: readonly DamageItem[]
}

/** How a transcript is recorded while its program writes it. */
export interface OpenTranscriptOptions {
  /** The program that writes it, as `importTranscript` names it. */
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
