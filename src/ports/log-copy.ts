/**
 * What copying a log needs of its two ends, whether they are stores or files: events in the order of the log, each body
 * with the first event that names it.
 */
import type { StoredEvent } from '../domain/events/stored-event.js'

export interface LogEntry {
  readonly event: StoredEvent
  /**
   * The text that lies beside the log, given with the first event that names it. It is fetched when it is asked for,
   * and verified by its hash; one that is gone, or another than was recorded, throws.
   */
  readonly body?: () => Promise<{ readonly sha256: string; readonly text: string }>
}

export interface CopiedEvent {
  readonly event: StoredEvent
  /** Its `eventText`. */
  readonly text: string
}

/** An event to write, and the body that has to be there before it. */
export interface FilledEntry extends CopiedEvent {
  readonly body?: { readonly sha256: string; readonly text: string }
}

/** A log that is read. */
export interface LogSource {
  /** For messages: a folder, a file, or an address without its password. */
  readonly name: string
  /** Position of the last event; -1n where there is none. A file is read and checked whole before it answers. */
  head(): Promise<bigint>
  /** Every event up to this position, in the order of the log. */
  entries(upTo: bigint): AsyncIterable<LogEntry>
}

/** A log that is written, and read back. */
export interface LogTarget extends LogSource {
  /**
   * Puts the next events of the log, in this order, all of which stand behind what is there. Fewer may be there after a
   * failure, and none without those before it.
   */
  write(entries: readonly FilledEntry[]): Promise<void>
  /** Nothing more comes, so that `entries` gives all of it. */
  end(): Promise<void>
  /** What was written was proved: it becomes what others find under its name. */
  publish(): Promise<void>
  /** What was written must not pass for a log. What may be gone on with stays. */
  abandon(): Promise<void>
}

/** A store that takes events of many streams at once. */
export interface BulkTarget {
  /** Appends events in this order, all or none; each has to stand right behind the last one of its stream. */
  appendInOrder(events: readonly CopiedEvent[]): Promise<void>
}

/**
 * Whose fault each kind is: of what was asked, of how things stand, of the world, or of data that cannot be trusted.
 */
const faults = {
  /** The target holds another log. */
  TargetDiffers: 'state',
  /** Somebody else wrote to the target meanwhile. */
  TargetChanged: 'world',
  /** The target can never keep what it was given. */
  TargetRefuses: 'input',
  TargetUnavailable: 'world',
  /** There is a file already. */
  FileExists: 'input',
  /** The file cannot be opened, read or written. */
  FileUnusable: 'world',
  DiskFull: 'world',
  /** The file is another one than was written; the sentence says in which line. */
  DamagedFile: 'data',
  /** The file is none of ours, or a later version of this program wrote it. */
  NoLogFile: 'input',
  /** A body that an event names is gone, or is another. */
  BodyLost: 'data',
} as const

export type LogCopyErrorKind = keyof typeof faults

/** Why a log was not copied: its kind, one sentence, and whose fault it is. */
export class LogCopyError extends Error {
  override readonly name = 'LogCopyError'
  constructor(
    readonly kind: LogCopyErrorKind,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }

  get fault(): 'input' | 'state' | 'world' | 'data' {
    return faults[this.kind]
  }
}
