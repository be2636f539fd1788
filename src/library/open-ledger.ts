/**
 * `openLedger` as the package exports it: its types name no adapter, so that whoever compiles against them needs no
 * types of a driver's.
 */
import { openLedger as open } from './compose.js'
import type { Ledger, LedgerOptions } from './ledger.js'

/** Opens a ledger. Throws where the store cannot be opened or a setting is wrong, before anything is written. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return await open(options)
}
