/** Classifies the failures of applying an event. */
import { sqlStateOf } from '../../src/ports/store-error.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'

/** A failure that says nothing about the event: a store is unavailable or lacks space. */
export const isInfrastructureFailure = (error: unknown): boolean =>
  isLedgerError(error, 'StoreUnavailable', 'DiskFull') && !isRace(error)

/** Another process moved a checkpoint. Thrown, so that the transaction is rolled back; `applyUntil` returns `moved`. */
export class CheckpointMoved extends Error {}

// 22: a value outside its type. 23: a constraint. 54: a program limit, such as a key too long for its index. The same
// rows would always fail.
export const isRefusedRow = (error: unknown): boolean =>
  isLedgerError(error, 'CellRefused') || /^(22|23|54)/.test(sqlStateOf(error) ?? '')
// 40: a deadlock or a serialization failure. 42P01: a concurrent swap of generations dropped the table.
export const isRace = (error: unknown): boolean =>
  error instanceof CheckpointMoved || /^(40|42P01)/.test(sqlStateOf(error) ?? '')
