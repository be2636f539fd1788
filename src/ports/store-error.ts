/**
 * The error that opening, reading and closing a store throw: one class with a `kind` and one sentence for users. `append`
 * does not throw it: its failures are values (see `AppendFailure`).
 */

export type StoreErrorKind =
  /** Closed, unreachable, or no answer in time. */
  | 'StoreUnavailable'
  /** The address is invalid, or the server rejects the credentials. Retrying does not help. */
  | 'StoreRefused'
  /** Another process has the directory open. */
  | 'FolderLocked'
  /** Another process has taken over the directory, because this process was unresponsive for too long. */
  | 'FolderTaken'
  /** The path is not a directory, or is not writable. */
  | 'FolderUnusable'
  /** The directory contains other files. Nothing in it was changed. */
  | 'NotALedger'
  /** A later version of this program wrote it. */
  | 'NewerSchema'
  | 'DiskFull'

/** A store cannot be opened, read or closed. `kind` is the reason, `message` is one sentence. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly kind: StoreErrorKind

  constructor(kind: StoreErrorKind, detail: string, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause })
    this.kind = kind
  }

  /** Alias of `message`, the name that failure values use. */
  get detail(): string {
    return this.message
  }
}

/** The code of a failure: an SQL state (five characters) or a code of the operating system (`ENOSPC`). */
export function codeOf(failure: unknown): string | undefined {
  if (typeof failure !== 'object' || failure === null || !('code' in failure)) return undefined
  return typeof failure.code === 'string' ? failure.code : undefined
}

/** The failure as one sentence. A connection attempt to several addresses fails with an error without a message. */
export function sentenceOf(failure: unknown): string {
  if (failure instanceof AggregateError && failure.message === '') return failure.errors.map(sentenceOf).join('; ')
  return failure instanceof Error ? failure.message : String(failure)
}
