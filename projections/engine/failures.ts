/** Classifies the failures of applying an event. */
import { codeOf } from '../../src/ports/store-error.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'

// A failure that says nothing about the event: the body store is unavailable, or an SQL state of class 08 (connection),
// 53 (resources), 57 (operator intervention) or 58 (system error).
export const isInfrastructureFailure = (error: unknown): boolean =>
  isLedgerError(error, 'StoreUnavailable') || /^(08|53|57|58)/.test(sqlState(error))

/** Another process moved a checkpoint. Thrown, so that the transaction is rolled back; `applyUntil` returns `moved`. */
export class CheckpointMoved extends Error {}

/** The SQL state of a database failure; empty for any other failure. */
const sqlState = (error: unknown): string => {
  const code = codeOf(error) ?? ''
  return /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

// 22: a value outside its type. 23: a constraint. 54: a program limit, such as a key too long for its index. The same
// rows would always fail.
export const isRefusedRow = (error: unknown): boolean =>
  isLedgerError(error, 'CellRefused') || /^(22|23|54)/.test(sqlState(error))
// 40: a deadlock or a serialization failure. 42P01: a concurrent swap of generations dropped the table.
export const isRace = (error: unknown): boolean =>
  error instanceof CheckpointMoved || /^(40|42P01)/.test(sqlState(error))
