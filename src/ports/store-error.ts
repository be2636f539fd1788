/**
 * What opening, reading and closing a store throw when the world says no: one class, told apart by `kind`, with one
 * sentence for people. Appending throws none of these: its failures are values (see `AppendFailure`).
 */

export type StoreErrorKind =
  /** Closed, unreachable, or without an answer in time. */
  | 'StoreUnavailable'
  /** The address is none, or the server refuses who asks: trying again does not help. */
  | 'StoreRefused'
  /** Another process has the folder open. */
  | 'FolderLocked'
  /** Another process took the folder over from this one, which stood still for too long. */
  | 'FolderTaken'
  /** The path is no folder, or it may not be written. */
  | 'FolderUnusable'
  /** The folder holds something else; nothing in it was touched. */
  | 'NotALedger'
  /** A later version of this program wrote it. */
  | 'NewerSchema'
  | 'DiskFull'

/** A store that cannot be opened, read or closed; `kind` tells why, `message` is one sentence. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly kind: StoreErrorKind

  constructor(kind: StoreErrorKind, detail: string, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause })
    this.kind = kind
  }

  /** The sentence, under the name that failures which are values give it. */
  get detail(): string {
    return this.message
  }
}

/** The code that a database (five characters) or the operating system (`ENOSPC`) put on a failure. */
export function codeOf(failure: unknown): string | undefined {
  if (typeof failure !== 'object' || failure === null || !('code' in failure)) return undefined
  return typeof failure.code === 'string' ? failure.code : undefined
}

/** The failure as one sentence. A connection that was tried at several addresses fails without a message of its own. */
export function sentenceOf(failure: unknown): string {
  if (failure instanceof AggregateError && failure.message === '') return failure.errors.map(sentenceOf).join('; ')
  return failure instanceof Error ? failure.message : String(failure)
}
