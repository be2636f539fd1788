/**
 * The files that were imported, stored outside the log, so that an unchanged file is not parsed again. If this list is
 * lost, the next import parses the files again, without recording duplicates.
 */

/** Size, time and hash of a file, of the files of a conversation or of a conversation in a file, at the last import. */
export interface FileSignature {
  /** Total size in bytes. */
  readonly bytes: number
  /** Latest modification time, in milliseconds since 1970. */
  readonly modifiedAtMs: number
  /** SHA-256 of their concatenated contents. */
  readonly sha256: string
}

export interface ImportedFiles {
  /**
   * The signatures of the last import into this ledger, by key, of those that were imported. The key of a file is its
   * host and path; that of a conversation in a large file adds its id.
   */
  find(keys: readonly string[]): Promise<ReadonlyMap<string, FileSignature>>
  /** Stores the signatures of an import, by key. */
  remember(signatures: ReadonlyMap<string, FileSignature>): Promise<void>
}
