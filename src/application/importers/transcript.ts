/**
 * The items of a transcript, the same for all programs: what happened, in the order of the file. An importer converts a
 * program's records to items. The code that records items in a ledger does not depend on the program.
 */
import type { ContentId } from './content-id.js'
import type { MessageBody } from '../../domain/values/message.js'

/**
 * The location of a record. Lines count from 1. In a file that is one JSON value, a path gives the position
 * (`messages[12]`).
 */
export interface SourceLocation {
  readonly file: string
  readonly line?: number | undefined
  /** The index of the record in its line, from 2 on, if a line has several records because a line feed is missing. */
  readonly record?: number | undefined
  readonly path?: string | undefined
}

/** The usage of an answer, as counted by its program. Fields that the program does not report are omitted. */
export interface Usage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  /** The part of the input that the provider read from its cache. `inputTokens` includes cached tokens. */
  readonly cacheReadTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  /** In US dollars, if the program reports it. */
  readonly cost?: number | undefined
}

/** The usage of an earlier answer, for programs that report usage after the answer. */
export interface EarlierUsage {
  readonly answerId: string
  readonly usage: Usage
}

/** A turn that was aborted before its end, for programs that write so after its last message. */
export interface AbortedTurn {
  /** The record with the prompt of that turn. */
  readonly messageId: string
  /** The program's word for the reason. */
  readonly reason?: string | undefined
}

/** The conversation from which this one was started or forked. */
export interface Parent {
  /** The program's own id of that conversation. */
  readonly sourceId: string
  readonly how: 'sub-agent' | 'fork'
  /** The call in the parent that started it, if the program records it. */
  readonly callId?: string | undefined
}

/** The items up to the next conversation item belong to this conversation. */
export interface ConversationItem {
  readonly kind: 'conversation'
  /** The program's own id. The same conversation has the same id in another or an incomplete file. */
  readonly sourceId: string
  readonly programVersion?: string | undefined
  readonly parent?: Parent | undefined
  readonly title?: string | undefined
  /** The working directory of the program. */
  readonly cwd?: string | undefined
  /** ISO 8601 with a zone. */
  readonly startedAt?: string | undefined
  readonly where: SourceLocation
}

export interface MessageItem {
  readonly kind: 'message'
  /**
   * The program's own id of the record with this message, or an id derived from its position if the program has none.
   * It is unique in the conversation, except that several messages of one record share it.
   */
  readonly sourceId: string
  /** The index of the message in its record; 0 for the first or only one. */
  readonly part: number
  readonly at?: string | undefined
  readonly body: MessageBody
  /**
   * The program generated the message with this role: a reminder, the output of a command, an environment description.
   * No person wrote it.
   */
  readonly byProgram?: true | undefined
  /** Messages of one answer share this id. A context joins those that are adjacent into one message. */
  readonly answerId?: string | undefined
  readonly model?: string | undefined
  /** Usage of the whole answer. If several of its messages have one, the last one counts. */
  readonly usage?: Usage | undefined
  /** Usage that was reported after the previous message, when the messages of its answer had already been emitted. */
  readonly earlierUsage?: EarlierUsage | undefined
  /** The turn before this message was aborted. */
  readonly abortedTurn?: AbortedTurn | undefined
  /** The call failed, was rejected or was stopped. */
  readonly isError?: true | undefined
  /** The exit code of the command that the call ran, if the program records it. */
  readonly exitCode?: number | undefined
  readonly where: SourceLocation
}

/** One entry of a context that a program assembled. */
export type ContextEntry =
  /** An earlier message, with all its parts; `content` if the program sends other content instead. */
  | { readonly kind: 'message'; readonly sourceId: string; readonly content?: string | undefined }
  /** A message that the program inserted: the summary, or another text. */
  | { readonly kind: 'inserted'; readonly body: MessageBody; readonly isSummary?: true | undefined }
  /** A retained message that is not in the file, for example because the file begins in the middle. */
  | { readonly kind: 'missing'; readonly sourceId: string }

/** The summary of a compaction. */
export type Summary =
  | { readonly kind: 'text'; readonly text: string }
  /** Unknown: it is encrypted for the provider, was never written, or is missing in the file. */
  | { readonly kind: 'opaque' }
  /** Nothing replaces the removed messages: the program truncates, or the user clears the context. */
  | { readonly kind: 'none' }

/** The program compacted. The model's context now consists of these entries, followed by later messages. */
export interface CompactionItem {
  readonly kind: 'compaction'
  readonly sourceId: string
  readonly at?: string | undefined
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  readonly summary: Summary
  /** The context directly after the compaction, in the order in which the model received it. */
  readonly context: readonly ContextEntry[]
  /**
   * Messages that were live before the compaction, and for which the file does not say whether they stayed. They are
   * not in `context`. The summary covers every other live message that is not in `context`.
   */
  readonly unknown?: readonly string[] | undefined
  /**
   * True if the file begins after the start of the conversation, so that the compaction covers messages that are not in
   * the file.
   */
  readonly coversMissing?: true | undefined
  readonly tokensBefore?: number | undefined
  readonly tokensAfter?: number | undefined
  readonly durationMs?: number | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
  /** The extension that made the summary in place of the program. */
  readonly madeBy?: string | undefined
  readonly where: SourceLocation
}

/**
 * Messages leave the conversation: a rewind, a rollback, or an abandoned branch. If the user returns to that branch,
 * they are emitted as messages again, with the same ids.
 */
export interface WithdrawalItem {
  readonly kind: 'withdrawal'
  readonly sourceIds: readonly string[]
  /**
   * The records that follow contain these messages in another form. The messages are withdrawn if any import recorded
   * them.
   */
  readonly isReplaced?: true | undefined
  readonly at?: string | undefined
  readonly where: SourceLocation
}

/** The content of a message changes: a result was pruned, masked or shortened. The original stays recorded. */
export interface EditItem {
  readonly kind: 'edit'
  /** The record with the message; `part` is the index of the message in it. */
  readonly sourceId: string
  readonly part: number
  /** The replacement that the model receives; null if it receives nothing. */
  readonly content: MessageBody['content']
  readonly why: 'pruned' | 'masked' | 'shortened' | 'replaced'
  readonly at?: string | undefined
  readonly where: SourceLocation
}

/** The program reverted its last compactions, because the user returned to an earlier point. */
export interface UndoItem {
  readonly kind: 'undo'
  /** The compactions, newest first. */
  readonly sourceIds: readonly string[]
  readonly at?: string | undefined
  readonly where: SourceLocation
}

/** A record that cannot be read. The records before and after it are imported. */
export interface DamageItem {
  readonly kind: 'damage'
  readonly detail: string
  /** The last line of a file is incomplete, for example because the program was killed during a write. */
  readonly isCut: boolean
  /** It is in the line of the record before it in the items, and belongs to the conversation of that record. */
  readonly sharesLine?: true | undefined
  readonly where: SourceLocation
}

/** A record without content for the conversation, or of an unknown type. The report counts such records by name. */
interface LeftOutItem {
  readonly kind: 'left-out'
  readonly what: string
  readonly where: SourceLocation
}

export type TranscriptItem =
  | ConversationItem
  | MessageItem
  | CompactionItem
  | WithdrawalItem
  | EditItem
  | UndoItem
  | DamageItem
  | LeftOutItem

/** One record of a transcript: a parsed line, a whole file, or one file of a directory. */
export interface TranscriptRecord {
  readonly value: unknown
  readonly where: SourceLocation
}

/** Reads one transcript record by record. It keeps the state that later records need. */
export interface TranscriptReader {
  /** The items of a record. It never throws: an unreadable record becomes `damage` or `left-out`. */
  take(record: TranscriptRecord): Iterable<TranscriptItem>
  /** Items that depend on the end of the input. More records may follow. */
  end(): Iterable<TranscriptItem>
}

/** How a program stores a conversation. */
export type Layout =
  /** A JSON Lines file, which grows. */
  | 'lines'
  /** A file with one JSON value, which the program rewrites. */
  | 'json'
  /** A file of text lines: each line is a record. */
  | 'text'
  /** A format that only its importer reads (`records`), such as a compressed file. */
  | 'own'

/** The beginning of a file, from which importers recognize it. */
export interface Head {
  /** Absolute, with `/`. */
  readonly path: string
  /** The first records, at most 20. For `lines`: the lines that are JSON. For `json`: the whole value, once. */
  readonly records: readonly unknown[]
  /** The first 4,096 characters, unchanged. */
  readonly text: string
}

/** The importer of one program. */
export interface Importer {
  /** The name for `--from`. */
  readonly program: string
  /** The name for display. */
  readonly title: string
  /**
   * The directories in which the program stores conversations on this machine, from its environment variables; the most
   * likely first.
   */
  homes(environment: Readonly<Record<string, string | undefined>>, home: string): readonly string[]
  /** The layout of the file if it is this program's, otherwise undefined. Decides by content, not by name. */
  recognize(head: Head): Layout | undefined
  /**
   * The files of the conversation that contains this file, in reading order, if a conversation has several files (a
   * directory of events). Undefined if it is this file alone.
   */
  siblings?(path: string): Promise<readonly string[]>
  /**
   * The records of a file whose layout does not determine how to read it (a database, a compressed file); undefined for
   * other files. Unreadable records are yielded as damage.
   * @param isWanted whether a conversation of `digests` is read; by default all are
   */
  records?(
    path: string,
    layout: Layout,
    isWanted?: (conversation: string) => boolean,
  ): AsyncIterable<TranscriptRecord | DamageItem> | undefined
  /**
   * The conversations of a large file with a digest each, which changes with whatever `records` reads of it, so that
   * only changed ones are read again. Undefined for other files, and for a file that cannot be read.
   */
  digests?(path: string): ReadonlyMap<string, string> | undefined
  /** True if the reader makes ids from content, with `contentId`. */
  readonly makesContentIds?: true
  /**
   * @param path the file that identifies the conversation: names serve as ids if records have none
   * @param contentId makes the ids of records and runs that have none, and no place to name them by
   */
  read(path: string, contentId: ContentId): TranscriptReader
}
