/**
 * The errors with which opening, reading and closing a store fail. `append` does not throw them: its failures are values
 * (see `AppendFailure`).
 */
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'

const STORE_ERRORS = [
  /** Closed, unreachable, or no answer in time. */
  'StoreUnavailable',
  /** The address is invalid, or the server rejects the credentials. Retrying does not help. */
  'StoreRefused',
  /** Another process has the directory open. */
  'FolderLocked',
  /** Another process has taken over the directory, because this process was unresponsive for too long. */
  'FolderTaken',
  /** The path is not a directory, or is not writable. */
  'FolderUnusable',
  /** The directory contains other files. Nothing in it was changed. */
  'NotALedger',
  /** A later version of this program wrote it. */
  'NewerSchema',
  'DiskFull',
] as const

export type StoreErrorKind = (typeof STORE_ERRORS)[number]

/** A store cannot be opened, read or closed. `message` is one sentence. */
export const storeError = (kind: StoreErrorKind, message: string, cause?: unknown): LedgerError =>
  new LedgerError(kind, 'world', message, { cause })

/** Whether a store failed. */
export const isStoreError = (error: unknown): error is LedgerError & { readonly kind: StoreErrorKind } =>
  isLedgerError(error, ...STORE_ERRORS)

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
