/**
 * Which files were imported, beside the log, so that one that has not changed is not read again. No fact: whoever loses
 * it reads the files once more, and records nothing twice.
 */

/** A file, or all files of one conversation, as they were when they were imported. */
export interface FileSignature {
  /** Bytes in all. */
  readonly bytes: number
  /** The newest change of any of them, in milliseconds since 1970. */
  readonly changedMs: number
  /** SHA-256 of their contents behind each other. */
  readonly sha256: string
}

export interface ImportedFiles {
  /** As it was imported last into this ledger; undefined where it never was. */
  find(file: string): Promise<FileSignature | undefined>
  remember(file: string, signature: FileSignature): Promise<void>
}
