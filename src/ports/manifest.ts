/**
 * A manifest: the signed last revision and hash of every stream of a log at one moment. It reveals what a hash chain
 * cannot: a chain that was recomputed by a user with write access to the database, or a truncated one. The format is
 * described in `docs/guides/auditing.md`.
 */
import type { FailureKind } from '../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'

/** The last event of a stream. The stream has an event for each revision from 0. */
export interface StreamHead {
  /** The stream. */
  readonly stream: string
  /** Revision of its last event. */
  readonly revision: number
  /** Hash of the event at that revision, which covers all events before it. */
  readonly hash: string
}

/** The first event of a log, which identifies the log. */
export interface LogOrigin {
  /** The stream of the ledger's first event. */
  readonly stream: string
  /** The id of that event. */
  readonly id: string
}

export interface ManifestHeader {
  /** Location of the log, for display. */
  readonly ledger: string
  readonly origin: LogOrigin
  /** When the manifest was made. Each stream's revision is at least the one at the start and at most the one now. */
  readonly takenAt: string
}

/** A manifest that was read and whose signature is valid. */
export interface Manifest {
  /** The log that it describes, and when it was made. */
  readonly header: ManifestHeader
  /** Number of streams. */
  readonly streams: number
  /** Number of events in them. */
  readonly events: number
  /** The signer: `sha256:` and the hash of the public key. */
  readonly fingerprint: string
  /** The streams, in the order in which they were written. */
  heads(): AsyncIterable<StreamHead>
}

/** A manifest that is being written. The file gets its final name only after it is signed. */
export interface ManifestDraft {
  add(head: StreamHead): Promise<void>
  /** Signs the manifest and gives it its final name. Returns the fingerprint of the key. */
  publish(): Promise<{ readonly fingerprint: string; readonly streams: number; readonly events: number }>
  /** Deletes the draft. */
  abandon(): Promise<void>
}

const MANIFEST_ERRORS = [
  'FileExists',
  'FileUnusable',
  'WriteFailed',
  'NoManifest',
  'ManifestChanged',
  'OtherSigner',
  'BadKey',
] as const satisfies readonly FailureKind[]

type ManifestErrorKind = (typeof MANIFEST_ERRORS)[number]

/** A manifest could not be written, or failed verification. `message` is one sentence. */
export const manifestError = (kind: ManifestErrorKind, message: string, cause?: unknown): LedgerError =>
  new LedgerError(kind, message, { cause })

/** Whether a manifest failed. */
export const isManifestError = (error: unknown): error is LedgerError => isLedgerError(error, ...MANIFEST_ERRORS)
