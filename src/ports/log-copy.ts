/**
 * Source and target of a log copy, which can be stores or files: events in the order of the log, and each body with the
 * first event that names it.
 */
import type { StoredEvent } from '../domain/events/stored-event.js'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'

export interface LogEntry {
  readonly event: StoredEvent
  /**
   * Reads the text of a body that is stored outside the log; present on the first event that names it. Throws if the
   * body is missing or its hash differs.
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

/** A log that is read. */
export interface LogSource {
  /** For messages: a directory, a file, or an address without its password. */
  readonly name: string
  /** Position of the last event; -1n if there is none. A file is read and verified completely before this resolves. */
  head(): Promise<bigint>
  /** Every event up to this position, in the order of the log. */
  entries(upTo: bigint): AsyncIterable<LogEntry>
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

/** The fault of each kind: the input, the state of the ledger, the environment, or corrupt data. */
const faults = {
  /** The target contains another log. */
  TargetDiffers: 'state',
  /** Another process wrote to the target during the copy. */
  TargetChanged: 'world',
  /** The target can never store these events. */
  TargetRefuses: 'input',
  TargetUnavailable: 'world',
  /** The file already exists. */
  FileExists: 'input',
  /** The file cannot be opened, read or written. */
  FileUnusable: 'world',
  DiskFull: 'world',
  /** The file differs from what was written; the message names the line. */
  DamagedFile: 'data',
  /** The file is not a log file, or a later version of this program wrote it. */
  NoLogFile: 'input',
  /** The body of an event is missing or differs. */
  BodyLost: 'data',
} as const

export type LogCopyErrorKind = keyof typeof faults

/** A log could not be copied. `message` is one sentence. */
export const logCopyError = (kind: LogCopyErrorKind, message: string, cause?: unknown): LedgerError =>
  new LedgerError(kind, faults[kind], message, { cause })

/** Whether a log copy failed. */
export const isLogCopyError = (error: unknown): error is LedgerError & { readonly kind: LogCopyErrorKind } =>
  isLedgerError(error) && Object.hasOwn(faults, error.kind)
