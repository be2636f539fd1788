/**
 * Source and target of a log copy, which can be stores or files: events in the order of the log, and each body with the
 * first event that names it.
 */
import type { StoredEvent } from '../domain/events/stored-event.js'
import type { FailureKind } from '../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'

export interface LogEntry {
  readonly event: StoredEvent
  /**
   * Reads the text of a body that is stored outside the log; present on the first event that names it, and on later
   * ones until it was called. Throws if the body is missing or its hash differs.
   */
  readonly body?: () => Promise<{ readonly sha256: string; readonly text: string }>
}

export interface CopiedEvent {
  readonly event: StoredEvent
  /** Its `eventText`. */
  readonly text: string
}

/** An event to write, and the body that must be written before it. */
export interface FilledEntry extends CopiedEvent {
  readonly body?: { readonly sha256: string; readonly text: string }
}

/** A stream of which events are missing, or the log as a whole (`stream` is undefined). */
export interface Incomplete {
  readonly stream: string | undefined
  /** The missing events, as the end of a sentence. */
  readonly detail: string
}

/** A log that is read. */
export interface LogSource {
  /** For messages: a directory, a file, or an address without its password. */
  readonly name: string
  /** Position of the last event; -1 if there is none. A file is read and verified completely before this resolves. */
  head(): Promise<number>
  /** Every event up to this position, in the order of the log. */
  entries(upTo: number): AsyncIterable<LogEntry>
  /** What the last reading of `entries` left out, because events before it are missing. */
  incomplete?(): Promise<readonly Incomplete[]>
  /**
   * What `entries` cannot show: streams that the store still knows and that have lost all events, or the last ones.
   * @param has whether `entries` had an event of a stream
   */
  absent?(has: (stream: string) => boolean): AsyncIterable<Incomplete>
}

/** A log that is written, and read back. */
export interface LogTarget extends LogSource {
  /**
   * Appends the next events of the log, in this order. After a failure the target has a prefix of them: never an event
   * without those before it.
   */
  write(entries: readonly FilledEntry[]): Promise<void>
  /** Completes writing, so that `entries` returns everything. */
  end(): Promise<void>
  /** Called after the target was verified: makes it visible under its name. */
  publish(): Promise<void>
  /** Called if the copy failed: deletes an unusable target, keeps one that the next copy can resume. */
  abandon(): Promise<void>
}

/** A store that can append events of many streams in one call. */
export interface BulkTarget {
  /** Appends events in this order, all or none. Each must directly follow the last event of its stream. */
  appendInOrder(events: readonly CopiedEvent[]): Promise<void>
}

const LOG_COPY_ERRORS = [
  'TargetDiffers',
  'TargetChanged',
  'TargetRefuses',
  'TargetUnavailable',
  'FileExists',
  'FileUnusable',
  'DiskFull',
  'DamagedFile',
  'NoLogFile',
  'BodyLost',
] as const satisfies readonly FailureKind[]

type LogCopyErrorKind = (typeof LOG_COPY_ERRORS)[number]

/** A log could not be copied. `message` is one sentence. */
export const logCopyError = (kind: LogCopyErrorKind, message: string, cause?: unknown): LedgerError =>
  new LedgerError(kind, message, { cause })

/** Whether the body of an event is missing or differs. */
export const isBodyLost = (error: unknown): error is LedgerError => isLedgerError(error, 'BodyLost')

/** Whether a log copy failed. */
export const isLogCopyError = (error: unknown): error is LedgerError => isLedgerError(error, ...LOG_COPY_ERRORS)
