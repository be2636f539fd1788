/**
 * A transcript as every program's importer gives it: what happened, in the order of the file, in words that all programs
 * share. An importer turns one program's records into these; what records them in a ledger knows nothing of programs.
 */
import type { MessageBody } from '../domain/values/message.js'

/** Where a record stands. Lines count from 1; a file that is one JSON value has a path in it (`messages[12]`). */
export interface Where {
  readonly file: string
  readonly line?: number | undefined
  readonly path?: string | undefined
}

/** What an answer took, as its program counted it; a field that it does not tell is left out. */
export interface Usage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  /** Of the input, what the provider had in its cache: the input is all of it, cached or not. */
  readonly cacheReadTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  /** In US dollars, where the program tells it. */
  readonly cost?: number | undefined
}

/** What an answer took that was said before, where its program tells it behind the answer. */
export interface EarlierUsage {
  readonly answerId: string
  readonly usage: Usage
}

/** Another conversation that this one comes from. */
export interface Parent {
  /** The program's own id of that conversation. */
  readonly sourceId: string
  readonly how: 'sub-agent' | 'fork'
  /** The call in the parent that began it, where the program tells it. */
  readonly callId?: string | undefined
}

/** What follows belongs to this conversation, up to the next one of these. */
export interface ConversationItem {
  readonly kind: 'conversation'
  /** The program's own id. The same conversation in another file, or in half a file, has the same. */
  readonly sourceId: string
  readonly programVersion?: string | undefined
  readonly parent?: Parent | undefined
  readonly title?: string | undefined
  /** The folder that the program worked in. */
  readonly cwd?: string | undefined
  /** ISO 8601 with a zone. */
  readonly startedAt?: string | undefined
  readonly where: Where
}

/** A message. */
export interface MessageItem {
  readonly kind: 'message'
  /**
   * The program's own id of the record that says it, or one derived from its place where the program has none. Unique in
   * its conversation, but for several messages of one record, which share it.
   */
  readonly sourceId: string
  /** Of several messages of one record, which; 0 for the first, and where it is the only one. */
  readonly part: number
  readonly at?: string | undefined
  readonly body: MessageBody
  /** The program said it in the place of the role: a reminder, the output of a command, an environment. Nobody's words. */
  readonly byProgram?: true | undefined
  /** Messages of one answer of the model share this id; a context shows those that stand together as one message. */
  readonly answerId?: string | undefined
  readonly model?: string | undefined
  /** Of the whole answer; where several messages of it tell, the last one holds. */
  readonly usage?: Usage | undefined
  /** Told since the message before: too late for the messages of that answer, which were said by then. */
  readonly earlierUsage?: EarlierUsage | undefined
  /** The call failed, or was refused or stopped. */
  readonly isError?: true | undefined
  readonly where: Where
}

/** One entry of the context that a program made. */
export type ContextEntry =
  /** A message that was said before, with all its parts. */
  | { readonly kind: 'message'; readonly sourceId: string }
  /** What the program put there: the summary, or a text beside it. */
  | { readonly kind: 'inserted'; readonly body: MessageBody; readonly isSummary?: true | undefined }
  /** Something that stayed and that the file does not hold, as a file that begins in the middle has. */
  | { readonly kind: 'missing'; readonly sourceId: string }

/** What a summary is. */
export type Summary =
  | { readonly kind: 'text'; readonly text: string }
  /** Recorded in a form that only its provider reads. */
  | { readonly kind: 'opaque' }
  /** Nothing stands for what left. */
  | { readonly kind: 'none' }

/** The program compacted: from here on its model was given this context, and what is said later. */
export interface CompactionItem {
  readonly kind: 'compaction'
  readonly sourceId: string
  readonly at?: string | undefined
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  readonly summary: Summary
  /** The context just behind it, in the order in which the model got it. */
  readonly context: readonly ContextEntry[]
  /**
   * Messages that were live before it, and of which the file does not tell whether they stayed. They are not in
   * `context`. Everything else that was live and is not in it is covered by the summary.
   */
  readonly unknown?: readonly string[] | undefined
  /** True where the file begins behind the conversation's start, so that it covers messages that the file lacks. */
  readonly coversMissing?: true | undefined
  readonly tokensBefore?: number | undefined
  readonly tokensAfter?: number | undefined
  readonly durationMs?: number | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
  readonly where: Where
}

/**
 * Messages are said no more: a rewind, a rollback, a branch that was left. Those that come back later, because somebody
 * returned to that branch, are given as messages once more, with the ids that they had.
 */
export interface WithdrawalItem {
  readonly kind: 'withdrawal'
  readonly sourceIds: readonly string[]
  readonly at?: string | undefined
  readonly where: Where
}

/** A message counts less from here on: its result was pruned, masked or shortened. The original stays recorded. */
export interface EditItem {
  readonly kind: 'edit'
  /** The record that says the message, and which of its messages. */
  readonly sourceId: string
  readonly part: number
  /** What the model is given in its place; null where it is given nothing. */
  readonly content: MessageBody['content']
  readonly why: 'pruned' | 'masked' | 'shortened' | 'replaced'
  readonly at?: string | undefined
  readonly where: Where
}

/** The program took its last compactions back, because somebody returned to before them. */
export interface UndoItem {
  readonly kind: 'undo'
  /** The compactions, newest first. */
  readonly sourceIds: readonly string[]
  readonly at?: string | undefined
  readonly where: Where
}

/** A record that cannot be read. What stands before and after it is taken. */
export interface DamageItem {
  readonly kind: 'damage'
  readonly detail: string
  /** The last line of a file that is cut off, as of a program that was killed while it wrote. */
  readonly isCut: boolean
  readonly where: Where
}

/** A record that says nothing of the conversation, or is of a kind that we do not know. It is counted by its name. */
interface LeftOutItem {
  readonly kind: 'left-out'
  readonly what: string
  readonly where: Where
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

/** One record of a transcript: a line as JSON gives it, a whole file, or one file of a folder. */
export interface TranscriptRecord {
  readonly value: unknown
  readonly where: Where
}

/** Reads one transcript, record by record, and remembers what it needs for the next one. */
export interface TranscriptReader {
  /** What a record says. It never throws: what it cannot read becomes `damage` or `left-out`. */
  take(record: TranscriptRecord): Iterable<TranscriptItem>
  /** What can only be said at the end of what there is so far. Records may follow all the same. */
  end(): Iterable<TranscriptItem>
}

/** How a program keeps a conversation. */
export type Layout =
  /** A file of JSON lines, which grows. */
  | 'lines'
  /** A file that is one JSON value, which is written anew. */
  | 'json'
  /** A file of text lines: each record is a text. */
  | 'text'
  /** A form that only its importer reads (`records`), as a compressed file. */
  | 'own'

/** The beginning of a file, for who wants to know whose it is. */
export interface Head {
  /** Absolute, with `/`. */
  readonly path: string
  /** The first records, at most 20: of `lines` those that are JSON; of `json` the whole value, once. */
  readonly records: readonly unknown[]
  /** The first 4,096 characters, as they are. */
  readonly text: string
}

/** One program. */
export interface Importer {
  /** As `--from` names it. */
  readonly program: string
  /** As people write it. */
  readonly title: string
  /** Where it keeps its conversations on this machine, by the program's own environment variables; most likely first. */
  homes(environment: Readonly<Record<string, string | undefined>>, home: string): readonly string[]
  /** The layout of a file that is this program's; undefined where it is another one's. By content, not by name. */
  recognize(head: Head): Layout | undefined
  /**
   * The files of the conversation that this one belongs to, in the order in which they are read, where a conversation is
   * several files (a folder of events). Undefined where it is this file alone.
   */
  siblings?(path: string): Promise<readonly string[]>
  /**
   * How the records of a file are read where its layout does not say it (a database, a compressed file); undefined for a
   * file that is read by its layout. What cannot be read is given as damage.
   */
  records?(path: string, layout: Layout): AsyncIterable<TranscriptRecord | DamageItem> | undefined
  /** @param path of the file that the conversation is known by: names give ids where records have none */
  read(path: string): TranscriptReader
}
