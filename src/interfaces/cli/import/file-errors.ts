/** Which errors of an import are of one file, so that the other files can be imported. */
import { isLedgerError, type LedgerError } from '../../../lib/ledger-error.js'
import { codeOf } from '../../../ports/store-error.js'

/** Whether the ledger refused the content of a file. */
export const isRefusal = (error: unknown): error is LedgerError =>
  isLedgerError(error) && error.kind !== 'Usage' && (error.fault === 'input' || error.fault === 'state')

/** Whether a file was refused, cannot be read or was removed. */
export const isOfFile = (error: unknown): boolean =>
  isRefusal(error) || codeOf(error) === 'EACCES' || codeOf(error) === 'ENOENT'
