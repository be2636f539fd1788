/**
 * A manifest: where every stream of a log stood at a moment, signed. What a hash chain alone cannot show, it shows: a
 * chain that was computed anew by somebody who can write the database, or one whose end was cut off. The format is in
 * `docs/auditing.md`.
 */

/** Where a stream stands. It has an event for each revision from 0. */
export interface StreamHead {
  /** The stream. */
  readonly stream: string
  /** Revision of its last event. */
  readonly revision: bigint
  /** Hash of the event at that revision, which stands for all before it. */
  readonly hash: string
}

/** What tells one log from any other: its first event. */
export interface LogOrigin {
  /** The stream of the first event of the ledger's. */
  readonly stream: string
  /** The id of that event. */
  readonly id: string
}

export interface ManifestHeader {
  /** Where the log was, for people. */
  readonly ledger: string
  readonly origin: LogOrigin
  /**
   * When it was taken: no stream is named further than it stood by then, and each at least as far as it stood before.
   */
  readonly takenAt: string
}

/** A manifest that was read and found whole. */
export interface Manifest {
  /** What it is of, and when it was made. */
  readonly header: ManifestHeader
  /** Streams that it names. */
  readonly streams: number
  /** Events in them. */
  readonly events: number
  /** Who signed: `sha256:` and the hash of the public key. */
  readonly fingerprint: string
  /** The streams, in the order in which they were written. */
  heads(): AsyncIterable<StreamHead>
}

/** A manifest that is being written. Nobody finds it under its name before it is signed. */
export interface ManifestDraft {
  add(head: StreamHead): Promise<void>
  /** Signs it and puts it in its place; gives the fingerprint of the key. */
  publish(): Promise<{ readonly fingerprint: string; readonly streams: number; readonly events: number }>
  /** Leaves nothing behind. */
  abandon(): Promise<void>
}

const faults = {
  /** The file is there already, or there is none that could be read or written. */
  FileExists: 'input',
  FileUnusable: 'input',
  /** It could be begun and not ended, as on a full disk. */
  WriteFailed: 'world',
  /** No manifest, or one of a later version. */
  NoManifest: 'input',
  /** The file was changed since it was signed. */
  ManifestChanged: 'data',
  /** It is whole, and signed by somebody else than was asked for. */
  OtherSigner: 'data',
  /** The key is missing, is none, or is no Ed25519 key. */
  BadKey: 'input',
} as const

export type ManifestErrorKind = keyof typeof faults

/** Why a manifest was not written or is not believed. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
  constructor(
    readonly kind: ManifestErrorKind,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }

  get fault(): 'input' | 'world' | 'data' {
    return faults[this.kind]
  }
}
