/**
 * The files that were imported, stored outside the log, so that an unchanged file is not read again. If this list is
 * lost, the next import reads the files again and records nothing twice.
 */

/** A file, or all files of one conversation, as they were when they were imported. */
export interface FileSignature {
  /** Bytes in all. */
  readonly bytes: number
  /** The newest change of any of them, in milliseconds since 1970. */
  readonly changedMs: number
  /** SHA-256 of their concatenated contents. */
  readonly sha256: string
}

export interface ImportedFiles {
  /** The signature of the last import into this ledger; undefined if the file was never imported. */
  find(file: string): Promise<FileSignature | undefined>
  remember(file: string, signature: FileSignature): Promise<void>
}
