/**
 * `openLedger` as the package exports it. Its types name no adapter, so that callers need no types of a database
 * driver to compile.
 */
import { openLedger as open } from './compose.js'
import type { Ledger, LedgerOptions } from './ledger.js'

/** Opens a ledger. Throws where the store cannot be opened or a setting is wrong, before anything is written. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return await open(options)
}
