/**
 * The errors with which opening, reading and closing a store fail. `append` does not throw them: its failures are values
 * (see `AppendFailure`).
 */
import type { FailureKind } from '../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'

const STORE_ERRORS = [
  'StoreUnavailable',
  'StoreRefused',
  'FolderLocked',
  'FolderTaken',
  'FolderUnusable',
  'NotALedger',
  'NewerSchema',
  'DiskFull',
] as const satisfies readonly FailureKind[]

type StoreErrorKind = (typeof STORE_ERRORS)[number]

/** A store cannot be opened, read or closed. `message` is one sentence. */
export const storeError = (kind: StoreErrorKind, message: string, cause?: unknown): LedgerError =>
  new LedgerError(kind, message, { cause })

/** Whether a store failed. */
export const isStoreError = (error: unknown): error is LedgerError & { readonly kind: StoreErrorKind } =>
  isLedgerError(error, ...STORE_ERRORS)

/**
 * The code of a failure: an SQL state (five characters) or a code of the operating system (`ENOSPC`). The code of a
 * `LedgerError` is the one of its cause.
 */
export function codeOf(failure: unknown): string | undefined {
  if (isLedgerError(failure)) return codeOf(failure.cause)
  if (typeof failure !== 'object' || failure === null || !('code' in failure)) return undefined
  return typeof failure.code === 'string' ? failure.code : undefined
}

/** The SQL state of a failure that Postgres sent. The codes of the operating system that have five letters begin with E. */
export function sqlStateOf(failure: unknown): string | undefined {
  const code = codeOf(failure)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code) ? code : undefined
}

/** The failure as one sentence. A connection attempt to several addresses fails with an error without a message. */
export function sentenceOf(failure: unknown): string {
  if (failure instanceof AggregateError && failure.message === '') return failure.errors.map(sentenceOf).join('; ')
  return failure instanceof Error ? failure.message : String(failure)
}
