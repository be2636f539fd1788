/**
 * The files that were imported, stored outside the log, so that an unchanged file is not parsed again. If this list is
 * lost, the next import parses the files again, without recording duplicates.
 */

/** Size, time and hash of the files of one conversation at their last import. */
export interface FileSignature {
  /** Total size in bytes. */
  readonly bytes: number
  /** Latest modification time, in milliseconds since 1970. */
  readonly modifiedAtMs: number
  /** SHA-256 of their concatenated contents. */
  readonly sha256: string
}

export interface ImportedFiles {
  /** The signature of the last import into this ledger; undefined if there was none. `fileKey` is host and path. */
  find(fileKey: string): Promise<FileSignature | undefined>
  /** Stores the signature of an import. */
  remember(fileKey: string, signature: FileSignature): Promise<void>
}
